/**
 * Text from files, names and other programs, made safe to show: a terminal obeys control sequences,
 * and so does every reader of a report who prints it.
 */

/**
 * Characters that are obeyed or not seen, where a reader expects to see all there is: C0 and C1
 * controls, bidirectional and zero-width format characters, separators of lines and paragraphs, halves
 * of surrogate pairs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** The only escape sequences that rfa itself writes into results: bold, colours of letters, and their ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const OWN_STYLES = /(\u001b\[(?:1|22|38;5;\d{1,3}|39)m)/

/** A text with all that is unprintable written out, as in `\x1b[31m`; line ends stay. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, character => (character === '\n' ? '\n' : written(character)))
}

/** {@link printable} of a text that may hold the styles of a rendered report. */
export function printableStyled(text: string): string {
  return text
    .split(OWN_STYLES)
    .map((part, index) => (index % 2 === 0 ? printable(part) : part))
    .join('')
}

/** JSON as it is shown: the same value, in characters that can be seen. */
export function printableJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? 'null'
  return text.replaceAll(UNPRINTABLE, character =>
    character === '\n' ? '\n' : unitsOf(character).join(''),
  )
}

/** The halves of a character that JSON writes by halves. */
function unitsOf(character: string): string[] {
  return character.split('').map(unit => `\\u${hex(unit, 4)}`)
}

/** `\x1b` below 256, `\u202e` below 65536, `\u{e0001}` from there on. */
function written(character: string): string {
  const code = character.codePointAt(0)!
  if (code > 0xffff) return `\\u{${code.toString(16)}}`
  return code > 0xff ? `\\u${hex(character, 4)}` : `\\x${hex(character, 2)}`
}

function hex(unit: string, digits: number): string {
  return unit.charCodeAt(0).toString(16).padStart(digits, '0')
}
