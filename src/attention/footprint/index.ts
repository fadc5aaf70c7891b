/**
 * Memory of one call, and its time in plain JavaScript, found by making it without computing: the estimator runs on tensors that have
 * sizes only, on the kernels of the backend that is meant. What it holds until `tf.tidy` ends is what a
 * real call holds, whatever the method, and no formula has to be kept in step with the code.
 */

import {RfaError} from '../../errors.js'
import {tf} from '../../tf.js'
import {type Estimator, supportsOf} from '../forms/estimator.js'
import {noiseSpecs} from '../forms/noise.js'
import {usesProjection} from '../resolve.js'
import type {CallShape} from '../types.js'
import {FUSED_RULES} from './fused.js'
import {Meter, type MeteredBackend, meterName} from './meter.js'
import {plainNanoseconds} from './plain.js'
import {SIZE_RULES, type SizeRule} from './shapes.js'

export type {MeteredBackend} from './meter.js'

/** Lengths that all tiles and chunks divide, and squares among them: longer sequences follow from these. */
const LENGTHS = [1024, 2048, 4096] as const
/** How often they are doubled at most, for calls of many features: operations grow with them. */
const DOUBLINGS = 2
/** Numbers of elements that larger batches follow from: elements are all alike. */
const BATCHES = [2, 3] as const
/** Numbers of features that larger ones follow from. */
const FEATURES = [2 ** 15, 2 ** 16] as const

/** What is counted of a call. */
interface Counts {
  /** The most that it holds at a time. */
  bytes: number
  /** Time of the operations that the backend `native` leaves to plain JavaScript. */
  plainNanoseconds: number
}

/** A call as it is counted. */
type Counted = [
  estimator: Estimator,
  options: Record<string, unknown>,
  shape: CallShape,
  backend: MeteredBackend,
]

/**
 * The most bytes of tensors that one forward call holds at a time: its random arrays, intermediate results and
 * output, but not queries, keys and values. Nothing for a call that the method refuses, or that uses an operation
 * with unknown sizes.
 *
 * Exact up to 4096 tokens. Longer calls have too many tiles to go through, so their size is extrapolated from 1024,
 * 2048 and 4096 tokens. Some methods have no more landmarks than tokens: the three lengths are doubled, at most
 * twice, until none is below the number of features, and a length that still is, or that the method refuses, is
 * left out. A parabola goes through three lengths. With two lengths, or where the parabola bends downwards, a line
 * goes through the longest two. A single value is taken as it is.
 *
 * @param options - in force, as `resolveOptions` gives them
 */
export function footprint(...call: Counted): number {
  return countOf('bytes', ...call)
}

/**
 * Seconds that one forward call on the backend `native` spends in operations that run in plain JavaScript on one
 * thread, and in calling operations: by measured times per entry, whatever the machine. Nothing on other backends.
 * Lengths as in {@link footprint}.
 *
 * @param options - in force, as `resolveOptions` gives them
 */
export function plainSeconds(...call: Counted): number {
  const [, , , backend] = call
  return backend === 'native' ? countOf('plainNanoseconds', ...call) / 1e9 : 0
}

function countOf(figure: keyof Counts, ...[estimator, options, shape, backend]: Counted): number {
  const supports = supportsOf(estimator, options)
  if (!(shape.causal ? supports.causal : supports.bidirectional)) return 0
  if (!supports.cross && shape.queryLen !== shape.keyLen) return 0
  const at = (sizes: CallShape) => ofFeatures(figure, estimator, options, sizes, backend)
  const longest = Math.max(shape.queryLen, shape.keyLen)
  const lengths = lengthsFor(shape.numFeatures)
  if (longest <= lengths.at(-1)!) return at(shape) ?? 0
  const points = lengths.flatMap(length => {
    const count = at(shortened(shape, length / longest))
    return count === undefined ? [] : [{x: length, y: count}]
  })
  return points.length === 0 ? 0 : extrapolated(points, longest)
}

