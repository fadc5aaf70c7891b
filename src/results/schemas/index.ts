import type {BenchRecord} from './bench.js'
import type {ErrorSweepRecord} from './error-sweep.js'
import type {VarianceRecord} from './variance.js'

export * from './bench.js'
export * from './common.js'
export * from './error-sweep.js'
export * from './manifest.js'
export * from './variance.js'

/** A finished cell of any experiment. */
export type AnyRecord = ErrorSweepRecord | BenchRecord | VarianceRecord
export type AnyCell = AnyRecord['cell']
