import {html, type Markup, prose} from './markup.js'

/** A command that can be copied as it stands. */
export function commandMarkup(command: string): Markup {
  return html`<span class="command"><code>${prose(command)}</code> <button type="button" class="copy">copy</button></span>`
}
