/** The blocks of a report as sections of a page. */
import {type Block, type Item, printableBlock, type TableBlock} from '../document.js'
import type {Figure} from '../figures/figure.js'
import type {figureMarkup} from './figure.js'
import {commandMarkup, html, joined, type Markup, nameMarkup, prose, raw} from './markup.js'
import {fairRows, tableMarkup} from './table.js'

/** Cells of all tables of a page: more take seconds to lay out. */
const MOST_CELLS = 40_000
/** Points of all figures of a page: each is nearly a kilobyte of it, drawn for wide and for narrow windows. */
const MOST_POINTS = 2400

/** Headings that can be gone to. */
export interface Section {
  id: string
  level: number
  text: string
}

/** How figures are drawn; what draws them takes a while to load. */
type DrawFigure = typeof figureMarkup

/**
 * The blocks of a page, one below the other, and what there is to go to.
 *
 * @param draw - `undefined`: no block is a figure
 */
export function blocksMarkup(
  blocks: readonly Block[],
  draw: DrawFigure | undefined,
): {body: Markup; sections: Section[]} {
  const own = blocks.map(printableBlock)
  const mostRows = fairRows(tablesOf(own), MOST_CELLS)
  const count = own.filter(({kind}) => kind === 'figure').length
  const mostPoints = Math.floor(MOST_POINTS / Math.max(1, count))
  const place: Place = {sections: [], tables: 0, figures: 0, mostRows, mostPoints, draw}
  const markup = own.map(block => blockMarkup(block, place))
  const body = joined(markup, '\n')
  return {body, sections: place.sections}
}

/** What stands above a block, and how long tables may be. */
interface Place {
  sections: Section[]
  tables: number
  figures: number
  mostRows: number
  mostPoints: number
  draw: DrawFigure | undefined
}

function blockMarkup(block: Block, place: Place): Markup {
  switch (block.kind) {
    case 'heading':
      return headingMarkup(block, place.sections)
    case 'text':
      return html`<p>${prose(block.text)}</p>`
    case 'list':
      return html`<ul>${block.items.map(itemMarkup)}</ul>`
    case 'table':
      place.tables++
      return tableMarkup(block, {label: tableLabel(place), mostRows: place.mostRows})
    case 'figure':
      return drawn(block.figure, place)
  }
}

/** A figure one level below the section that it stands in. */
function drawn(figure: Figure, place: Place): Markup {
  const {sections, mostRows, mostPoints, draw} = place
  const number = ++place.figures
  const level = Math.min(LEAST_LEVEL, (sections.at(-1)?.level ?? 0) + 2)
  return draw?.(figure, {number, level, mostRows, mostPoints}) ?? raw('')
}

/** Of a heading. */
const LEAST_LEVEL = 6

function tablesOf(blocks: readonly Block[]): TableBlock[] {
  return blocks.flatMap(block => {
    if (block.kind === 'figure') return [block.figure.table]
    return block.kind === 'table' ? [block] : []
  })
}

/** Titles of a report stand one level below that of the page. */
function headingMarkup({level, text}: Extract<Block, {kind: 'heading'}>, sections: Section[]) {
  const id = `section-${sections.length + 1}`
  sections.push({id, level, text})
  const tag = raw(`h${level + 1}`)
  return html`<${tag} id="${id}">${nameMarkup(text)}</${tag}>`
}

function tableLabel({tables, sections}: Place): string {
  const of = sections.at(-1)
  return `Table ${tables}${of ? `: ${of.text}` : ''}`
}

function itemMarkup(item: Item): Markup {
  if (typeof item === 'string') return html`<li>${prose(item)}</li>`
  return html`<li>${prose(item.label)}: ${commandMarkup(item.command)}</li>`
}
