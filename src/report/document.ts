import {printable} from './printable.js'

/**
 * A report as plain data, before anyone knows whether it becomes terminal text or Markdown.
 *
 * Experiments build blocks; terminal.ts and markdown.ts render them.
 */
export type Block =
  | {kind: 'heading'; level: 1 | 2 | 3; text: string}
  | {kind: 'text'; text: string}
  | {kind: 'list'; items: readonly string[]}
  | TableBlock

/** A table whose cells are already text. */
export interface TableBlock {
  kind: 'table'
  columns: readonly TableColumn[]
  /** One text per column. */
  rows: readonly (readonly string[])[]
}

/** What a renderer must know about a column. */
export interface TableColumn {
  title: string
  align: 'left' | 'right'
  /** A narrow terminal drops columns of the highest number first, and never those of 0. */
  priority: number
  /** Long text: its lines may break to save room. */
  flexible: boolean
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
  /** Whether a row has something to tell in this column; the column goes when no row has. */
  tells?(row: Row): boolean
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
export function list(items: readonly string[]): Block[] {
  return items.length > 0 ? [{kind: 'list', items}] : []
}

/** A table of one line per row, without the columns in which no row has anything to tell. */
export function table<Row>(specs: readonly ColumnSpec<Row>[], rows: readonly Row[]): TableBlock {
  const shown = specs.filter(({tells}) => !tells || rows.some(row => tells(row)))
  return {
    kind: 'table',
    columns: shown.map(({title, align = 'right', priority = 0, flexible = false}) => ({
      title,
      align,
      priority,
      flexible,
    })),
    rows: rows.map(row => shown.map(({cell}) => cell(row))),
  }
}

/** The same block with everything unprintable written out, on lines that renderers break: what they start from. */
export function printableBlock(block: Block): Block {
  switch (block.kind) {
    case 'heading':
    case 'text':
      return {...block, text: printableLine(block.text)}
    case 'list':
      return {...block, items: block.items.map(printableLine)}
    case 'table':
      return {...block, rows: block.rows.map(row => row.map(printableLine))}
  }
}

function printableLine(content: string): string {
  return printable(content).replaceAll(/\s*\n\s*/g, ' ')
}
