/**
 * How far float32 may be from the exact output of an unknown estimator: its condition is measured, its roundings
 * are counted.
 *
 * An output is a function of the numbers of a call: queries, keys, projection, noise. Each is read through sums of at most
 * D, S and F terms and a few elementary functions, that is `n = D + S + F + 64` roundings, each of them a relative change by
 * at most u of what is read (Higham 2002, sections 3.1 and 3.5). An output is off by at most `gamma_n` times
 *
 * - how far it moves when every number moves by its own size, each up or down as it happens: roundings that do not know
 *   of each other add up like random signs, to `sqrt(n) u` times the root of `sum_k (x_k dout/dx_k)^2` and some standard
 *   deviations of that (Higham and Mary 2019, SIAM J. Sci. Comput. 41, A2815), where `gamma_n` allows `sqrt(n)`, nine or
 *   more; so much is left for roundings that are all alike, as of a scale. The root is measured: under random signs s
 *   the change `|out(x (1 + epsilon s)) - out(x)| / epsilon` has it as standard deviation. The largest of 4 changes is
 *   below half of it for one element in 50, so it is doubled.
 * - the size of what is summed over keys, `sum_j |w_ij| |v_j|`; weights w are the outputs for values that are unit
 *   vectors, one for each key.
 *
 * Signed weights that cancel, and hashes that jump, show in both. An output has no bound (Infinity) where its
 * neighbours are not finite. Where only the output is not finite, rounding is not the reason: 0.
 */
import {estimatorNamed} from '../../attention/names.js'
import {randomStream} from '../../random/index.js'
import type {HostArrays} from './arrays.js'
import {type Call, hostCall, optionsOf, runCall} from './call.js'
import {gamma} from './rounding.js'

/** Relative change of every number. Roundings of a difference are 2^-15 of what is measured. */
const EPSILON = 2 ** -9
/** Sign patterns that are tried. */
const PATTERNS = 4

/** Output of a call with how far float32 may be from what it should be. */
export interface BoundedOutput {
  out: Float32Array
  /** Absolute, by element; Infinity where nothing is decided, 0 where no rounding gives what came. */
  bound: Float64Array
}

export function boundedOutput(given: Call): BoundedOutput {
  const {out} = runCall(given)
  const moved = new Float64Array(out.length)
  const overflows = new Uint8Array(out.length)
  for (let pattern = 0; pattern < PATTERNS; pattern++) {
    const other = runCall(perturbed(given, pattern)).out
    moved.forEach((most, at) => {
      const change = Math.abs(other[at]! - out[at]!) / EPSILON
      moved[at] = change <= most ? most : change // a NaN stays
      if (!Number.isFinite(other[at]!)) overflows[at] = 1
    })
  }
  const sizes = summedSizes(given)
  const relative = gamma(roundings(given))
  const bound = moved.map((most, at) => {
    if (overflows[at]) return Infinity
    if (!Number.isFinite(out[at]!)) return 0
    const total = relative * (2 * most + sizes[at]!)
    return Number.isNaN(total) ? Infinity : total
  })
  return {out, bound}
}

/** {@link BoundedOutput}, or rows of one. */
interface Bounded {
  out: ArrayLike<number>
  bound: ArrayLike<number>
}

/**
 * How far two outputs of one exact value may be apart: the sum of their bounds, by element. An output may overflow
 * like its neighbours. If the expected one does not, rounding is not the reason, and only the bound of the expected
 * one counts. If neither is finite there is nothing to compare: Infinity.
 */
export function jointBound(expected: Bounded, actual: Bounded): Float64Array {
  return Float64Array.from(expected.bound, (bound, at) => {
    if (Number.isFinite(actual.out[at]!)) return bound + actual.bound[at]!
    return Number.isFinite(expected.out[at]!) ? bound : Infinity
  })
}

/** Roundings that an output has passed through. */
export function roundings(given: Call): number {
  const {sizes, method} = given
  const {featureDim} = estimatorNamed(method)
  const length = featureDim(sizes.numFeatures, sizes.headDim, optionsOf(given))
  return sizes.headDim + sizes.keyLen + Math.max(length, 2 * sizes.numFeatures) + 64
}

/** The same call with every number but those of the values moved by its own size times epsilon, up or down. */
function perturbed(given: Call, pattern: number): Call {
  const {inputs, projection, noise} = hostCall(given)
  const stream = randomStream(given.seed ?? 0, 'signs', pattern)
  const move = (data: ArrayLike<number>) =>
    Float64Array.from(data, x => x * (1 + (stream.uint32() & 1 ? EPSILON : -EPSILON)))
  const moved = ({shape, data}: HostArrays[string]) => ({shape, data: move(data)})
  const {query, key, value} = inputs
  return {
    ...given,
    inputs: {query: {...query, data: move(query.data)}, key: {...key, data: move(key.data)}, value},
    ...(projection && {projection: {...projection, data: move(projection.data)}}),
    noise: Object.fromEntries(Object.entries(noise).map(([name, one]) => [name, moved(one)])),
  }
}

/** The weights of a call, `[B, H, L, S]`: its outputs for values that are unit vectors. */
export function weightsOf(given: Call): Float32Array {
  return runCall(withUnitValues(given)).out
}

/** The same call with a unit vector for each key as its value, so that outputs are weights. */
function withUnitValues(given: Call): Call {
  const {inputs} = hostCall(given)
  const {batch, heads, keyLen} = given.sizes
  const data = new Float32Array(batch * heads * keyLen * keyLen)
  for (let row = 0; row < batch * heads * keyLen; row++) data[row * keyLen + (row % keyLen)] = 1
  const value = {shape: [batch, heads, keyLen, keyLen] as const, data}
  return {...given, sizes: {...given.sizes, valueDim: keyLen}, inputs: {...inputs, value}}
}

/** `sum_j |w_ij| |v_j|` by element of the output. */
function summedSizes(given: Call): Float64Array {
  const {batch, heads, queryLen, keyLen, valueDim} = given.sizes
  const weights = weightsOf(given)
  const {data} = hostCall(given).inputs.value
  const out = new Float64Array(batch * heads * queryLen * valueDim)
  for (let row = 0; row < batch * heads * queryLen; row++) {
    const head = Math.floor(row / queryLen)
    for (let j = 0; j < keyLen; j++) {
      const weight = Math.abs(weights[row * keyLen + j]!)
      const from = (head * keyLen + j) * valueDim
      for (let d = 0; d < valueDim; d++)
        out[row * valueDim + d]! += weight * Math.abs(data[from + d]!)
    }
  }
  return out
}
