/** Causal calls whose queries are the last tokens: as calls with a blank query before them for each earlier key. */
import {tf} from '../tf.js'
import {blankRows} from './forms/blank-rows.js'
import type {AttendInputs, Estimator} from './forms/estimator.js'
import {type Noise, noiseSpecs} from './forms/noise.js'
import type {AttendResult, CallShape} from './types.js'

type Inputs = AttendInputs<Record<string, unknown>>

/** The output of a call, whichever corner is causal. Methods have the form of equal numbers of queries and keys alone. */
export function attendAligned(estimator: Estimator, inputs: Inputs): AttendResult {
  const blank = blankRows(inputs)
  if (blank === 0) return estimator.attend(inputs)
  if (estimator.attendEnd) return estimator.attendEnd(inputs)
  const {out, ...rest} = estimator.attend(withBlanks(estimator, inputs, blank))
  const queryLen = inputs.query.shape[2]
  const own = <T extends tf.Tensor>(rows: T): T => {
    const begin = rows.shape.map((_, axis) => (axis === 2 ? blank : 0))
    return tf.slice(rows, begin, rows.shape.with(2, queryLen)) as T
  }
  return {
    out: own(out),
    ...(rest.denominator && {denominator: own(rest.denominator)}),
    ...(rest.guarded && {guarded: own(rest.guarded)}),
  }
}

function withBlanks(estimator: Estimator, inputs: Inputs, blank: number): Inputs {
  const {query, queryMask} = inputs
  const [batch] = query.shape
  return {
    ...inputs,
    query: zerosBefore(query, blank),
    queryMask: queryMask && tf.concat([tf.zeros([batch, blank]), tf.cast(queryMask, 'float32')], 1),
    causalAlign: undefined,
    blankQueries: blank,
    noise: noiseOfAll(estimator, inputs),
  }
}

/** Random rows of the queries there are, behind others that nothing is read of. */
function noiseOfAll(
  estimator: Estimator,
  {query, value, noise, options, ...inputs}: Inputs,
): Noise {
  const [batch, heads, , headDim] = query.shape
  const [, , keyLen, valueDim] = value.shape
  const sizes = {batch, heads, queryLen: keyLen, keyLen, headDim, valueDim}
  const shape: CallShape = {...sizes, numFeatures: inputs.numFeatures, causal: true}
  const specs = noiseSpecs(estimator, shape, options)
  return Object.fromEntries(
    Object.entries(noise).map(([name, rows]) => [
      name,
      zerosBefore(rows, specs[name]!.rows - rows.shape[2]),
    ]),
  )
}

function zerosBefore(rows: tf.Tensor4D, count: number): tf.Tensor4D {
  const [batch, heads, , width] = rows.shape
  return count === 0
    ? rows
    : tf.concat([tf.zeros<tf.Rank.R4>([batch, heads, count, width]), rows], 2)
}
