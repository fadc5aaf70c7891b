/** Blocks as terminal text: tables that fit the width, no escape sequences unless asked for. */
import Table from 'cli-table3'
import {type Block, printableBlock, type TableBlock, type TableColumn} from './document.js'
import type {Layout} from './layout.js'

/** Between two columns. */
const GUTTER = '  '

/** Renders a report; blocks are separated by one empty line, the text ends without one. */
export function renderTerminal(blocks: readonly Block[], layout: Layout): string {
  return blocks.map(block => renderBlock(printableBlock(block), layout)).join('\n\n')
}

/** One block, without an empty line after it. */
function renderBlock(block: Block, layout: Layout): string {
  switch (block.kind) {
    case 'heading':
      return emphasised(block.text, layout)
    case 'text':
      return wrap(block.text, layout.width).join('\n')
    case 'list':
      return block.items.map(item => renderItem(item, layout.width)).join('\n')
    case 'table':
      return renderTable(block, layout)
  }
}

/** A heading: bold where escape sequences are welcome, plain elsewhere. */
function emphasised(line: string, {colour}: Layout): string {
  return colour ? `\u001b[1m${line}\u001b[22m` : line
}

/** An item whose further lines are indented like its first. */
function renderItem(item: string, width: number): string {
  const [first = '', ...others] = wrap(item, width - 2)
  return [`- ${first}`, ...others.map(line => `  ${line}`)].join('\n')
}

/**
 * A table in the width there is: first all columns, then with long texts broken, then without the
 * least important columns (named below the table), and where even the rest is too wide, one
 * `title: value` line per cell.
 */
export function renderTable(block: TableBlock, layout: Layout): string {
  const natural = block.columns.map(({title}, at) =>
    block.rows.reduce((most, row) => Math.max(most, row[at]?.length ?? 0), title.length),
  )
  const shown = fittingColumns(block.columns, natural, layout.width)
  if (!shown) return stacked(block)
  const widths = squeezed(block.columns, natural, shown, layout.width)
  const lines = grid(block, shown, widths, layout)
  const hidden = block.columns.filter((_, at) => !shown.includes(at)).map(({title}) => title)
  if (hidden.length > 0) {
    lines.push(...wrap(`(too wide to show: ${hidden.join(', ')})`, layout.width))
  }
  return lines.join('\n')
}

/** Narrowest column of broken text. */
const FLEXIBLE_WIDTH = 24

/** Indices of the columns that fit, or `undefined` when those that must stay are too wide. */
function fittingColumns(
  columns: readonly TableColumn[],
  natural: readonly number[],
  width: number,
): number[] | undefined {
  const least = natural.map((own, at) =>
    columns[at]?.flexible ? Math.min(own, FLEXIBLE_WIDTH) : own,
  )
  let shown = columns.map((_, at) => at)
  while (totalWidth(least, shown) > width) {
    const lowest = Math.max(...shown.map(at => columns[at]?.priority ?? 0))
    if (lowest === 0) return undefined
    const drop = shown.findLast(at => columns[at]?.priority === lowest)
    shown = shown.filter(at => at !== drop)
  }
  return shown
}

/** Natural widths, the flexible columns sharing what is too much. */
function squeezed(
  columns: readonly TableColumn[],
  natural: readonly number[],
  shown: readonly number[],
  width: number,
): number[] {
  const widths = [...natural]
  for (;;) {
    const excess = totalWidth(widths, shown) - width
    const soft = shown.filter(at => columns[at]?.flexible && widths[at]! > FLEXIBLE_WIDTH)
    if (excess <= 0 || soft.length === 0) return widths
    const widest = soft.reduce((a, b) => (widths[b]! > widths[a]! ? b : a))
    widths[widest] = Math.max(FLEXIBLE_WIDTH, widths[widest]! - Math.ceil(excess / soft.length))
  }
}

/** Columns of the terminal that a row takes. */
function totalWidth(widths: readonly number[], shown: readonly number[]): number {
  const text = shown.reduce((sum, at) => sum + (widths[at] ?? 0), 0)
  return text + GUTTER.length * Math.max(0, shown.length - 1)
}

/** Rows given to the table library in one piece: its time grows with their square, and its stack ends. */
const ROWS_AT_ONCE = 500

/** The lines of a table: titles, a rule, rows; no line ends in spaces. */
function grid(
  {columns, rows}: TableBlock,
  shown: readonly number[],
  widths: readonly number[],
  {colour}: Layout,
): string[] {
  const pick = (cells: readonly string[]) =>
    shown.map(at => wrap(cells[at] ?? '', widths[at] ?? 0).join('\n'))
  const rule = pick(widths.map(width => '-'.repeat(width)))
  const parts: string[] = []
  for (let start = 0; start === 0 || start < rows.length; start += ROWS_AT_ONCE) {
    const rendered = new Table({
      head: start === 0 ? shown.map(at => columns[at]?.title ?? '') : [],
      colAligns: shown.map(at => columns[at]?.align ?? 'left'),
      style: {head: colour ? ['bold'] : [], border: [], 'padding-left': 0, 'padding-right': 0},
      chars: NO_BORDER,
    })
    // the rule gives every part the same widths; the first one shows it
    rendered.push(rule, ...rows.slice(start, start + ROWS_AT_ONCE).map(pick))
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

/** One `title  value` line per cell, rows apart. */
function stacked({columns, rows}: TableBlock): string {
  const label = Math.max(...columns.map(({title}) => title.length))
  return rows
    .map(row =>
      columns.map(({title}, at) => `${title.padEnd(label)}  ${row[at] ?? ''}`.trimEnd()).join('\n'),
    )
    .join('\n\n')
}

/** Lines of at most `width` columns; a longer word keeps a line of its own. */
export function wrap(paragraph: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of paragraph.split(/\s+/)) {
    if (line && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line ? `${line} ${word}` : word
    }
  }
  return [...lines, line]
}
