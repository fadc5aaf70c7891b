/** Gradients of attention against central differences. */
import type {HostArray} from '../../attention/index.js'
import {attendCall, attendInputs, noiseSpecs} from '../../attention/internal.js'
import {estimatorNamed} from '../../attention/names.js'
import {registerGradients, tf} from '../../tf.js'
import {
  compute,
  type HostArrays,
  type HostInputs,
  maskTensor,
  namedTensors,
  type Sizes,
  toTensor,
  toTensors,
} from '../calls/arrays.js'
import {
  type Call,
  formOf,
  hostCall,
  optionsOf,
  runCall,
  toCalibration,
  toProjection,
} from '../calls/call.js'
import {arrayOf, callOf, formsOf, placeOf, square} from '../calls/forms.js'
import {boundedOutput} from '../calls/output-bound.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'
import {calibrated} from './causality.js'
import {movesInSteps} from './numerics.js'

const SIZES: Sizes = {
  batch: 1,
  heads: 1,
  queryLen: 3,
  keyLen: 4,
  headDim: 3,
  valueDim: 2,
  numFeatures: 5,
}

/** Signed weights need enough features that sums do not vanish. */
const SIGNED_FEATURES = 31

/** Numbers that a failure is tried on. */
const ATTEMPTS = 3

/** Half-widths of differences, the largest first. */
const WIDTHS = Array.from({length: 10}, (_, i) => 2 ** -(3 + i))

/** A difference that may be off by more of the largest one is left out: it decides nothing. */
const DECIDES = 1 / 4

const SIDES = ['query', 'key', 'value'] as const
type Side = (typeof SIDES)[number]

const ADVICE =
  'operations without a gradient (argmax, floor, comparisons), values read by dataSync, and tf.customGrad'

/**
 * The gradient of `sum out * c` by each number of queries, keys and values.
 *
 * Central differences D(h) of widths h and 2h make `D4 = (4 D(h) - D(2h)) / 3`. Its error is what it leaves out, at
 * most its distance from the differences of widths up to h (the narrowest leave out least), plus the rounding of
 * the two sums, `1.5 delta / h`, with delta the bound on a sum (output-bound.ts). The width with the smallest total
 * counts. This is too strict where a function has a kink closer than the narrowest width: with five rectified
 * features in one call of 30. So a check fails only if it fails on three different sets of numbers.
 */
async function gradients(subject: Subject): Promise<Finding> {
  const {stepwise} = subject.estimator
  if (stepwise !== undefined) return notApplicable(movesInSteps(stepwise))
  for (let attempt = 1; ; attempt++) {
    const found = await compareGradients({...subject, seed: subject.seed + attempt})
    if (found.status !== 'failed' || attempt === ATTEMPTS) return found
  }
}

interface Compared extends Pick<Call, 'masked' | 'options'> {
  /** Tokens of both sides. Default: a few, and of either side another number. */
  length?: number
  /** Tokens of the slopes that are compared, and rows of the output that these are of. Default: all. */
  tokens?: readonly number[]
}

/** Compares both in every form. */
export async function compareGradients(
  subject: Subject,
  {length, tokens, ...rest}: Compared = {},
): Promise<Finding> {
  await registerGradients()
  const {nonNegative, ignores = {}} = subject.estimator
  const tally = new Tally(ADVICE)
  const few = nonNegative ? SIZES : {...SIZES, numFeatures: SIGNED_FEATURES}
  const sizes = length === undefined ? few : square(few, length)
  for (const {causal, name} of formsOf(subject)) {
    const inputScale = nonNegative ? 0.7 : 0.4
    const given = calibrated(subject, callOf(subject, sizes, {causal, inputScale, ...rest}))
    for (const side of SIDES) {
      if (side in ignores) continue
      const {heads, queryLen, valueDim} = given.sizes
      const drawn = arrayOf(subject, 'cotangent', [1, heads, queryLen, valueDim])
      const cotangent = {
        ...drawn,
        data: drawn.data.map((x, at) => (isOf(at, drawn, tokens) ? x : 0)),
      }
      const numeric = differences(given, side, cotangent, tokens)
      const label = `${name}, gradient by ${side}`
      const automatic = automaticGradient(given, side, cotangent)
      tally.compare({
        label,
        actual: automatic,
        expected: numeric.value,
        bound: numeric.error,
        says: at =>
          `tf.grad gives ${automatic[at]!.toPrecision(3)} for ${elementOf(at, side, given)}, differences give ${numeric.value[at]!.toPrecision(3)}`,
      })
    }
  }
  return tally.finding()
}

/** `query of token 3 (batch 0, head 1, column 2)`. */
function elementOf(at: number, side: Side, {sizes}: Call): string {
  const {queryLen, keyLen, headDim, valueDim} = sizes
  const tokens = side === 'query' ? queryLen : keyLen
  const columns = side === 'value' ? valueDim : headDim
  const place = placeOf(at, {...sizes, queryLen: tokens, valueDim: columns})
  return `${side} ${place.replace('row', 'of token')}`
}

