/** Markup in which text cannot become markup: whatever is put into a template is escaped, but for markup itself. */

/** A piece of a page. */
export class Markup {
  /** @param text - as it stands in the file */
  constructor(readonly text: string) {}
}

/** What a template takes. */
export type Content = string | number | Markup | readonly Markup[]

/** A template that escapes its texts. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  return new Markup(parts.reduce((before, part, at) => before + shown(contents[at - 1]!) + part))
}

/** Markup that other programs made, such as drawings. Nothing of a record may be in it unescaped. */
export function raw(text: string): Markup {
  return new Markup(text)
}

/** Pieces one behind the other. */
export function joined(pieces: readonly Markup[], between = ''): Markup {
  return new Markup(pieces.map(({text}) => text).join(between))
}

function shown(content: Content): string {
  if (content instanceof Markup) return content.text
  if (typeof content === 'object') return joined(content).text
  return escaped(String(content))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as it stands between tags and in quoted attributes. */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, character => ENTITIES[character]!)
}

/** Words of scripts that run from right to left, with what stands between them. */
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:\s+[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+)*/g

/** Text between tags; words that run from right to left stay among themselves and do not turn their neighbours round. */
export function prose(text: string): Markup {
  return raw(escaped(text).replaceAll(RIGHT_TO_LEFT, words => `<bdi>${words}</bdi>`))
}

/** {@link prose} of a title, in which paths break behind their slashes. */
export function nameMarkup(text: string): Markup {
  return raw(prose(text).text.replaceAll(/(?<!<)\//g, '/<wbr>'))
}

/** A command that can be copied as it stands. */
export function commandMarkup(command: string): Markup {
  return html`<span class="command"><code>${prose(command)}</code> <button type="button" class="copy">copy</button></span>`
}

/** How every page begins: by this alone a file is known as one that may be replaced without asking. */
export const PAGE_START = '<!doctype html>\n<!-- written by rfa report -->'
