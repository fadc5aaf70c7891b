/** Words of commands for a user to type. */

/** Read as they stand by bash, zsh and fish; zsh would take `=name` for the path of a program. */
const PLAIN = /^(?!=)[\w@+=:,./-]+$/

/**
 * A word as bash, zsh and fish all read it: quoted only where it must be, patterns of file names among that. A single
 * quote and a backslash stand in double quotes, because fish lets a backslash escape both within single ones.
 */
export function quoted(word: string): string {
  if (PLAIN.test(word)) return word
  if (word === '') return "''"
  const parts = word.match(/[^'\\]+|'+|\\+/g) ?? []
  return parts.map(part => quotedPart(part)).join('')
}

/** A run of quotes, of backslashes, or of neither. */
function quotedPart(part: string): string {
  if (part.startsWith("'")) return `"${part}"`
  if (part.startsWith('\\')) return `"${part.replaceAll('\\', '\\\\')}"`
  return `'${part}'`
}
