/**
 * Memory of one call, found by making it without computing: the estimator runs on tensors that have
 * sizes only, on the kernels of the backend that is meant. What it holds until `tf.tidy` ends is what a
 * real call holds, whatever the method, and no formula has to be kept in step with the code.
 */
import * as tf from '@tensorflow/tfjs-core'
import {RfaError} from '../../errors.js'
import {noiseSpecs} from '../noise.js'
import {usesProjection} from '../resolve.js'
import type {CallShape, Estimator} from '../types.js'
import {FUSED_RULES} from './fused.js'
import {Meter, type MeteredBackend, meterName} from './meter.js'
import {SIZE_RULES, type SizeRule} from './shapes.js'

export type {MeteredBackend} from './meter.js'

/** Sequences up to this length are counted as they are; longer ones follow from shorter ones. */
const LONGEST = 4096
/** Lengths that all tiles and chunks divide. */
const LENGTHS = [1024, 2048, LONGEST] as const
/** The same for batches, whose elements are all alike. */
const BATCHES = [2, 3] as const

/**
 * The most bytes of tensors that one forward call holds at a time: its random arrays, all that it makes on the
 * way, and its output, but not queries, keys and values. Nothing for a call that the method refuses, or that
 * takes an operation whose sizes are not known here.
 *
 * Exact up to 4096 tokens. Beyond, the parabola through the bytes of 1024, 2048 and 4096 tokens: tiles
 * make more operations than could be gone through.
 *
 * @param options - in force, as `resolveOptions` gives them
 */
export function footprint(
  estimator: Estimator,
  options: Record<string, unknown>,
  shape: CallShape,
  backend: MeteredBackend,
): number {
  const {supports} = estimator
  if (!(shape.causal ? supports.causal : supports.bidirectional)) return 0
  if (!supports.cross && shape.queryLen !== shape.keyLen) return 0
  const at = (sizes: CallShape) => ofBatch(estimator, options, sizes, backend)
  const longest = Math.max(shape.queryLen, shape.keyLen)
  if (longest <= LONGEST) return at(shape)
  const known = LENGTHS.map(length => at(shortened(shape, length / longest)))
  return Math.max(known.at(-1)!, through(LENGTHS, known, longest))
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

function ofBatch(
  estimator: Estimator,
  options: Record<string, unknown>,
  shape: CallShape,
  backend: MeteredBackend,
): number {
  const at = (batch: number) => counted(estimator, options, {...shape, batch}, backend)
  if (shape.batch <= BATCHES[1]) return at(shape.batch)
  return through(BATCHES, BATCHES.map(at), shape.batch)
}

/** The value at x of the polynomial through points (Lagrange). */
function through(xs: readonly number[], ys: readonly number[], x: number): number {
  const weight = (i: number) =>
    xs.reduce(
      (product, other, j) => (j === i ? product : (product * (x - other)) / (xs[i]! - other)),
      1,
    )
  return ys.reduce((sum, y, i) => sum + y * weight(i), 0)
}

const known = new Map<string, number>()

function counted(
  estimator: Estimator,
  options: Record<string, unknown>,
  shape: CallShape,
  backend: MeteredBackend,
): number {
  const key = JSON.stringify([estimator.name, options, shape, backend])
  let found = known.get(key)
  if (found === undefined) {
    found = measured(estimator, options, shape, backend)
    known.set(key, found)
  }
  return found
}

function measured(
  estimator: Estimator,
  options: Record<string, unknown>,
  shape: CallShape,
  backend: MeteredBackend,
): number {
  try {
    return onMeter(backend, meter => forward(estimator, options, shape, meter))
  } catch (error) {
    if (error instanceof RfaError) return 0 // the call itself will say why
    if (isUnknownKernel(error)) return 0 // a plan without a figure is better than none
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
): number {
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
    return meter.peak - before
  })
}

/** Numbers in [0, 1) as evenly spread as random ones, for methods that look at what was drawn. */
export function spread(index: number): number {
  return (index * ((Math.sqrt(5) - 1) / 2)) % 1
}

function wrapped<T extends tf.Tensor>(info: tf.TensorInfo, meter: Meter): T {
  return tf.engine().makeTensorFromTensorInfo(info, meter) as T
}

/** Makes a meter the current backend while `body` runs, which must not wait for anything. */
function onMeter<T>(backend: MeteredBackend, body: (meter: Meter) => T): T {
  const name = meterName(backend)
  const before = tf.getBackend() as string | undefined
  const meter = new Meter(backend)
  registerRules(backend)
  tf.registerBackend(name, () => meter)
  try {
    void tf.setBackend(name) // done when it returns: the backend is there
    return body(meter)
  } finally {
    if (before) void tf.setBackend(before)
    tf.removeBackend(name)
  }
}

const registered = new Set<MeteredBackend>()

function registerRules(backend: MeteredBackend): void {
  if (registered.has(backend)) return
  registered.add(backend)
  const rules = {...SIZE_RULES, ...(backend === 'native' && FUSED_RULES)}
  for (const [kernelName, rule] of Object.entries(rules)) {
    tf.registerKernel({kernelName, backendName: meterName(backend), kernelFunc: asKernel(rule)})
  }
}

function asKernel(rule: SizeRule): tf.KernelFunc {
  return ({inputs, attrs, backend}) =>
    rule({
      inputs: inputs as Record<string, tf.TensorInfo>,
      attrs: attrs ?? {},
      meter: backend as Meter,
    })
}