/** Whether an element is of one of these tokens. */
function isOf(at: number, {shape}: HostArray, tokens: readonly number[] | undefined): boolean {
  const [, , length, width] = shape
  return tokens === undefined || tokens.includes(Math.floor(at / width) % length)
}

/** Derivatives by each number of one side, with how far each may be off; all differences are one call's batch. */
function differences(
  given: Call,
  side: Side,
  cotangent: HostArray,
  tokens: readonly number[] | undefined,
) {
  const array = hostCall(given).inputs[side]
  const {data} = array
  const moved = Array.from(data.keys()).filter(at => isOf(at, array, tokens))
  const steps = moved.flatMap(at =>
    WIDTHS.flatMap(width => [
      {at, by: width},
      {at, by: -width},
    ]),
  )
  const sums = lossesAt(given, side, cotangent, steps)
  const delta = lossBound(given, cotangent)
  const value = new Float64Array(data.length)
  const error = new Float64Array(data.length).fill(Infinity)
  moved.forEach((at, step) => {
    const slopes = WIDTHS.map((width, i) => {
      const from = 2 * (step * WIDTHS.length + i)
      return (sums[from]! - sums[from + 1]!) / (2 * width)
    })
    WIDTHS.slice(1).forEach((width, i) => {
      const [wide, ...narrower] = slopes.slice(i)
      const fourth = (4 * narrower[0]! - wide!) / 3
      const leftOut = Math.max(...narrower.map(slope => Math.abs(fourth - slope)))
      const off = leftOut + (1.5 * delta) / width
      if (off < error[at]!) {
        value[at] = fourth
        error[at] = off
      }
    })
  })
  const largest = value.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
  return {value, error: error.map(each => (each <= DECIDES * largest ? each : Infinity))}
}

/** How far the sum may be off, by the bounds on its terms. */
function lossBound(given: Call, {data}: HostArray): number {
  const {bound} = boundedOutput(given)
  return bound.reduce((sum, each, at) => sum + each * Math.abs(data[at]!), 0)
}

/** The sum for inputs with one number moved: each is an element of one batch. */
function lossesAt(
  given: Call,
  side: Side,
  cotangent: HostArray,
  steps: readonly {at: number; by: number}[],
): Float64Array {
  const {inputs, noise, keyMask} = hostCall(given)
  const batch = steps.length
  const tiled = <A extends HostArrays[string]>({shape, data}: A): A =>
    ({shape: shape.with(0, batch), data: repeated(data, batch)}) as unknown as A
  const all = {query: tiled(inputs.query), key: tiled(inputs.key), value: tiled(inputs.value)}
  const moved = all[side].data
  steps.forEach(({at, by}, i) => {
    moved[i * inputs[side].data.length + at]! += by
  })
  const {calibration, causal = false} = given
  const specs = noiseSpecs(estimatorNamed(given.method), {...given.sizes, causal}, optionsOf(given))
  const {out} = runCall({
    ...given,
    sizes: {...given.sizes, batch},
    inputs: all as HostInputs,
    ...(keyMask && {keyMask: repeated(keyMask, batch)}),
    noise: Object.fromEntries(
      Object.entries(noise).map(([name, one]) => [name, specs[name]?.shared ? one : tiled(one)]),
    ),
    ...(calibration && {
      calibration: {query: tiled(calibration.query), key: tiled(calibration.key)},
    }),
  })
  const size = out.length / batch
  return Float64Array.from(steps, (_, i) => {
    let sum = 0
    for (let at = 0; at < size; at++) sum += out[i * size + at]! * cotangent.data[at]!
    return sum
  })
}

function repeated(data: ArrayLike<number>, times: number): Float32Array {
  const out = new Float32Array(times * data.length)
  for (let i = 0; i < times; i++) out.set(data, i * data.length)
  return out
}

/** The gradient of the sum by one side, as TensorFlow.js forms it. */
function automaticGradient(given: Call, side: Side, cotangent: HostArray): Float32Array {
  const {inputs, projection, noise, keyMask} = hostCall(given)
  const {method, causal = false, sizes, calibration, options: chosen} = given
  return compute(() => {
    const rows = projection && {projection: toProjection(projection, sizes.headDim)}
    const statistics = calibration && {calibration: toCalibration(calibration)}
    const options = {
      ...{method, ...formOf(causal, inputs), numFeatures: sizes.numFeatures},
      ...{noise: namedTensors<tf.Tensor4D>(noise), ...rows, ...statistics, ...chosen},
      ...(keyMask && {keyMask: maskTensor(keyMask, sizes.batch)}),
    }
    const weights = toTensor(cotangent)
    const [query, key, value] = toTensors(inputs)
    const sides = {query, key, value}
    const loss = (x: tf.Tensor) => {
      const own = {...sides, [side]: x}
      const call = attendInputs(own.query, own.key, own.value, options)
      return tf.sum(tf.mul(attendCall(call.estimator, call.inputs).out, weights)) as tf.Scalar
    }
    return tf.grad(loss)(sides[side])
  })
}

export const GRADIENTS: readonly Check[] = [{name: 'gradients', group: 'gradients', run: gradients}]
