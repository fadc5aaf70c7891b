import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {beforeAll, describe, it} from 'vitest'
import {attend} from '../../src/attention/attention.js'
import type {HostArray} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {
  compute,
  type HostInputs,
  hostNormals,
  maskTensor,
  namedTensors,
  type Sizes,
  toTensor,
  toTensors,
} from '../helpers/arrays.js'
import {
  caseName,
  type EstimatorCase,
  hostCase,
  optionsOf,
  toCalibration,
  toProjection,
} from '../helpers/estimator-case.js'
import {assertWithin, gamma, maxAbs} from '../helpers/rounding.js'
import {PLAIN, TWINS, type TwinResult} from '../helpers/twins/index.js'

const SIZES: Sizes = {
  batch: 1,
  heads: 2,
  queryLen: 7,
  keyLen: 5,
  headDim: 3,
  valueDim: 2,
  numFeatures: 11,
}

const SQUARE: Sizes = {...SIZES, queryLen: 7, keyLen: 7}

/** The same tokens on both sides: maps are the identity. */
const CALIBRATION = {
  query: hostNormals('calibration', [1, 2, 9, 3], 0.7),
  key: hostNormals('calibration', [1, 2, 9, 3], 0.7),
}

const CASES: readonly EstimatorCase[] = [
  {method: 'softmax', sizes: SIZES, causal: true},
  {method: 'softmax-online', sizes: SIZES},
  {method: 'softmax-online', sizes: SIZES, causal: true},
  {method: 'favor-pos', sizes: SIZES, inputScale: 0.7},
  {method: 'favor-pos', sizes: SIZES, inputScale: 0.7, causal: true},
  {method: 'favor-hyp', sizes: SIZES, inputScale: 0.7, causal: true},
  {method: 'smreg', sizes: SIZES, inputScale: 0.7},
  {method: 'favor-trig', sizes: SIZES, inputScale: 0.5, causal: true},
  {method: 'rfa', sizes: SIZES},
  {method: 'rfa', sizes: SIZES, causal: true},
  {method: 'rfa', sizes: SIZES, masked: true},
  {method: 'softmax-online', sizes: SIZES, masked: true},
  {method: 'favor-pos', sizes: SIZES, inputScale: 0.7, masked: true},
  {method: 'favor-hyp', sizes: SIZES, inputScale: 0.7, causal: true, masked: true},
  {method: 'oprf', sizes: SIZES, inputScale: 0.7, options: {a: -0.5}},
  {method: 'saderf', sizes: SIZES, inputScale: 0.7, calibration: CALIBRATION, masked: true},
  {method: 'aderf', sizes: SIZES, inputScale: 0.7, calibration: CALIBRATION, causal: true},
  {method: 'sderf', sizes: SIZES, inputScale: 0.7, calibration: CALIBRATION, causal: true},
  {method: 'elu', sizes: SIZES},
  {method: 'efficient', sizes: SIZES, masked: true},
  {method: 'maclaurin', sizes: SIZES, inputScale: 0.5},
  {method: 'hrf', sizes: SIZES, inputScale: 0.5, causal: true},
  {method: 'cosformer', sizes: SIZES, masked: true},
  {method: 'taylor', sizes: SIZES, causal: true},
  {method: 'efficient', sizes: SIZES, causal: true, masked: true},
  {method: 'ra', sizes: SIZES},
  {method: 'lara', sizes: {...SIZES, numFeatures: 3}},
  {method: 'lara', sizes: {...SIZES, numFeatures: 3}, options: {mis: 'bh'}, masked: true},
  {method: 'lara', sizes: {...SIZES, numFeatures: 3}, options: {mis: 'biased'}},
  {method: 'ra', sizes: SIZES, causal: true, masked: true},
  {method: 'eva', sizes: SQUARE, options: {window: 2, chunkSize: 3}},
  {method: 'eva', sizes: SQUARE, options: {window: 3, chunkSize: 2}, causal: true, masked: true},
]

const SIDES = ['query', 'key', 'value'] as const

function twinOf(given: EstimatorCase, inputs: HostInputs): TwinResult {
  return TWINS[given.method]!({
    ...PLAIN,
    ...hostCase(given),
    ...inputs,
    numFeatures: given.sizes.numFeatures,
    calibration: given.calibration,
    causal: given.causal ?? false,
    logitScale: given.sizes.headDim ** -0.5,
    options: optionsOf(given),
  })
}

/** sum of out times cotangent, by the twin. */
function loss(given: EstimatorCase, inputs: HostInputs, cotangent: HostArray): number {
  const {value} = twinOf(given, inputs).out
  return value.reduce((sum, x, at) => sum + x * cotangent.data[at]!, 0)
}

/** Half-width of central differences: their error is of the order of its square, 1e-10. */
const STEP = 1e-5

