/** Which columns of a table fit into a line, in which form, and how wide they are. */
import type {TableBlock, TableColumn} from './document.js'

/** Between two columns. */
export const GUTTER = '  '

/** Narrowest column of broken text, and the same where there is no other way. */
const FLEXIBLE_WIDTH = 24
const NARROWEST_WIDTH = 12

export interface Fit {
  /** With short forms in the place of long ones, where those are needed. */
  table: TableBlock
  /** Indices of its columns that are shown. */
  shown: number[]
  /** Of every column. */
  widths: number[]
  /** What is not shown, as a note names it. */
  missing: string[]
}

/** Ways to make room, in the order in which they are tried. */
const WAYS = [
  {short: 'nothing', flexible: FLEXIBLE_WIDTH, keep: 1},
  {short: 'titles', flexible: FLEXIBLE_WIDTH, keep: 1},
  {short: 'cells', flexible: FLEXIBLE_WIDTH, keep: 1},
  {short: 'cells', flexible: FLEXIBLE_WIDTH, keep: 0},
  {short: 'cells', flexible: NARROWEST_WIDTH, keep: 0},
] as const

/**
 * The columns of a table that fit a line: long texts are broken first, then the least important columns are left
 * out, then short forms are taken.
 *
 * @returns `undefined` when even those that must stay are too wide
 */
export function fitted(table: TableBlock, width: number): Fit | undefined {
  for (const {short, flexible, keep} of WAYS) {
    const form = shortForm(table, short)
    const least = naturalWidths(form).map((own, at) =>
      form.columns[at]?.flexible ? Math.min(own, flexible) : own,
    )
    const shown = fittingColumns(form.columns, least, {width, keep})
    if (!shown) continue
    const widths = squeezed(form, shown, {width, flexible})
    return {table: form, shown, widths, missing: missingFrom(table, shown, short === 'cells')}
  }
  return undefined
}

/** Columns left out, and what short cells do not say. */
function missingFrom({columns}: TableBlock, shown: readonly number[], short: boolean): string[] {
  return columns.flatMap(({title, short: shorter}, at) => {
    if (!shown.includes(at)) return [title.replaceAll('\n', ' ')]
    return short && shorter?.lacks !== undefined ? [shorter.lacks] : []
  })
}

/** All columns of a table, however wide; long texts are broken as far as that helps. */
export function complete(table: TableBlock, width: number): Fit {
  const shown = table.columns.map((_, at) => at)
  const widths = squeezed(table, shown, {width, flexible: FLEXIBLE_WIDTH})
  return {table, shown, widths, missing: []}
}

/** Columns of a line that a table takes with nothing broken or left out. */
export function naturalWidth(table: TableBlock): number {
  const widths = naturalWidths(table)
  const all = widths.map((_, at) => at)
  return totalWidth(widths, all)
}

function naturalWidths({columns, rows}: TableBlock): number[] {
  return columns.map(({title}, at) =>
    rows.reduce((most, row) => Math.max(most, row[at]?.length ?? 0), titleWidth(title)),
  )
}

function titleWidth(title: string): number {
  return Math.max(...title.split('\n').map(line => line.length))
}

/** A table with short forms in place of some or all of the long ones. */
function shortForm(table: TableBlock, short: 'nothing' | 'titles' | 'cells'): TableBlock {
  const {columns, rows} = table
  if (short === 'nothing') return table
  return {
    ...table,
    columns: columns.map(column => ({...column, title: column.short?.title ?? column.title})),
    rows: rows.map((row, line) =>
      row.map((cell, at) => (short === 'cells' && columns[at]?.short?.cells[line]) || cell),
    ),
  }
}

/**
 * A table in parts that fit into a line, all with its labels.
 *
 * @returns `undefined` when a part with a single other column is too wide
 */
export function partsOf(table: TableBlock, width: number): Fit[] | undefined {
  const {columns, labels = 1} = table
  const parts: Fit[] = []
  for (let next = labels; next < columns.length; ) {
    let end = next
    let part: Fit | undefined
    for (; end < columns.length; end++) {
      const wider = fitted(picked(table, labels, next, end + 1), width)
      if (!wider || wider.missing.length > 0) break
      part = wider
    }
    if (!part) return undefined
    parts.push(part)
    next = end
  }
  return parts
}

/** The label columns and those from `start` to before `end`. */
function picked({columns, rows}: TableBlock, labels: number, start: number, end: number) {
  const pick = <T>(cells: readonly T[]) => [...cells.slice(0, labels), ...cells.slice(start, end)]
  return {kind: 'table', columns: pick(columns), rows: rows.map(pick)} as const
}

/** The columns that a narrow terminal would keep, in their short form, and what is missing then. */
export function essence(table: TableBlock): {table: TableBlock; missing: string[]} {
  const {columns} = table
  const kept = columns.flatMap(({priority}, at) => (priority <= 1 ? [at] : []))
  const form = shortForm(table, 'cells')
  const pick = <T>(cells: readonly T[]) => kept.map(at => cells[at]!)
  return {
    table: {...form, columns: pick(form.columns), rows: form.rows.map(pick)},
    missing: missingFrom(table, kept, true),
  }
}

/** Indices of the columns that fit: the least important go, and come back where there is room for one of them. */
function fittingColumns(
  columns: readonly TableColumn[],
  least: readonly number[],
  {width, keep}: {width: number; keep: number},
): number[] | undefined {
  const priority = (at: number) => columns[at]?.priority ?? 0
  let shown = columns.map((_, at) => at)
  const dropped: number[] = []
  while (totalWidth(least, shown) > width) {
    const lowest = Math.max(...shown.map(priority))
    if (lowest <= keep) return undefined
    const drop = shown.findLast(at => priority(at) === lowest)!
    dropped.unshift(drop)
    shown = shown.filter(at => at !== drop)
  }
  for (const at of dropped) {
    const more = [...shown, at].sort((a, b) => a - b)
    if (totalWidth(least, more) <= width) shown = more
  }
  return shown
}

/** Natural widths, the flexible columns sharing what is too much. */
function squeezed(
  table: TableBlock,
  shown: readonly number[],
  {width, flexible}: {width: number; flexible: number},
): number[] {
  const {columns} = table
  const widths = naturalWidths(table)
  for (;;) {
    const excess = totalWidth(widths, shown) - width
    const soft = shown.filter(at => columns[at]?.flexible && widths[at]! > flexible)
    if (excess <= 0 || soft.length === 0) return widths
    const widest = soft.reduce((a, b) => (widths[b]! > widths[a]! ? b : a))
    widths[widest] = Math.max(flexible, widths[widest]! - Math.ceil(excess / soft.length))
  }
}

/** Columns of the terminal that a row takes. */
function totalWidth(widths: readonly number[], shown: readonly number[]): number {
  const text = shown.reduce((sum, at) => sum + (widths[at] ?? 0), 0)
  return text + GUTTER.length * Math.max(0, shown.length - 1)
}