/** Lengths to follow from, the last two always. */
function lengthsFor(numFeatures: number): number[] {
  const doublings = Math.max(0, Math.ceil(Math.log2(numFeatures / LENGTHS[0])))
  const lengths = LENGTHS.map(length => length * 2 ** Math.min(doublings, DOUBLINGS))
  return lengths.filter((length, i) => length >= numFeatures || i > 0)
}

interface Point {
  x: number
  y: number
}

/** What is counted beyond the last of up to three points. */
function extrapolated(points: readonly Point[], x: number): number {
  const line = through(points.slice(-2), x)
  return points.length < 3 ? line : Math.max(line, through(points, x))
}

/** Axes that are as long as the sequence, times a factor. */
function shortened(shape: CallShape, factor: number): CallShape {
  const short = (size: number) => Math.max(1, Math.round(size * factor))
  const {queryLen, keyLen, valueDim} = shape
  const identity = valueDim === keyLen // values that read out the weights
  return {
    ...shape,
    queryLen: short(queryLen),
    keyLen: short(keyLen),
    valueDim: identity ? short(valueDim) : valueDim,
  }
}

/** What is counted at many features grows with them in proportion: their tiles would be millions of operations. */
function ofFeatures(
  figure: keyof Counts,
  ...[estimator, options, shape, backend]: Counted
): number | undefined {
  const at = (numFeatures: number) =>
    ofBatch(figure, estimator, options, {...shape, numFeatures}, backend)
  if (shape.numFeatures <= FEATURES[1]) return at(shape.numFeatures)
  const points = FEATURES.flatMap(count => {
    const counted = at(count)
    return counted === undefined ? [] : [{x: count, y: counted}]
  })
  return points.length === 0 ? undefined : through(points, shape.numFeatures)
}

function ofBatch(
  figure: keyof Counts,
  ...[estimator, options, shape, backend]: Counted
): number | undefined {
  const at = (batch: number) => counted(estimator, options, {...shape, batch}, backend)?.[figure]
  if (shape.batch <= BATCHES[1]) return at(shape.batch)
  const points = BATCHES.flatMap(batch => {
    const count = at(batch)
    return count === undefined ? [] : [{x: batch, y: count}]
  })
  return points.length === 0 ? undefined : through(points, shape.batch)
}

/** The value at x of the polynomial through points (Lagrange). */
function through(points: readonly Point[], x: number): number {
  const weight = (point: Point) =>
    points.reduce(
      (product, other) =>
        other === point ? product : (product * (x - other.x)) / (point.x - other.x),
      1,
    )
  return points.reduce((sum, point) => sum + point.y * weight(point), 0)
}

const counts = new Map<string, Counts | undefined>()

/** Estimators that are not called to be counted. */
const uncounted = new Set<string>()

/** Has estimators of these names not called for counting any more: one may end the process, or never come back. */
export function leaveUncounted(names: readonly string[]): void {
  for (const name of names) uncounted.add(name)
}

function counted(...[estimator, options, shape, backend]: Counted): Counts | undefined {
  if (uncounted.has(estimator.name)) return undefined
  const key = JSON.stringify([estimator.name, options, shape, backend])
  if (!counts.has(key)) counts.set(key, measured(estimator, options, shape, backend))
  return counts.get(key)
}

/** Counts of one call, if they can be found. */
function measured(...[estimator, options, shape, backend]: Counted): Counts | undefined {
  try {
    return onMeter(backend, meter => forward(estimator, options, shape, meter))
  } catch (error) {
    if (error instanceof RfaError) return undefined // the call itself will say why
    if (isUnknownKernel(error)) return undefined // a plan without a figure is better than none
    throw error
  }
}

/** Whether the call came to an operation of TensorFlow.js that no rule is here for. */
function isUnknownKernel(error: unknown): boolean {
  return error instanceof Error && /^Kernel '.*' not registered/.test(error.message)
}

