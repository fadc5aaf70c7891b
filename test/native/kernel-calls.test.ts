import * as tf from '@tensorflow/tfjs-core'
import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {NATIVE_KERNELS} from '../../src/backends/native/kernels/index.js'
import {RfaError} from '../../src/errors.js'
import {gamma, U} from '../helpers/rounding.js'
import {EFFORT} from '../helpers/statistics.js'
import {describeNative} from './addon.js'
import {guarded} from './guards.js'
import {callsOf, type KernelPlan, RIGHT_CALLS, type TensorPlan} from './kernel-calls.js'

const RUNS = 24 * EFFORT

/** What a call gave: outputs, or that it was refused. */
type Outcome = {shape: number[]; dtype: string; data: ArrayLike<number>}[] | {error: unknown}

/** Small whole numbers, so that sums and products are exact in any order. */
function element(i: number): number {
  return ((i * 7) % 5) - 2
}

function makeTensor({shape, dtype, values: given}: TensorPlan): tf.Tensor {
  const size = shape.reduce((product, n) => product * n, 1)
  const values = Array.from({length: size}, (_, i) => given?.[i] ?? element(i))
  if (dtype === 'string') return tf.tensor(values.map(String), shape, dtype)
  if (dtype === 'complex64') {
    const part = tf.tensor(values, shape, 'float32')
    return tf.complex(part, part)
  }
  return tf.tensor(dtype === 'bool' ? values.map(x => (x > 0 ? 1 : 0)) : values, shape, dtype)
}

function outcome({kernel, inputs, attributes}: KernelPlan): Outcome {
  tf.engine().startScope()
  try {
    const tensors = Object.entries(inputs).map(([name, plan]) => [name, makeTensor(plan)])
    const given = Object.fromEntries(tensors) as tf.NamedTensorMap
    const taken = LISTED.has(kernel)
      ? (Object.values(given) as unknown as tf.NamedTensorMap)
      : given
    const result: tf.Tensor | tf.Tensor[] = tf
      .engine()
      .runKernel(kernel, taken, attributes as tf.NamedAttrMap)
    return [result].flat().map(tensor => ({
      shape: tensor.shape,
      dtype: tensor.dtype,
      data: tensor.dtype === 'complex64' ? [] : Array.from(tensor.dataSync()),
    }))
  } catch (error) {
    return {error}
  } finally {
    tf.engine().endScope()
  }
}

/** Kernels that take a list of tensors. */
const LISTED = new Set(['Concat', 'Pack'])

const OF_TENSORFLOW = NATIVE_KERNELS.map(({kernelName}) => kernelName).filter(name =>
  tf.getKernel(name, 'cpu'),
)

/** Axes that stand twice, which TensorFlow.js lets through to kernels that make nothing sensible of them. */
function repeatsAxis({kernel, inputs, attributes}: KernelPlan): boolean {
  const axis = 'axis'
  const reductions = {Sum: axis, Mean: axis, Min: axis, Prod: axis, Max: 'reductionIndices'}
  const name = {Transpose: 'perm', ...reductions}[kernel]
  const axes = name && attributes[name]
  const rank = inputs.x?.shape.length ?? 0
  if (!Array.isArray(axes)) return kernel === 'Transpose'
  const places = new Set(
    axes.map(axis => (kernel === 'Transpose' || axis >= 0 ? axis : axis + rank)),
  )
  if (kernel !== 'Transpose') return places.size < axes.length
  return (
    places.size !== rank ||
    axes.length !== rank ||
    axes.some(a => !(a in [...'012345'].slice(0, rank)))
  )
}

/** The maximum or minimum of nothing: infinite, where the CPU backend says NaN. */
function endOfNothing({kernel, inputs}: KernelPlan): boolean {
  return (kernel === 'Max' || kernel === 'Min') && Boolean(inputs.x?.shape.includes(0))
}

/** Six roundings of an elementary function, and those of a sum of a row of at most six. */
const BOUND = gamma(6 + 6)

function same(actual: Outcome, judge: Outcome): boolean {
  if ('error' in actual || 'error' in judge) return 'error' in actual && 'error' in judge
  return actual.every(({shape, dtype, data}, n) => {
    const wanted = judge[n]!
    if (String(shape) !== String(wanted.shape) || dtype !== wanted.dtype) return false
    return Array.from(data).every((x, i) => {
      const y = wanted.data[i]!
      // sines of the numbers here are at least 0.1; near zero a bound relative to 1 is needed all the same
      return Object.is(x, y) || x === y || Math.abs(x - y) <= BOUND * Math.max(Math.abs(y), 1)
    })
  })
}

describeNative('every kernel', () => {
  it('has calls here', () => {
    expect(Object.keys(RIGHT_CALLS).sort()).toEqual(
      NATIVE_KERNELS.map(({kernelName}) => kernelName).sort(),
    )
    expect(U).toBe(2 ** -24)
  })

  it('refuses a call with an error, without a crash or a write out of bounds', async () => {
    await useBackend('native')
    for (const {kernelName} of NATIVE_KERNELS) {
      fc.assert(
        fc.property(callsOf(kernelName), plan => {
          // guarded throws where a kernel wrote around an output, or left a part unwritten
          const result = guarded(() => outcome(plan))
          const own = !OF_TENSORFLOW.includes(kernelName)
          if (own && 'error' in result) expect(result.error).toBeInstanceOf(RfaError)
        }),
        {numRuns: RUNS, seed: 20260},
      )
    }
  })

  it('takes right calls', async () => {
    await useBackend('native')
    for (const [kernel, calls] of Object.entries(RIGHT_CALLS)) {
      fc.assert(
        fc.property(calls, call => {
          expect(guarded(() => outcome({kernel, ...call}))).not.toHaveProperty('error')
        }),
        {numRuns: RUNS / 4, seed: 20261},
      )
    }
  })

  describe.each(OF_TENSORFLOW)('%s of TensorFlow.js', kernel => {
    it('gives what the CPU backend gives, or refuses where that does', async () => {
      const plans = fc.sample(callsOf(kernel), {numRuns: RUNS, seed: 20262})
      const known = plans.filter(plan => !repeatsAxis(plan) && !endOfNothing(plan))
      await useBackend('cpu')
      const judges = known.map(outcome)
      await useBackend('native')
      known.forEach((plan, i) => {
        const actual = guarded(() => outcome(plan))
        if (!same(actual, judges[i]!))
          expect({plan, outcome: actual}).toEqual({plan, outcome: judges[i]})
      })
    })
  })

  it('refuses axes that stand twice', async () => {
    await useBackend('native')
    const error = expect.objectContaining({code: 'BAD_RANGE'})
    tf.tidy(() => {
      const x = tf.ones([5, 3, 7])
      expect(() => tf.transpose(x, [2, 1, 1])).toThrow(error)
      expect(() => tf.transpose(x, [2, 2, 2])).toThrow(
        /transpose: expected every axis of 3 once, got \[2, 2, 2\]/,
      )
      expect(() => tf.sum(x, [1, 1])).toThrow(error)
      expect(() => tf.sum(x, [2, -1])).toThrow(/sum: expected every axis once, got \[2, 2\]/)
      expect(() => tf.max(x, [2, 2])).toThrow(error)
      expect(tf.transpose(x, [2, 0, 1]).shape).toEqual([7, 5, 3])
      // no axis at all
      const asked = {axis: '', keepDims: true} as unknown as tf.NamedAttrMap
      expect(() => tf.engine().runKernel('Sum', {x: tf.ones([4])}, asked)).toThrow()
    })
  })
})
