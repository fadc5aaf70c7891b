/** Documents that drawings are made on, and drawings as text. */
import {DOMParser} from 'linkedom'

/**
 * A document for Observable Plot to draw on. It is one of XML: what it writes escapes attributes as well as texts, so that
 * any name may stand in them.
 */
export function svgDocument(): never {
  const document = new DOMParser().parseFromString('<svg/>', 'image/svg+xml')
  return document as never // Plot wants a document of a browser, of which it uses what linkedom has
}

/** What XML has no place for, not even escaped: control characters, halves of surrogate pairs. */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

/** A drawing as text. @param drawing - of {@link svgDocument} */
export function svgText(drawing: {outerHTML: string}): string {
  return drawing.outerHTML.replaceAll(FORBIDDEN, '\ufffd')
}
