/** Which cells of a column are the best among rivals, and what tables say of their marks. */
import {groupBy} from './groups.js'

/** Marked cells of a column. */
export interface Best {
  /** Indices of their rows; none where noise tells no row from all of its rivals. */
  rows: ReadonlySet<number>
  /** What is best, in words. */
  what: string
  /** How the others that are marked may as well be it, in words; absent where values are known exactly. */
  ties?: string
}

/** How the best of a column are found. */
export interface BestRule<Row> {
  /** What is best, in words: `least rel L2 of its F`. */
  what: string
  /** How others may as well be it, in words: `95 % intervals overlap`. Default: values are known exactly. */
  ties?: string
  /** Rows of the table to be marked; `undefined` where there are no rivals. */
  among(rows: readonly Row[]): ReadonlySet<Row> | undefined
}

/** What competes with what, and what is best. */
export interface Contest<Row> {
  /** Rows of one key are rivals; `undefined`: takes no part. */
  rivals(row: Row): string | undefined
  /** Least is best; `null`: takes no part. */
  value(row: Row): number | null
  /**
   * Whether a row may as well be the best of its rivals, which that row itself may where its value is known well enough.
   * Default: where its value is the same.
   */
  ties?(row: Row, best: Row): boolean
}

/**
 * The least of each group of rivals, and all that may as well be it; nothing of a group that is alike all over.
 *
 * @returns `undefined` where no row has a rival
 */
export function leastAmong<Row>(
  rows: readonly Row[],
  {rivals, value, ties = (row, best) => value(row) === value(best)}: Contest<Row>,
): ReadonlySet<Row> | undefined {
  const able = rows.filter(row => rivals(row) !== undefined && value(row) !== null)
  const groups = groupBy(able, row => rivals(row)!).filter(group => group.length > 1)
  if (groups.length === 0) return undefined
  const marked = groups.map(group => {
    const best = group.reduce((a, b) => (value(b)! < value(a)! ? b : a))
    const first = ties(best, best) ? group.filter(row => ties(row, best)) : []
    return first.length < group.length ? first : []
  })
  return new Set(marked.flat())
}

/** The marks of a column by its rule. @param rows - of its table */
export function bestOf<Row>(
  {what, ties, among}: BestRule<Row>,
  rows: readonly Row[],
): Best | undefined {
  const marked = among(rows)
  if (!marked) return undefined
  const places = rows.flatMap((row, at) => (marked.has(row) ? [at] : []))
  return {rows: new Set(places), what, ...(ties !== undefined && {ties})}
}

/**
 * What the marks of a table mean, as a line below it.
 *
 * @param columns - those that are shown
 * @param mark - as it stands in cells
 * @returns `undefined` where there is nothing to say
 */
export function bestLegend(columns: readonly {best?: Best}[], mark: string): string | undefined {
  const all = columns.flatMap(({best}) => best ?? [])
  const marked = all.filter(({rows}) => rows.size > 0)
  const names = new Set(marked.map(({what}) => what))
  const open = all.filter(({what, ties}) => ties !== undefined && !names.has(what))
  const sentences = [
    ...(marked.length > 0 ? [`${mark} best: ${distinct(marked.map(markedText))}.`] : []),
    ...(open.length > 0 ? [`Not marked: ${distinct(open.map(openText))}.`] : []),
  ]
  return sentences.length > 0 ? sentences.join(' ') : undefined
}

function distinct(texts: readonly string[]): string {
  return [...new Set(texts)].join('; ')
}

function markedText({what, ties}: Best): string {
  if (ties === undefined) return what
  return `${what}, with rivals not distinguishable from it (${ties}) unless that is all of them`
}

function openText({what, ties}: Best): string {
  return `${what}, as no rival is distinguishable from it (${ties})`
}
