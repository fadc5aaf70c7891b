/** Calls with masked tokens, as calls of the tokens that are there: what is left out can say nothing to any statistic. */
import {expected} from '../errors.js'
import {tf} from '../tf.js'
import {attendAligned} from './causal-align.js'
import {blankRows} from './forms/blank-rows.js'
import type {AttendInputs, Estimator, RowChoice} from './forms/estimator.js'
import {type Noise, noiseSpecs} from './forms/noise.js'
import {hostData} from './host-data.js'
import type {AttendResult, CallShape, Parameters} from './types.js'

type Inputs = AttendInputs<Record<string, unknown>>

/** Places of the tokens of one text, ascending. */
interface Present {
  queries: readonly number[]
  keys: readonly number[]
}

/** The output of a call, whatever is masked. Rows of masked queries that were left out are zero. */
export function attendCall(estimator: Estimator, inputs: Inputs): AttendResult {
  const masked = inputs.keyMask ?? inputs.queryMask
  const texts =
    masked && leavesOut(estimator, inputs.options) ? textsOf(estimator, inputs) : undefined
  if (!texts) return attendAligned(estimator, inputs)
  const all = texts.every(text => isWhole(text, inputs))
  if (all) return attendAligned(estimator, {...inputs, keyMask: undefined, queryMask: undefined})
  const outs = texts.map((text, at) => textRows(estimator, inputs, text, at))
  return {out: outs.length === 1 ? outs[0]! : tf.concat(outs, 0)}
}

/** Weights of some queries over all keys, `[B, H, n, S]`, of the call that {@link attendCall} makes; zero at masked tokens. */
export function rowWeightsOf(estimator: Estimator, inputs: Inputs, rows: RowChoice): tf.Tensor4D {
  const masked = inputs.keyMask || inputs.queryMask
  const texts =
    masked && leavesOut(estimator, inputs.options) ? textsOf(estimator, inputs) : undefined
  if (!texts) return estimator.rowWeights!(inputs, rows)
  return tf.concat(
    texts.map((text, at) => textWeights(estimator, inputs, text, at, rows)),
    0,
  )
}

/** Those of one text, `[1, H, n, S]`. */
function textWeights(
  estimator: Estimator,
  inputs: Inputs,
  text: Present,
  at: number,
  {places, count}: RowChoice,
): tf.Tensor4D {
  const heads = inputs.query.shape[1]
  const keyLen = inputs.key.shape[2]
  if (text.queries.length === 0 || text.keys.length === 0) {
    return tf.zeros([1, heads, count, keyLen])
  }
  const rowOf = new Map(text.queries.map((place, row) => [place, row]))
  const chosen = [...places.subarray(at * heads * count, (at + 1) * heads * count)]
  const own = {places: Int32Array.from(chosen, place => rowOf.get(place) ?? 0), count}
  const weights = estimator.rowWeights!(textInputs(estimator, inputs, text, at), own)
  const present = chosen.map(place => (rowOf.has(place) ? 1 : 0))
  const real: tf.Tensor4D = tf.mul(weights, tf.tensor4d(present, [1, heads, count, 1]))
  const from = new Int32Array(keyLen).fill(text.keys.length)
  text.keys.forEach((place, column) => {
    from[place] = column
  })
  // a column of zeros behind those of the text, for all that are not
  const columns = tf.concat([real, tf.zeros<tf.Rank.R4>([1, heads, count, 1])], 3)
  return tf.gather(columns, tf.tensor1d(from, 'int32'), 3) as tf.Tensor4D
}

/** Whether masked tokens are left out of calls, by what the method declares of itself. */
export function leavesOut(estimator: Estimator, options: Record<string, unknown>): boolean {
  const declared = estimator.maskedTokens?.(options)
  if (declared) return declared === 'left-out'
  return Boolean(
    estimator.calibrates || estimator.keyOrderMatters || estimator.couplesHeads?.(options),
  )
}

/**
 * The tokens of each text; `undefined` where a causal query would see other keys among those that are left.
 *
 * @throws {UNSUPPORTED} where masked queries would enter statistics then, or a method needs as many queries as keys
 */
