import type {BenchRecord} from '../../experiments/bench/schema.js'
import type {ErrorSweepRecord} from '../../experiments/error-sweep/schema.js'
import type {VarianceRecord} from '../../experiments/variance/schema.js'

export * from '../../experiments/bench/schema.js'
export * from '../../experiments/error-sweep/schema.js'
export * from '../../experiments/variance/schema.js'
export * from './common.js'
export * from './manifest.js'

/** A finished cell of any experiment. */
export type AnyRecord = ErrorSweepRecord | BenchRecord | VarianceRecord
export type AnyCell = AnyRecord['cell']
