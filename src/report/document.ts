import {printable} from './printable.js'

/**
 * A report as plain data, before anyone knows whether it becomes terminal text or Markdown.
 *
 * Experiments build blocks; terminal.ts and markdown.ts render them.
 */
export type Block =
  | {kind: 'heading'; level: 1 | 2 | 3; text: string}
  | {kind: 'text'; text: string}
  | {kind: 'list'; items: readonly Item[]}
  | TableBlock

/** A line of a list; a command is never broken, so that it can be copied. */
export type Item = string | {label: string; command: string}

/** A table whose cells are already text. */
export interface TableBlock {
  kind: 'table'
  columns: readonly TableColumn[]
  /** One text per column. */
  rows: readonly (readonly string[])[]
  /** How many of the first columns tell rows apart; tables that are parts of it all have them. Default: 1. */
  labels?: number
  /** Nothing may be left out of it: where it is too wide it becomes several tables. */
  everything?: boolean
  /** The same with rows and columns exchanged, shown in its place where that is shorter. */
  turned?: TableBlock
}

/** What stands in the place of a table without rows. */
export const NO_ROWS = 'none'

/** What a renderer must know about a column. */
export interface TableColumn {
  /** May have several lines. */
  title: string
  align: 'left' | 'right'
  /**
   * A narrow terminal drops columns of the highest number first, those of 1 only where short forms do not help, and
   * never those of 0.
   */
  priority: number
  /** Long text: its lines may break to save room. */
  flexible: boolean
  /** What stands there in a terminal too narrow for the rest. */
  short?: {
    title: string
    cells: readonly string[]
    /** What its cells do not say, as a note names it. */
    lacks?: string | undefined
  }
}

/** A column together with how its cells are made. */
export interface ColumnSpec<Row> {
  title: string
  cell(row: Row): string
  /** Default: right, because most columns are numbers. */
  align?: 'left' | 'right'
  /** Default: 0, never dropped. */
  priority?: number
  /** Long text whose lines may break to save room. Default: false. */
  flexible?: boolean
  /** A shorter form for narrow terminals, of the title or the cells or both. */
  short?: {
    title?: string
    cell?(row: Row): string
    /** What the shorter cells do not say, as a note names it. */
    lacks?: string
  }
  /** Whether a row has something to tell in this column; the column goes when no row has. */
  tells?(row: Row): boolean
}

/** An item in words. */
export function itemText(item: Item): string {
  return typeof item === 'string' ? item : `${item.label}: ${item.command}`
}

/** A heading. @param level - 1 is the title of the report */
export function heading(level: 1 | 2 | 3, text: string): Block {
  return {kind: 'heading', level, text}
}

/** A paragraph. */
export function text(content: string): Block {
  return {kind: 'text', text: content}
}

/** A bulleted list, or nothing when there is nothing to list. */
export function list(items: readonly Item[]): Block[] {
  return items.length > 0 ? [{kind: 'list', items}] : []
}

/** A table of one line per row, without the columns in which no row has anything to tell. */
export function table<Row>(specs: readonly ColumnSpec<Row>[], rows: readonly Row[]): TableBlock {
  const shown = specs.filter(({tells}) => !tells || rows.some(row => tells(row)))
  return {
    kind: 'table',
    columns: shown.map(spec => columnOf(spec, rows)),
    rows: rows.map(row => shown.map(({cell}) => cell(row))),
  }
}

function columnOf<Row>(spec: ColumnSpec<Row>, rows: readonly Row[]): TableColumn {
  const {title, align = 'right', priority = 0, flexible = false, short} = spec
  const column = {title, align, priority, flexible}
  if (!short) return column
  const {title: shortTitle = title, cell = spec.cell, lacks} = short
  return {...column, short: {title: shortTitle, cells: rows.map(row => cell(row)), lacks}}
}

/** The same block with everything unprintable written out, on lines that renderers break: what they start from. */
export function printableBlock(block: Block): Block {
  return withTexts(block, printableLine)
}

/** The same block with every text in it changed; of a title of several lines each by itself. */
export function withTexts(block: Block, change: (content: string) => string): Block {
  switch (block.kind) {
    case 'heading':
    case 'text':
      return {...block, text: change(block.text)}
    case 'list':
      return {...block, items: block.items.map(item => itemWithTexts(item, change))}
    case 'table':
      return tableWithTexts(block, change)
  }
}

function itemWithTexts(item: Item, change: (content: string) => string): Item {
  if (typeof item === 'string') return change(item)
  return {label: change(item.label), command: change(item.command)}
}

function tableWithTexts(block: TableBlock, change: (content: string) => string): TableBlock {
  const title = (lines: string) => lines.split('\n').map(change).join('\n')
  const column = ({short, ...rest}: TableColumn): TableColumn => ({
    ...rest,
    title: title(rest.title),
    ...(short && {short: {...short, title: title(short.title), cells: short.cells.map(change)}}),
  })
  return {
    ...block,
    columns: block.columns.map(column),
    rows: block.rows.map(row => row.map(change)),
    ...(block.turned && {turned: tableWithTexts(block.turned, change)}),
  }
}

function printableLine(content: string): string {
  return printable(content).replaceAll(/\s*\n\s*/g, ' ')
}