function textsOf({supports}: Estimator, inputs: Inputs): Present[] | undefined {
  const {query, key, keyMask, queryMask, causal} = inputs
  const [batch, , queryLen] = query.shape
  const keyLen = key.shape[2]
  const masks = hostData(() => ({
    ...(keyMask && {keys: tf.cast(keyMask, 'float32')}),
    ...(queryMask && {queries: tf.cast(queryMask, 'float32')}),
  }))
  const placesOf = (mask: ArrayLike<number> | undefined, at: number, length: number) =>
    Array.from({length}, (_, i) => i).filter(i => mask?.[at * length + i] !== 0)
  const texts = Array.from({length: batch}, (_, at) => ({
    queries: placesOf(masks.queries, at, queryLen),
    keys: placesOf(masks.keys, at, keyLen),
  }))
  const offset = blankRows(inputs)
  const fits = texts.every(({queries, keys}) => supports.cross || queries.length === keys.length)
  if (fits && (!causal || texts.every(text => staysCausal(text, offset)))) return texts
  if (fits && texts.every(({queries}) => queries.length === queryLen)) return undefined
  const why = fits ? 'attention is causal' : 'the method takes the same number of queries and keys'
  const what = `the tokens that \`keyMask\` hides, as ${why}`
  const remedy = 'mask the same tokens in `keyMask` and `queryMask`'
  throw expected('UNSUPPORTED', 'queryMask', what, 'others', remedy)
}

/** Whether each query that is left sees the keys up to its own place among those that are left. */
function staysCausal({queries, keys}: Present, offset: number): boolean {
  const own = offset === 0 ? 0 : keys.length - queries.length
  let seen = 0
  return queries.every((place, row) => {
    while (seen < keys.length && keys[seen]! <= place + offset) seen++
    return seen === Math.min(row + 1 + own, keys.length)
  })
}

function isWhole({queries, keys}: Present, {query, key}: Inputs): boolean {
  return queries.length === query.shape[2] && keys.length === key.shape[2]
}

/** The rows of one text, `[1, H, L, Dv]`. */
function textRows(estimator: Estimator, inputs: Inputs, text: Present, at: number): tf.Tensor4D {
  const [, heads, queryLen] = inputs.query.shape
  const valueDim = inputs.value.shape[3]
  if (text.queries.length === 0 || text.keys.length === 0) {
    return tf.zeros([1, heads, queryLen, valueDim])
  }
  const {out} = attendAligned(estimator, textInputs(estimator, inputs, text, at))
  if (text.queries.length === queryLen) return out
  // a row of zeros behind those of the text, for all that are not
  const rows = tf.concat([out, tf.zeros<tf.Rank.R4>([1, heads, 1, valueDim])], 2)
  const from = new Int32Array(queryLen).fill(text.queries.length)
  text.queries.forEach((place, row) => {
    from[place] = row
  })
  return tf.gather(rows, tf.tensor1d(from, 'int32'), 2) as tf.Tensor4D
}

/** The call of one text by itself, with what was drawn for its place in the batch. */
function textInputs(estimator: Estimator, inputs: Inputs, text: Present, at: number): Inputs {
  const {queries, keys} = text
  const {calibration, gate} = inputs
  const one = <T extends tf.Tensor>(x: T): T => {
    const [, ...rest] = x.shape
    return tf.slice(x, [at, ...rest.map(() => 0)], [1, ...rest])
  }
  const some = <T extends tf.Tensor>(x: T, places: readonly number[]): T =>
    places.length === x.shape[2] ? one(x) : tf.gather(one(x), tf.tensor1d([...places], 'int32'), 2)
  const shape = shapeOf(inputs)
  const own = {...shape, batch: 1, queryLen: queries.length, keyLen: keys.length}
  return {
    ...inputs,
    query: some(inputs.query, queries),
    key: some(inputs.key, keys),
    value: some(inputs.value, keys),
    gate: gate && some(gate, keys),
    keyMask: undefined,
    queryMask: undefined,
    calibration: calibration && {query: one(calibration.query), key: one(calibration.key)},
    noise: textNoise(estimator, inputs, own, at),
    parameters: textParameters(estimator, inputs, own),
  }
}

function shapeOf({query, value, numFeatures, causal}: Inputs): CallShape {
  const [batch, heads, queryLen, headDim] = query.shape
  const [, , keyLen, valueDim] = value.shape
  return {batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures, causal}
}

/** Rows of random arrays as a shorter text has them: its own rows come first. */
function textNoise(
  estimator: Estimator,
  {noise, options}: Inputs,
  shape: CallShape,
  at: number,
): Noise {
  return Object.fromEntries(
    Object.entries(noiseSpecs(estimator, shape, options)).map(([name, {rows, columns, shared}]) => [
      name,
      tf.slice(noise[name]!, [shared ? 0 : at, 0, 0, 0], [1, shape.heads, rows, columns]),
    ]),
  )
}

/** Learned arrays with a row for each token, cut to those of a shorter text. */
function textParameters(
  estimator: Estimator,
  {parameters, options}: Inputs,
  shape: CallShape,
): Parameters {
  const shapes = estimator.parameters?.(shape, options) ?? {}
  return Object.fromEntries(
    Object.entries(parameters).map(([name, array]) => [
      name,
      tf.slice(
        array,
        array.shape.map(() => 0),
        shapes[name] ?? array.shape,
      ),
    ]),
  )
}