/** Central differences of the twin's loss by each element of one side. */
function numericGradient(
  given: EstimatorCase,
  inputs: HostInputs,
  side: (typeof SIDES)[number],
  cotangent: HostArray,
): Float64Array {
  const array = inputs[side]
  return Float64Array.from(array.data, (x, at) => {
    const shifted = (by: number) => {
      const data = Float64Array.from(array.data)
      data[at] = x + by
      return loss(given, {...inputs, [side]: {shape: array.shape, data}}, cotangent)
    }
    return (shifted(STEP) - shifted(-STEP)) / (2 * STEP)
  })
}

/** Automatic gradients of the same loss on the current backend. */
function automaticGradients(given: EstimatorCase, inputs: HostInputs, cotangent: HostArray) {
  const {projection, keyMask, noise} = hostCase(given)
  return compute(() => {
    const mask = keyMask && {keyMask: maskTensor(keyMask, SIZES.batch)}
    const rows = projection && {projection: toProjection(projection, SIZES.headDim)}
    const calibration = given.calibration && {calibration: toCalibration(given.calibration)}
    const weights = toTensor(cotangent)
    const scalar = (...tensors: tf.Tensor[]) => {
      const [query, key, value] = tensors as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
      const {out} = attend(query, key, value, {
        method: given.method,
        causal: given.causal ?? false,
        numFeatures: given.sizes.numFeatures,
        noise: namedTensors<tf.Tensor4D>(noise),
        ...mask,
        ...rows,
        ...calibration,
        ...given.options,
      })
      return tf.sum(tf.mul(out, weights)) as tf.Scalar
    }
    return tf.grads(scalar)([...toTensors(inputs)])
  })
}

/**
 * Bound on an automatic gradient. An output is a mean of values with weights w; its derivative by a
 * vector is `sum_j p_j (v_j - out) dlog w_j`, at most `2 max|v| g` in magnitude, where `g` bounds the
 * derivative of a log-weight (random vectors and inputs, scaled); by a value it is p_j <= 1. Backward
 * passes repeat the forward sums: D + S + F + 64 roundings, amplified by the logits as in the forward
 * pass. Signed weights cancel: each of the two sums of a ratio by kappa = sum|w| / |sum w|. Behind a chunk
 * stands a softmax of its own, less its mean: a log-weight there moves three times as much.
 */
function gradientBound(given: EstimatorCase, inputs: HostInputs, cotangent: HostArray): number {
  const {projection, noise} = hostCase(given)
  const {denominator} = twinOf(given, inputs)
  const length = (values: ArrayLike<number>) => Math.sqrt(SIZES.headDim) * maxAbs(values)
  const random = [...(projection ? [projection] : []), ...Object.values(noise)]
  const factor = rootFactor(given)
  const reach =
    length(inputs.query.data) +
    length(inputs.key.data) +
    random.reduce((sum, {data}) => sum + factor * length(data), 0)
  const estimator = estimatorNamed(given.method)
  const options = optionsOf(given)
  const featureDim = estimator.featureDim(SIZES.numFeatures, SIZES.headDim, options)
  // features of unit length, or keys weighted by at most one, in at most two parts: sum |terms| <= 2
  const smallest = Math.min(...(denominator?.value ?? [1]).map(Math.abs))
  const kappa = estimator.nonNegative ? 1 : Math.max(1, (2 * SIZES.keyLen) / smallest)
  const nested = given.method === 'eva' ? 3 : 1
  const terms = SIZES.headDim + SIZES.keyLen + Math.max(featureDim, 2 * SIZES.numFeatures) + 64
  const total = Float64Array.from(cotangent.data).reduce((sum, x) => sum + Math.abs(x), 0)
  const slope = 2 * maxAbs(inputs.value.data) * nested * (1 + reach)
  return gamma(terms) * (1 + nested * reach) * slope * kappa ** 2 * total
}

/**
 * What exponential features multiply random vectors by: (1 - 4a)^(1/2), where a is at least -t/2 and t at most
 * 2 mean (|x|^2 + |y|^2) of the calibration.
 */
function rootFactor({calibration, options = {}, sizes}: EstimatorCase): number {
  if (typeof options.a === 'number') return Math.sqrt(1 - 4 * options.a)
  if (!calibration) return 1
  const largest = maxAbs([...calibration.query.data, ...calibration.key.data])
  const length2 = sizes.headDim * largest ** 2 * sizes.headDim ** -0.5
  return Math.sqrt(1 + 2 * 2 * 2 * length2)
}

describe('gradients of the composite forms on cpu are those of the definition', () => {
  beforeAll(() => useBackend('cpu'))

  for (const given of CASES) {
    it(caseName(given), () => {
      const {inputs} = hostCase(given)
      const {batch, heads, queryLen, valueDim} = given.sizes
      const cotangent = hostNormals('cotangent', [batch, heads, queryLen, valueDim])
      const bound = gradientBound(given, inputs, cotangent)
      const automatic = automaticGradients(given, inputs, cotangent)
      SIDES.forEach((side, n) => {
        const numeric = numericGradient(given, inputs, side, cotangent)
        const bounds = numeric.map(() => bound)
        assertWithin(`gradient by ${side}`, automatic[n]!, numeric, bounds)
      })
    })
  }
})
