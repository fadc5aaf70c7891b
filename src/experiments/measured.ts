/** What runs of several experiments are matched by: errors and times as plain numbers of cells. */
import type {DrawPoint, MethodSpec} from './axes.js'

/** What a cell of either experiment is matched by. */
type Matched = MethodSpec & DrawPoint & {causal: boolean}

/** A number of a cell with its 95 % interval. */
export interface Measured {
  cell: Matched
  /** L and D. */
  length: number
  headDim: number
  value: number
  low: number | null
  high: number | null
  /** What it was measured on, in words: measurements of one place are compared. */
  place: string
}

/** An error that a sweep measured, relative to the exact output. */
export interface MeasuredError extends Measured {
  /** That of averaging V. */
  average: number | null
}

/** A time that a benchmark measured, in ns. */
export interface MeasuredTime extends Measured {
  /** Whether the method is attention itself. */
  isExact: boolean
}
