import type {Cost} from '../attention/types.js'
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
  /** Peak bytes of its process beside the runtime itself. */
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

/** Bytes of inputs, output and live tensors of one float32 forward. */
export function forwardBytes(shape: ForwardShape, cost: Cost): number {
  const {batch, heads, queryLen, keyLen, headDim, valueDim} = shape
  const tokens = queryLen * (headDim + valueDim) + keyLen * (headDim + valueDim)
  return batch * heads * tokens * 4 + cost.liveBytes
}
