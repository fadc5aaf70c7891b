/** What errors are drawn over: the number of random vectors, length and norm. */
import type {CompletedSweep, ErrorSweepCell} from '../schema.js'

/** A variable that cells differ in, as an axis. */
export interface Variable {
  /** Of the figure's name. */
  name: string
  title: string
  label: string
  read(record: CompletedSweep): number | null
  /** What else of the cell differs along a line. */
  varied: keyof ErrorSweepCell
  /** Decimal logarithm of the error over that of the variable, where there is a law; drawn as a guide. */
  slope?: {label: string; exponent: number}
}

export const FEATURES: Variable = {
  name: 'error-over-features',
  title: 'Error over the number of random vectors',
  label: 'random vectors M',
  read: ({cell}) => cell.num_features,
  varied: 'num_features',
  slope: {label: 'slope -1/2', exponent: -1 / 2},
}
export const NORM: Variable = {
  name: 'error-over-norm',
  title: 'Error over the norm of queries and keys',
  label: 'E|x|^2, canonical queries',
  read: ({result}) => result.statistics.query_norm2,
  varied: 'scale',
}
export const VARIABLES: readonly Variable[] = [
  FEATURES,
  {
    name: 'error-over-length',
    title: 'Error over length',
    label: 'queries L',
    read: ({result}) => result.query_len,
    varied: 'seq_len',
  },
  NORM,
]

/** The smallest and the largest value of a variable. */
export type Span = readonly [from: number, to: number]
