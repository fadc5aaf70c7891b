/** Tables of a page: sorted by their headers, in a region that scrolls where they are too wide. */
import {bestLegend} from '../best.js'
import {NO_ROWS, rowsLeftOut, shownForm, type TableBlock, type TableColumn} from '../document.js'
import {evenly, fairShare} from '../evenly.js'
import {html, joined, type Markup, prose, raw} from './markup.js'

export interface TablePlace {
  /** What it is called to those who do not see it. */
  label: string
  /** Rows that are shown at most. Default: all. */
  mostRows?: number
}

export function tableMarkup(block: TableBlock, {label, mostRows = Infinity}: TablePlace): Markup {
  const {columns, rows, all = rows.length} = shownForm(block)
  const shown = evenly([...rows.keys()], mostRows)
  if (rows.length === 0) return html`<p>${NO_ROWS}</p>`
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${label}"><table>
<thead><tr>${columns.map(header)}</tr></thead>
<tbody>
${joined(
  shown.map(line => rowMarkup(columns, rows[line]!, line)),
  '\n',
)}
</tbody>
</table></div>${legendMarkup(columns)}${cutNote(rowsLeftOut(shown.length, all))}`
}

function legendMarkup(columns: readonly TableColumn[]): Markup {
  const legend = bestLegend(columns, '★')
  return legend === undefined ? raw('') : html`<p class="note">${prose(legend)}</p>`
}

function header(column: TableColumn): Markup {
  const {title} = column
  const lines = joined(title.split('\n').map(prose), '<br>')
  return html`<th scope="col"${look(column)}><button type="button" class="sort">${lines}</button></th>`
}

function rowMarkup(
  columns: readonly TableColumn[],
  [first = '', ...others]: readonly string[],
  line: number,
): Markup {
  const label = html`<th scope="row"${look(columns[0]!)}>${prose(first)}</th>`
  const cells = others.map((cell, at) => cellMarkup(columns[at + 1]!, cell, line))
  return html`<tr>${label}${cells}</tr>`
}

/** The best of a column is bold behind a star, and called so for those who see neither. */
function cellMarkup(column: TableColumn, cell: string, line: number): Markup {
  if (!column.best?.rows.has(line)) return html`<td${look(column)}>${prose(cell)}</td>`
  return html`<td${look(column)}><b class="best">${prose(cell)}<span class="unseen"> (best)</span></b></td>`
}

/** Numbers stand on the right, long text breaks. */
function look({align, flexible}: TableColumn): Markup {
  if (flexible) return raw(' class="f"')
  return raw(align === 'right' ? ' class="n"' : '')
}

function cutNote(leftOut: string | undefined): Markup {
  return leftOut === undefined ? raw('') : html`<p class="note">${leftOut}</p>`
}

/** How many rows every table may have within a total number of cells. */
export function fairRows(tables: readonly TableBlock[], mostCells: number): number {
  const lists = tables.map(shownForm).map(({columns, rows}) => {
    return {length: rows.length, weight: columns.length}
  })
  return fairShare(lists, mostCells)
}
