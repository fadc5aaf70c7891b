/** Comparisons of two cells of an experiment that measured the same thing twice, or by two methods. */
import type {TestedRatio} from '../answers/index.js'
import type {Completed, ComputedBy} from '../results/record.js'
import type {Interval} from '../stats/index.js'

/** What can be compared, as `--fail-on` names it. */
export const QUANTITIES = ['time', 'memory', 'error', 'variance'] as const
export type QuantityName = (typeof QUANTITIES)[number]

/** A quantity that is better when lower. */
export interface Quantity {
  name: QuantityName
  /** Above its table. */
  title: string
  /** What is said of B where it has more of it, and less. */
  more: string
  less: string
  unit: 'ns' | 'bytes' | null
  /** How its ratio, interval and p-value come about, in a sentence or two, of two runs and within one. */
  legend: Record<Related, string>
}

/** How two cells belong together: from two runs, or from one run that measured them side by side. */
export type Related = 'runs' | 'methods'

/** Names and values that distinguish rows of a table, in order. */
export type Place = Readonly<Record<string, string>>

/** A quantity of two cells, B over A. */
export interface ComparedLine extends TestedRatio {
  quantity: QuantityName
  /** Where, in addition to what the cells say. */
  at: Place
  a: number
  b: number
  /** Of B, 95 %; ends are `NaN`, or it is absent, where too little is known. */
  interval?: Interval
}

/** A quantity that cannot be compared between two cells. */
export interface UncomparedLine {
  quantity: QuantityName
  at: Place
  reason: string
  /** Both are zero up to rounding, so no regression can hide here. */
  settled?: boolean
}

/** A completed record of any experiment. */
export type MeasuredRecord = Completed<object, ComputedBy>

/** Compares cells. */
export interface LinesOf<Record> {
  lines(a: Record, b: Record): (ComparedLine | UncomparedLine)[]
}

/** What A and B are called. */
export type Sides = readonly [a: string, b: string]

export interface Comparison<
  Cell extends object = object,
  Record extends MeasuredRecord = MeasuredRecord,
> {
  quantities: readonly Quantity[]
  /** Relative difference up to which two values count as the same. Default: 0. */
  margin?: number
  /**
   * The part of a cell that says what it measures, without how often, how long, by which draws and by what code. It
   * has `method`, `preset` and `options` of the cell as they are.
   */
  measured(cell: Cell): object
  /** Names that the tables show, with the values of a cell. @param result - where it was measured */
  place(cell: Cell, result?: Record['result']): Place
  /** Records in the order of the tables; default: as in the plan. */
  inOrder?(records: readonly Record[]): Record[]
  /** The warning about the machine of a run if it was busy with other work. */
  disturbed?(records: readonly Record[]): string | undefined
  /**
   * What compares two completed cells.
   *
   * @param all - completed cells of both runs, or of the one
   * @param sides - what reasons call A and B. Default: that
   */
  between(related: Related, all: readonly Record[], sides?: Sides): LinesOf<Record>
}
