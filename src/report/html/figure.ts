/** A figure of a page: its legend as switches, the drawing, its numbers as a table and the command that makes it again. */
import {pointsIn, thinned} from '../figures/along-axis.js'
import {drawFigure} from '../figures/draw.js'
import type {Figure} from '../figures/figure.js'
import {drawLegend, type LegendEntry, legendEntries} from '../figures/legend.js'
import {commandMarkup, html, type Markup, prose, raw} from './markup.js'
import {tableMarkup} from './table.js'

/** Widths of drawings, in CSS pixels: letters of one that is shrunk to a phone cannot be read. */
const [WIDE, NARROW] = [720, 340]
/** Of letters, in CSS pixels. */
const LETTERS = 12

export interface FigurePlace {
  /** Of all in the page. */
  number: number
  /** Of its heading, 1 to 6. */
  level: number
  /** Of its table. */
  mostRows: number
  /** That are drawn. */
  mostPoints: number
}

export function figureMarkup(whole: Figure, place: FigurePlace): Markup {
  const {number, level, mostRows, mostPoints} = place
  const figure = thinned(whole, mostPoints)
  const {title, caption, table, command} = figure
  const tag = raw(`h${level}`)
  return html`<figure id="figure-${number}">
<${tag}>${prose(title)}</${tag}>
${figure.shade ? raw('') : legend(figure)}
${drawings(figure)}
<div class="tip" aria-hidden="true" hidden></div>
<figcaption>${prose(caption + thinnedNote(pointsIn(figure), pointsIn(whole)))}</figcaption>
<details><summary>The numbers of this figure</summary>
${tableMarkup(table, {label: `Numbers of: ${title}`, mostRows})}
</details>
${command === undefined ? raw('') : html`<p class="again">Made again by ${commandMarkup(command)}</p>`}
</figure>`
}

function legend(figure: Figure): Markup {
  const buttons = legendEntries(figure).map(legendButton)
  return html`<div class="legend" role="group" aria-label="Series of: ${figure.title}">${buttons}</div>`
}

/** A switch of a series, or of all pale lines, with a sample. */
function legendButton(entry: LegendEntry): Markup {
  return html`<button type="button" aria-pressed="true" data-series="${entry.places.join(' ')}">${sample(entry)}${prose(entry.label)}</button>`
}

function sample(entry: LegendEntry): Markup {
  const look = {width: 3 * LETTERS, fontSize: LETTERS, colour: pageColour}
  const {svg} = drawLegend([{...entry, label: ''}], look)
  return html`<span class="sample" aria-hidden="true">${raw(svg)}</span>`
}

/** One that the style sheet sets for light and for dark screens. */
function pageColour(place: number): string {
  return `var(--series-${place})`
}

function thinnedNote(shown: number, all: number): string {
  return shown < all ? ` Drawn are ${shown} of ${all} points, evenly along the axis.` : ''
}

/** Drawn twice: the style sheet shows the one that fits. */
function drawings(figure: Figure): Markup {
  const wide = drawing(figure, WIDE, (WIDE * 9) / 16)
  const narrow = drawing(figure, NARROW, NARROW)
  return html`<div class="drawing wide">${wide}</div><div class="drawing narrow">${narrow}</div>`
}

/** What Plot writes escapes texts as XML does. */
function drawing(figure: Figure, width: number, height: number): Markup {
  return raw(drawFigure(figure, {width, height, fontSize: LETTERS, colour: pageColour}).svg)
}
