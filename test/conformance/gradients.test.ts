import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {beforeAll, describe, expect, it} from 'vitest'
import {attend} from '../../src/attention/attention.js'
import {
  type HostArray,
  loadEstimators,
  METHOD_NAMES,
  type MethodName,
} from '../../src/attention/index.js'
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
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {FULL, sample} from '../helpers/effort.js'
import {
  caseName,
  type EstimatorCase,
  hostCase,
  optionsOf,
  toCalibration,
  toProjection,
} from '../helpers/estimator-case.js'
import {formsOf} from '../helpers/option-cases.js'
import type {Form} from '../helpers/option-places.js'
import {assertWithin, constantBound, gamma, maxAbs} from '../helpers/rounding.js'
import {PLAIN, TWINS, type TwinResult} from '../helpers/twins/index.js'

await loadEstimators()

const SIZES: Sizes = {
  batch: 1,
  heads: 2,
  queryLen: 5,
  keyLen: 4,
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

/** Every method in every form that it has; signed weights with so many features that sums do not vanish. */
const FORMS: readonly EstimatorCase[] = METHOD_NAMES.flatMap((method, index) =>
  formsTaken(method, index).map(form => {
    const {supports, calibrates, nonNegative} = estimatorNamed(method)
    const sizes = supports.cross ? SIZES : SQUARE
    return {
      method,
      sizes: nonNegative ? sizes : {...sizes, numFeatures: 61},
      inputScale: nonNegative ? 0.7 : 0.4,
      causal: form === 'causal',
      // statistics of the call itself are constants for gradients
      ...(calibrates && {calibration: CALIBRATION}),
    }
  }),
)

/** A quick run takes one form of each method. */
function formsTaken(method: MethodName, index: number): Form[] {
  const forms = formsOf(method)
  return FULL ? forms : [forms[index % forms.length]!]
}

/** Masks, and options that other code computes. */
const MORE: readonly EstimatorCase[] = [
  {method: 'rfa', sizes: SIZES, masked: true},
  {method: 'softmax-online', sizes: SIZES, masked: true},
  {method: 'favor-pos', sizes: SIZES, inputScale: 0.7, masked: true},
  {method: 'favor-hyp', sizes: SIZES, inputScale: 0.7, causal: true, masked: true},
  {method: 'oprf', sizes: SIZES, inputScale: 0.7, options: {a: -0.5}},
  {method: 'saderf', sizes: SIZES, inputScale: 0.7, calibration: CALIBRATION, masked: true},
  {method: 'efficient', sizes: SIZES, masked: true},
  {method: 'cosformer', sizes: SIZES, masked: true},
  {method: 'efficient', sizes: SIZES, causal: true, masked: true},
  {method: 'lara', sizes: {...SIZES, numFeatures: 3}},
  {method: 'lara', sizes: {...SIZES, numFeatures: 3}, options: {mis: 'bh'}, masked: true},
  {method: 'lara', sizes: {...SIZES, numFeatures: 3}, options: {mis: 'biased'}},
  {method: 'ra', sizes: SIZES, causal: true, masked: true},
  {method: 'eva', sizes: SQUARE, options: {window: 2, chunkSize: 3}},
  {method: 'eva', sizes: SQUARE, options: {window: 3, chunkSize: 2}, causal: true, masked: true},
]

const SIDES = ['query', 'key', 'value'] as const
type Side = (typeof SIDES)[number]

function twinOf(given: EstimatorCase, inputs: HostInputs): TwinResult {
  return TWINS[given.method]({
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
  side: Side,
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

/** The automatic gradient of the same loss by one side, on the current backend. */
function automaticGradient(
  given: EstimatorCase,
  inputs: HostInputs,
  side: Side,
  cotangent: HostArray,
): Float32Array {
  const {projection, keyMask, noise} = hostCase(given)
  const {batch, headDim, numFeatures} = given.sizes
  const [gradient] = compute(() => {
    const mask = keyMask && {keyMask: maskTensor(keyMask, batch)}
    const rows = projection && {projection: toProjection(projection, headDim)}
    const calibration = given.calibration && {calibration: toCalibration(given.calibration)}
    const weights = toTensor(cotangent)
    const [query, key, value] = toTensors(inputs)
    const loss = (x: tf.Tensor) => {
      const tensors = {query, key, value, [side]: x as tf.Tensor4D}
      const {out} = attend(tensors.query, tensors.key, tensors.value, {
        method: given.method,
        causal: given.causal ?? false,
        numFeatures,
        noise: namedTensors<tf.Tensor4D>(noise),
        ...mask,
        ...rows,
        ...calibration,
        ...given.options,
      })
      return tf.sum(tf.mul(out, weights)) as tf.Scalar
    }
    return [tf.grad(loss)({query, key, value}[side])]
  })
  return gradient!
}

/**
 * Bound on an automatic gradient. An output is a mean of values with weights w; its derivative by a value is
 * p_j <= 1, by a vector `sum_j p_j (v_j - out) dlog w_j`, at most `2 max|v| g` in magnitude, where `g` bounds the
 * derivative of a log-weight (random vectors and inputs, scaled). A query counts in its own row, a key and a value
 * in all rows of their head. Backward passes repeat the forward sums: D + S + F + 64 roundings, amplified by the
 * logits as in the forward pass. Signed weights cancel: each of the two sums of a ratio by
 * kappa = sum|w| / |sum w|. Behind a chunk stands a softmax of its own, less its mean: a log-weight there moves
 * three times as much.
 */
function gradientBounds(given: EstimatorCase, inputs: HostInputs, cotangent: HostArray) {
  const {sizes} = given
  const {projection, noise} = hostCase(given)
  const {denominator} = twinOf(given, inputs)
  const length = (values: ArrayLike<number>) => Math.sqrt(sizes.headDim) * maxAbs(values)
  const random = [...(projection ? [projection] : []), ...Object.values(noise)]
  const factor = rootFactor(given)
  const reach =
    length(inputs.query.data) +
    length(inputs.key.data) +
    random.reduce((sum, {data}) => sum + factor * length(data), 0)
  const estimator = estimatorNamed(given.method)
  const options = optionsOf(given)
  const featureDim = estimator.featureDim(sizes.numFeatures, sizes.headDim, options)
  const cancelled = estimator.nonNegative ? 1 : cancellation(given, denominator?.value)
  const nested = given.method === 'eva' ? 3 : 1
  const terms = sizes.headDim + sizes.keyLen + Math.max(featureDim, 2 * sizes.numFeatures) + 64
  const slope = 2 * maxAbs(inputs.value.data) * nested * (1 + reach)
  const relative = gamma(terms) * (1 + nested * reach) * cancelled
  const perRow = largestSum(cotangent.data, sizes.valueDim)
  const perHead = largestSum(cotangent.data, sizes.queryLen * sizes.valueDim)
  return {
    query: relative * slope * perRow,
    key: relative * slope * perHead,
    value: relative * perHead,
  }
}

/**
 * What signed weights cancel: kappa^2 of the worst row, or of rows that are no ratios, a single sum. Features of
 * unit length, or keys weighted by at most one, in at most two parts, make sum|w| at most twice the keys in view.
 */
function cancellation({sizes, causal}: EstimatorCase, sums: Float64Array | undefined): number {
  const {queryLen, keyLen} = sizes
  if (!sums) return 2 * keyLen
  const kappas = sums.map((sum, row) => {
    const inView = causal ? Math.min((row % queryLen) + 1, keyLen) : keyLen
    return (2 * inView) / Math.abs(sum)
  })
  return Math.max(1, ...kappas) ** 2
}

/** The largest sum of magnitudes of so many elements that lie side by side. */
function largestSum(values: ArrayLike<number>, count: number): number {
  const sums = new Float64Array(values.length / count)
  Array.from(values).forEach((x, at) => {
    sums[Math.floor(at / count)]! += Math.abs(x)
  })
  return Math.max(...sums)
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

/** A gradient that is off by more of its largest element is wrong, whatever cancellation a bound allows for. */
const LARGEST_ERROR = 2 ** -10

// backends whose forms are all composite, and fast enough for differences
const backends = (await runnableBackends()).filter(name => name === 'cpu' || name === 'tensorflow')

describe.each(backends)(
  'gradients of the composite forms on %s are those of the definition',
  backend => {
    beforeAll(() => useBackend(backend))

    const cases = [...FORMS, ...sample(MORE, 4, 1)]
    for (const given of backend === 'cpu' ? cases : casesOn(backend, cases)) {
      const {ignores = {}} = estimatorNamed(given.method)
      it(`${caseName(given)} ${JSON.stringify(given.options ?? {})}`, () => {
        const {inputs} = hostCase(given)
        const {batch, heads, queryLen, valueDim} = given.sizes
        const cotangent = hostNormals('cotangent', [batch, heads, queryLen, valueDim])
        const bounds = gradientBounds(given, inputs, cotangent)
        for (const side of SIDES) {
          const numeric = numericGradient(given, inputs, side, cotangent)
          if (side in ignores) {
            expect(maxAbs(numeric)).toBe(0)
            expect(() => automaticGradient(given, inputs, side, cotangent)).toThrow(
              /Cannot compute gradient/,
            )
            continue
          }
          const automatic = automaticGradient(given, inputs, side, cotangent)
          const bound = Math.min(bounds[side], LARGEST_ERROR * maxAbs(numeric))
          expect(bound).toBeGreaterThan(0)
          assertWithin(
            `gradient by ${side}`,
            automatic,
            numeric,
            constantBound(numeric.length, bound),
          )
        }
      })
    }
  },
)
