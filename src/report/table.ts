import {type Best, type BestRule, bestOf} from './best.js'
import {evenly} from './evenly.js'
import {MISSING} from './numbers.js'

export interface TableBlock {
  kind: 'table'
  columns: readonly TableColumn[]
  /** One text per column. */
  rows: readonly (readonly string[])[]
  /** How many rows there are, where these are not all of them. */
  all?: number
  /** How many of the first columns identify rows; all parts of a table have them. Default: 1. */
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
  /** Default: right, because most columns are numbers; of long text left. */
  align?: 'left' | 'right'
  /** Default: 0, never dropped. */
  priority?: number
  /** Long text with lines that may break to save room. Default: false. */
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
  /** Whether a row has something to say in this column; a column without any is left out. Default: every row has. */
  tells?(row: Row): boolean
  /** Whether the column is left out where all of its cells are missing. Default: false. */
  sparse?: boolean
}

/** Rows of a table, unless it says otherwise. */
export const MOST_ROWS = 10_000

/**
 * A table of one line per row, without the columns in which no row has anything to say.
 *
 * @param most - rows that it has at most, evenly chosen. Default: {@link MOST_ROWS}
 */
export function table<Row>(
  specs: readonly ColumnSpec<Row>[],
  rows: readonly Row[],
  most = MOST_ROWS,
): TableBlock {
  const columns = specs.filter(({cell, tells, sparse}) => {
    if (sparse) return rows.some(row => cell(row) !== MISSING)
    return !tells || rows.some(row => tells(row))
  })
  const bests = columns.map(({best}) => best && bestOf(best, rows))
  const places = chosen(rows.length, bests, most)
  const shown = places.map(place => rows[place]!)
  return {
    kind: 'table',
    columns: columns.map((spec, at) => columnOf(spec, shown, bestAmong(bests[at], places))),
    rows: shown.map(row => columns.map(({cell}) => cell(row))),
    ...(shown.length < rows.length && {all: rows.length}),
  }
}

/** Places of rows that are shown: half of them may be taken by the best ones. */
function chosen(count: number, bests: readonly (Best | undefined)[], most: number): number[] {
  const all = Array.from({length: count}, (_, place) => place)
  if (count <= most) return all
  const marked = [...new Set(bests.flatMap(best => [...(best?.rows ?? [])]))].sort((a, b) => a - b)
  const kept = evenly(marked, Math.floor(most / 2))
  return [...new Set([...kept, ...evenly(all, most - kept.length)])].sort((a, b) => a - b)
}

/** Marks of a column by the places of its rows in the table. */
function bestAmong(best: Best | undefined, places: readonly number[]): Best | undefined {
  if (!best) return undefined
  const rows = places.flatMap((place, at) => (best.rows.has(place) ? [at] : []))
  return {...best, rows: new Set(rows)}
}

/** Which rows a table shows and where the others are; `undefined` where it shows all. */
export function rowsLeftOut(shown: number, all: number): string | undefined {
  if (shown >= all) return undefined
  const [own, whole] = [shown, all].map(number => number.toLocaleString('en-US'))
  return `${own} of ${whole} rows, evenly chosen. The folder of the run has every row, in records.csv and its neighbours.`
}

/** The table, or the one with rows and columns exchanged where that has fewer columns. */
export function shownForm(block: TableBlock): TableBlock {
  const {turned} = block
  return turned && turned.columns.length < block.columns.length ? turned : block
}

function columnOf<Row>(
  spec: ColumnSpec<Row>,
  rows: readonly Row[],
  best: Best | undefined,
): TableColumn {
  const {title, flexible = false, priority = 0, short} = spec
  const {align = flexible ? 'left' : 'right'} = spec
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
    ...(best && {best: {...best, what: change(best.what), how: change(best.how)}}),
    ...(short && {short: {...short, title: title(short.title), cells: short.cells.map(change)}}),
  })
  return {
    ...block,
    columns: block.columns.map(column),
    rows: block.rows.map(row => row.map(change)),
    ...(block.turned && {turned: tableWithTexts(block.turned, change)}),
  }
}
