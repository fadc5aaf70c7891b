/** The blocks of a report as sections of a page. */
import {type Block, type Item, printableBlock, type TableBlock} from '../document.js'
import {html, joined, type Markup, nameMarkup, prose, raw} from './markup.js'
import {fairRows, tableMarkup} from './table.js'

/** Cells of all tables of a page: more take seconds to lay out. */
const MOST_CELLS = 40_000

/** Headings that can be gone to. */
export interface Section {
  id: string
  level: number
  text: string
}

/** The blocks of a page, one below the other, and what there is to go to. */
export function blocksMarkup(blocks: readonly Block[]): {body: Markup; sections: Section[]} {
  const own = blocks.map(printableBlock)
  const place: Place = {sections: [], tables: 0, mostRows: fairRows(tablesOf(own), MOST_CELLS)}
  const body = joined(
    own.map(block => blockMarkup(block, place)),
    '\n',
  )
  return {body, sections: place.sections}
}

/** What stands above a block, and how long tables may be. */
interface Place {
  sections: Section[]
  tables: number
  mostRows: number
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
      return html``
  }
}

function tablesOf(blocks: readonly Block[]): TableBlock[] {
  return blocks.filter(block => block.kind === 'table')
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

/** A command that can be copied as it stands. */
export function commandMarkup(command: string): Markup {
  return html`<span class="command"><code>${prose(command)}</code> <button type="button" class="copy">copy</button></span>`
}
