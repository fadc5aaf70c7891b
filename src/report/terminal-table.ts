/** Tables as terminal text. */
import Table from 'cli-table3'
import {bestLegend} from './best.js'
import {NO_ROWS, rowsLeftOut, type TableBlock, type TableColumn} from './document.js'
import {complete, essence, type Fit, fitted, GUTTER, naturalWidth, partsOf} from './fit.js'
import {bold, type Layout} from './layout.js'
import {wrap, wrapHard} from './wrap.js'

/**
 * A table in the width there is: first all columns, then with long texts broken, then without the
 * least important columns (named below the table), then in short forms; where even those are too wide, in several
 * tables, or with one `title  value` line per cell. One that nothing may be left out of becomes several tables at once.
 */
export function renderTable(asked: TableBlock, layout: Layout): string {
  const {width} = layout
  if (asked.rows.length === 0) return NO_ROWS
  return [formOf(withMarks(asked, markOf(layout)), layout), ...leftOut(asked, width)].join('\n')
}

function formOf(block: TableBlock, layout: Layout): string {
  const {width} = layout
  if (layout.whole) return rendered([complete(wholeForm(block, width), width)], layout)
  if (block.everything) return renderParts(block, layout)
  const fit = fitted(block, width)
  if (fit) return rendered([fit], layout, fit.missing)
  const {table, missing} = essence(block)
  return renderParts(table, layout, missing)
}

/** Of a table that does not have all rows. */
function leftOut({rows, all = rows.length}: TableBlock, width: number): string[] {
  const note = rowsLeftOut(rows.length, all)
  return note === undefined ? [] : wrap(`(${note})`, width)
}

/** Before the best values. */
function markOf({unicode}: Layout): string {
  return unicode ? '★' : '*'
}

/** A table with a mark before its best values. */
function withMarks(block: TableBlock, mark: string): TableBlock {
  const {columns, rows} = block
  const text = (cell: string, line: number, {best}: TableColumn) =>
    best?.rows.has(line) ? `${mark} ${cell}` : cell
  return {
    ...block,
    columns: columns.map(column => {
      const {short} = column
      if (!short) return column
      const cells = short.cells.map((cell, line) => text(cell, line, column))
      return {...column, short: {...short, cells}}
    }),
    rows: rows.map((row, line) => row.map((cell, at) => text(cell, line, columns[at]!))),
  }
}

/** Of a table that can be turned, the form that fits, or else the narrower one. */
function wholeForm(block: TableBlock, width: number): TableBlock {
  const forms = formsOf(block)
  const narrower = forms.reduce((a, b) => (naturalWidth(b) < naturalWidth(a) ? b : a))
  return forms.find(form => naturalWidth(form) <= width) ?? narrower
}

function formsOf(block: TableBlock): TableBlock[] {
  return [block, ...(block.turned ? [block.turned] : [])]
}

/**
 * A table in as many parts as it takes, in the direction that takes fewer of them, or fewer lines; cells below each
 * other where a single column is too wide.
 */
function renderParts(block: TableBlock, layout: Layout, missing: readonly string[] = []): string {
  const ways = formsOf(block).flatMap(form => {
    const parts = partsOf(form, layout.width)
    return parts ? [{parts: parts.length, text: rendered(parts, layout, missing)}] : []
  })
  const [first] = ways.sort((a, b) => a.parts - b.parts || lineCount(a.text) - lineCount(b.text))
  if (first) return first.text
  const notes = [...legendOf(block.columns, layout), ...noteOf(missing, layout)]
  return [stacked(block, layout.width), ...notes].join('\n')
}

function lineCount(content: string): number {
  return content.split('\n').length
}

/** The parts of a table, and what is missing in it. */
function rendered(parts: readonly Fit[], layout: Layout, missing: readonly string[] = []): string {
  const lines = parts.map(part => grid(part, layout).join('\n')).join('\n\n')
  const columns = parts.flatMap(({table, shown}) => shown.map(at => table.columns[at]!))
  return [lines, ...legendOf(columns, layout), ...noteOf(missing, layout)].join('\n')
}

/** What marks mean, where columns have any. */
function legendOf(columns: readonly TableColumn[], layout: Layout): string[] {
  const legend = bestLegend(columns, markOf(layout))
  return legend === undefined ? [] : wrap(legend, layout.width)
}

/** What is left out, and how to see it: without a terminal to fit into, nothing is. */
function noteOf(missing: readonly string[], {width}: Layout): string[] {
  if (missing.length === 0) return []
  return wrap(`(hidden: ${missing.join(', ')}; widen the terminal or pipe to less -S)`, width)
}

/** Rows given to the table library in one piece: its time grows with their square, and its stack ends. */
const ROWS_AT_ONCE = 500

/** The lines of a table: titles, a rule, rows; no line ends in spaces. */
function grid({table: {columns, rows}, shown, widths}: Fit, {colour}: Layout): string[] {
  const pick = (cells: readonly string[], line?: number) =>
    shown.map(at => {
      const broken = columns[at]?.flexible ? wrapHard : wrap
      const lines = broken(cells[at] ?? '', widths[at] ?? 0)
      const stress = colour && line !== undefined && columns[at]?.best?.rows.has(line)
      return (stress ? lines.map(bold) : lines).join('\n')
    })
  const rule = pick(widths.map(width => '-'.repeat(width)))
  const parts: string[] = []
  for (let start = 0; start === 0 || start < rows.length; start += ROWS_AT_ONCE) {
    const rendered = new Table({
      head: start === 0 ? shown.map(at => columns[at]?.title ?? '') : [],
      colAligns: shown.map(at => columns[at]?.align ?? 'left'),
      rowAligns: ['bottom'],
      style: {head: colour ? ['bold'] : [], border: [], 'padding-left': 0, 'padding-right': 0},
      chars: NO_BORDER,
    })
    // the rule gives every part the same widths; the first one shows it
    const own = rows.slice(start, start + ROWS_AT_ONCE)
    rendered.push(rule, ...own.map((row, at) => pick(row, start + at)))
    const text = rendered.toString()
    parts.push(start === 0 ? text : text.slice(text.indexOf('\n') + 1))
  }
  return parts
    .join('\n')
    .split('\n')
    .map(line => line.trimEnd())
}

/** No lines between cells: a table that can be copied, searched and cut by columns. */
const NO_BORDER = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: GUTTER,
}

/** One `title  value` line per cell, its further lines indented, rows apart. */
function stacked({columns, rows}: TableBlock, width: number): string {
  const titles = columns.map(({title}) => title.replaceAll('\n', ' '))
  const label = Math.max(...titles.map(title => title.length))
  const indent = ' '.repeat(label + GUTTER.length)
  const cell = (title: string, content: string) =>
    wrap(content, Math.max(NARROW_VALUE, width - indent.length))
      .map((line, at) => `${at === 0 ? title.padEnd(label) + GUTTER : indent}${line}`.trimEnd())
      .join('\n')
  return rows
    .map(row => titles.map((title, at) => cell(title, row[at] ?? '')).join('\n'))
    .join('\n\n')
}

/** Least columns for a value beside its title. */
const NARROW_VALUE = 8