/** One call on the meter. */
function forward(
  estimator: Estimator,
  options: Record<string, unknown>,
  shape: CallShape,
  meter: Meter,
): Counts {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures, causal} = shape
  const inputScale = estimator.inputs(options) === 'raw' ? 1 : headDim ** -0.25
  const tensor = <T extends tf.Tensor>(sizes: number[]): T =>
    wrapped<T>(meter.allocate(sizes), meter)
  return tf.tidy(() => {
    const query = tensor<tf.Tensor4D>([batch, heads, queryLen, headDim])
    const key = tensor<tf.Tensor4D>([batch, heads, keyLen, headDim])
    const value = tensor<tf.Tensor4D>([batch, heads, keyLen, valueDim])
    const before = meter.held
    const noise = Object.entries(noiseSpecs(estimator, shape, options)).map(
      ([name, {rows, columns, shared}]) => {
        const sizes = [shared ? 1 : batch, heads, rows, columns]
        return [name, wrapped(meter.allocate(sizes, 'float32', spread), meter)] as const
      },
    )
    estimator.attend({
      ...{query, key, value, inputScale, causal, numFeatures, options},
      noise: Object.fromEntries(noise) as Record<string, tf.Tensor4D>,
      parameters: {},
      ...(usesProjection(estimator, options) && {
        projection: tensor<tf.Tensor3D>([heads, numFeatures, headDim]),
      }),
    })
    return {bytes: meter.peak - before, plainNanoseconds: meter.plainNanoseconds}
  })
}

/** Numbers in [0, 1) as evenly spread as random ones, for methods that look at what was drawn. */
export function spread(index: number): number {
  return (index * ((Math.sqrt(5) - 1) / 2)) % 1
}

function wrapped<T extends tf.Tensor>(info: tf.TensorInfo, meter: Meter): T {
  return tf.engine().makeTensorFromTensorInfo(info, meter) as T
}

let current: Meter | undefined

/** Makes a meter the current backend while `body` runs, which must not wait for anything. */
function onMeter<T>(backend: MeteredBackend, body: (meter: Meter) => T): T {
  if (current?.stands === backend) {
    current.restart()
    return body(current)
  }
  const name = meterName(backend)
  const [before, outer] = [tf.getBackend() as string | undefined, current]
  const meter = new Meter(backend)
  registerRules(backend)
  tf.registerBackend(name, () => meter)
  try {
    void tf.setBackend(name) // done when it returns: the backend is there
    current = meter
    return body(meter)
  } finally {
    current = outer
    if (before) void tf.setBackend(before)
    tf.removeBackend(name)
  }
}

/**
 * Keeps one meter for all calls that `body` counts. To change backends TensorFlow.js goes through every kernel, which takes longer
 * than counting a call.
 *
 * @param body - counts only: it computes nothing, and must not wait for anything
 */
export function countingOn<T>(backend: MeteredBackend, body: () => T): T {
  return onMeter(backend, body)
}

const registered = new Set<MeteredBackend>()

function registerRules(backend: MeteredBackend): void {
  if (registered.has(backend)) return
  registered.add(backend)
  const rules = {...SIZE_RULES, ...(backend === 'native' && FUSED_RULES)}
  for (const [kernelName, rule] of Object.entries(rules)) {
    tf.registerKernel({
      kernelName,
      backendName: meterName(backend),
      kernelFunc: asKernel(kernelName, rule),
    })
  }
}

function asKernel(kernelName: string, rule: SizeRule): tf.KernelFunc {
  const fused = kernelName in FUSED_RULES
  return ({inputs, attrs, backend}) => {
    const meter = backend as Meter
    const call = {inputs: inputs as Record<string, tf.TensorInfo>, attrs: attrs ?? {}, meter}
    const made = rule(call)
    if (!fused) meter.plainNanoseconds += plainNanoseconds(kernelName, call, made)
    return made
  }
}
