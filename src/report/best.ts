/** Which cells of a column are the best among their rivals, and what tables say of their marks. */
import {groupBy} from './groups.js'

/** What marks say. */
interface Says {
  /** What is best: `lowest time at its L`. */
  what: string
  /** Which ties have a mark, or why there is none: `ties included (95 % intervals overlap)`, `all tie`. */
  how: string
}

/** Marked cells of a column. */
export interface Best extends Says {
  /** Indices of their rows; empty if no row is better than its rivals. */
  rows: ReadonlySet<number>
}

interface Marked<Row> extends Says {
  rows: ReadonlySet<Row>
}

/** How the best of a column are found: `undefined` where there are no rivals. */
export type BestRule<Row> = (rows: readonly Row[]) => Marked<Row> | undefined

/** What competes with what, and what is best. */
export interface Contest<Row> {
  /** What is best, in words: `lowest time at its L`. */
  what: string
  /** Rows of one key are rivals; `undefined`: takes no part. */
  rivals(row: Row): string | undefined
  /** Least is best; `null`: takes no part. */
  value(row: Row): number | null
  /** Which rows tie with the best; default: those of the same value. */
  ties?: {
    /** How, in words: `95 % intervals overlap`. */
    what: string
    /** Also of the best with itself, which need not be known well enough. */
    hold(row: Row, best: Row): boolean
  }
}

/**
 * Marks the least of each group of rivals with all that tie with it; nothing of a group in which all tie, and without a word
 * where values are known exactly.
 */
export function leastOf<Row>({what, rivals, value, ties}: Contest<Row>): BestRule<Row> {
  const hold = ties?.hold ?? ((row, best) => value(row) === value(best))
  return rows => {
    const able = rows.filter(row => rivals(row) !== undefined && value(row) !== null)
    const groups = groupBy(able, row => rivals(row)!).filter(group => group.length > 1)
    if (groups.length === 0) return undefined
    const marked = groups.flatMap(group => {
      const best = group.reduce((a, b) => (value(b)! < value(a)! ? b : a))
      const first = hold(best, best) ? group.filter(row => hold(row, best)) : []
      return first.length < group.length ? first : []
    })
    if (marked.length === 0 && ties === undefined) return undefined
    const how = ties === undefined ? '' : ` (${ties.what})`
    return {
      rows: new Set(marked),
      what,
      how: `${marked.length > 0 ? 'ties included' : 'all tie'}${how}`,
    }
  }
}

/** The marks of a column by its rule. @param rows - of its table */
export function bestOf<Row>(rule: BestRule<Row>, rows: readonly Row[]): Best | undefined {
  const marked = rule(rows)
  if (!marked) return undefined
  const places = rows.flatMap((row, at) => (marked.rows.has(row) ? [at] : []))
  return {...marked, rows: new Set(places)}
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
  const open = all.filter(({rows, what}) => rows.size === 0 && !names.has(what))
  const sentences = [
    ...(marked.length > 0 ? [`${mark} ${distinct(marked, ', ')}.`] : []),
    ...(open.length > 0 ? [`No ${mark} for ${distinct(open, ': ')}.`] : []),
  ]
  return sentences.length > 0 ? sentences.join(' ') : undefined
}

function distinct(all: readonly Says[], between: string): string {
  return [...new Set(all.map(({what, how}) => `${what}${between}${how}`))].join('; ')
}
