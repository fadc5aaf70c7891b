/** What is to be compared. */
import type {Comparison, MeasuredRecord, Related} from '../experiments/comparison.js'
import type {RunManifest} from '../results/manifest.js'
import type {CellRecord} from '../results/record.js'
import type {Limit} from './limits.js'

/** A run, or what a method has of it. */
export interface Side {
  directory: string
  /** Name of the method; `null`: the whole run. */
  method: string | null
  manifest: RunManifest
  /** The newest of each cell. */
  records: readonly CellRecord[]
  /** Cells of the plan; `null`: unknown. */
  cells: number | null
}

/** What is to be compared, and how it is judged. */
export interface ComparisonRequest {
  experiment: string
  comparison: Comparison
  related: Related
  a: Side
  b: Side
  limits: readonly Limit[]
  strict: boolean
}

/** Two cells that were both measured. */
export type MeasuredPair = readonly [MeasuredRecord, MeasuredRecord]
