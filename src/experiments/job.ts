import type {AnyCell} from '../results/schemas/index.js'

/** A cell with what the runner needs to know of it. */
export interface Job {
  key: string
  schema: string
  cell: AnyCell
  /** What progress shows while it runs. */
  label: string
  /** Floating-point operations: the weight in the estimate of the time left. */
  predictedCost: number
  /** Peak resident bytes of its process. */
  predictedBytes: number
}

/** How a cell ended, before it becomes a record. Errors are thrown instead. */
export type CellOutcome<Result = unknown> =
  | {status: 'completed'; result: Result}
  | {status: 'skipped'; reason: string}

/** Sizes of one forward. */
export interface ForwardShape {
  batch: number
  heads: number
  queryLen: number
  keyLen: number
  headDim: number
  valueDim: number
}
