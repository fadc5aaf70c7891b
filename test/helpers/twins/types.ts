/** What a twin, the plain double-precision form of an estimator, takes and gives. */
import type {HostArray} from '../../../src/attention/index.js'
import type {HostProjection} from '../../../src/check/calls/call.js'
import type {HostArrays} from '../arrays.js'
import {type BoundedMatrix, exactly} from '../bounded.js'
import {type Bounded, bounded} from '../rounding.js'
import type {FeatureBuilder} from './weighted.js'

export type {HostProjection}

export interface TwinInputs {
  query: HostArray
  key: HostArray
  value: HostArray
  projection?: HostProjection | undefined
  causal: boolean
  /** Which keys a query sees in the causal form. Default: those up to its own place. */
  past?: ((i: number, j: number) => boolean) | undefined
  /** `[B, S]`, nonzero = present. */
  keyMask?: ArrayLike<number> | undefined
  /** beta */
  logitScale: number
  /** What the caller asked for. */
  numFeatures: number
  /** Random arrays by name. */
  noise: HostArrays
  /** Learned arrays by name. */
  parameters: HostArrays
  /** Forget gates, `[B, H, S]`. */
  gate?: HostArrays[string] | undefined
  /** Tokens to take statistics from. */
  calibration?: {query: HostArray; key: HostArray} | undefined
  /** All options of the estimator, resolved. */
  options: Record<string, unknown>
  /** Sums carried in, `[B H, F, Dv]` and `[B H, F]`. */
  initialState?: {state: ArrayLike<number>; normalizer: ArrayLike<number>} | undefined
}

/** For methods that take nothing beside query, key, value and a projection. */
export const PLAIN = {numFeatures: 0, noise: {}, parameters: {}, options: {}} as const

export interface TwinResult {
  /** `[B, H, L, Dv]` */
  out: Bounded
  /** `[B, H, L]`, before any guard, for forms that have one. */
  denominator?: Bounded
}

export interface Twin {
  (inputs: TwinInputs): TwinResult
  /** The features that it is made of, where running sums are sums of them. */
  build?: FeatureBuilder
}

/** One head of one batch element, vectors in double precision. */
export interface Head {
  /** Index in `[B H]`. */
  index: number
  query: Float64Array // [L, D]
  key: Float64Array // [S, D]
  value: Float64Array // [S, Dv]
  projection: Float64Array // [M, D]
  numFeatures: number
  queryLen: number
  keyLen: number
  headDim: number
  valueDim: number
  /** Whether query `i` sees key `j`. */
  sees(i: number, j: number): boolean
}

/** Calls `visit` for every head. */
export function forEachHead(inputs: TwinInputs, visit: (head: Head) => void): void {
  const [batch, heads, queryLen, headDim] = inputs.query.shape
  const [, , keyLen, valueDim] = inputs.value.shape
  const {projection, causal, keyMask, past = (i, j) => j <= i} = inputs
  const numFeatures = projection?.numFeatures ?? 0
  for (let index = 0; index < batch * heads; index++) {
    const first = projection?.perHead ? (index % heads) * numFeatures * headDim : 0
    const maskRow = Math.floor(index / heads) * keyLen
    visit({
      index,
      query: rowsOf(inputs.query, index),
      key: rowsOf(inputs.key, index),
      value: rowsOf(inputs.value, index),
      projection: Float64Array.from(
        {length: numFeatures * headDim},
        (_, i) => projection?.data[first + i] ?? 0,
      ),
      numFeatures,
      queryLen,
      keyLen,
      headDim,
      valueDim,
      sees: (i, j) => (!causal || past(i, j)) && keyMask?.[maskRow + j] !== 0,
    })
  }
}

function rowsOf({data, shape}: HostArray, head: number): Float64Array {
  const size = shape[2] * shape[3]
  return Float64Array.from(data.subarray(head * size, (head + 1) * size))
}

/** An empty output `[B, H, L, Dv]` with bounds. */
export function emptyOutput({query, value}: TwinInputs): Bounded {
  const [batch, heads, queryLen] = query.shape
  return bounded(batch * heads * queryLen * value.shape[3])
}

/** Query, key and value of a head as matrices for running error analysis. */
export function matricesOf({query, key, value, queryLen, keyLen, headDim, valueDim}: Head) {
  return {
    query: exactly(query, queryLen, headDim),
    key: exactly(key, keyLen, headDim),
    value: exactly(value, keyLen, valueDim),
  }
}

/** The matrix of one head of a named array `[B or 1, H, rows, columns]`. */
export function headMatrix(
  inputs: TwinInputs,
  {shape, data}: HostArrays[string],
  index: number,
): BoundedMatrix {
  const [batch, heads, rows, columns] = shape as [number, number, number, number]
  const at = batch === 1 && inputs.query.shape[0] > 1 ? index % heads : index
  const size = rows * columns
  return exactly(data.subarray(at * size, (at + 1) * size), rows, columns)
}

/** Writes one head's `[L, Dv]` into an output `[B, H, L, Dv]`. */
export function writeHead(out: Bounded, {index}: Head, {value, error}: BoundedMatrix): void {
  out.value.set(value, index * value.length)
  out.error.set(error, index * error.length)
}
