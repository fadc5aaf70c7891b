/** Tables of a report. */
import {type Best, type BestRule, bestOf} from './best.js'

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
  /** Cells that are marked as the best among their rivals; absent where nothing competes. */
  best?: Best
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
  /** Which cells are marked as the best. Default: none. */
  best?: BestRule<Row>
  /** Whether a row has something to tell in this column; the column goes when no row has. */
  tells?(row: Row): boolean
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
  const best = spec.best && bestOf(spec.best, rows)
  const column = {title, align, priority, flexible, ...(best && {best})}
  if (!short) return column
  const {title: shortTitle = title, cell = spec.cell, lacks} = short
  return {...column, short: {title: shortTitle, cells: rows.map(row => cell(row)), lacks}}
}

/** A table with every text in it changed. */
export function tableWithTexts(block: TableBlock, change: (content: string) => string): TableBlock {
  const title = (lines: string) => lines.split('\n').map(change).join('\n')
  const column = ({short, best, ...rest}: TableColumn): TableColumn => ({
    ...rest,
    title: title(rest.title),
    ...(best && {best: {...best, what: change(best.what)}}),
    ...(short && {short: {...short, title: title(short.title), cells: short.cells.map(change)}}),
  })
  return {
    ...block,
    columns: block.columns.map(column),
    rows: block.rows.map(row => row.map(change)),
    ...(block.turned && {turned: tableWithTexts(block.turned, change)}),
  }
}
