import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {
  type Estimators,
  loadEstimators,
  type MethodName,
} from '../../../../src/attention/estimators/index.js'
import {plainSeconds} from '../../../../src/attention/footprint/index.js'
import type {MeteredBackend} from '../../../../src/attention/footprint/meter.js'
import {plainNanoseconds, REPLACED} from '../../../../src/attention/footprint/plain.js'
import type {SizeCall} from '../../../../src/attention/footprint/shapes.js'
import type {Estimator} from '../../../../src/attention/forms/estimator.js'
import {resolveOptions} from '../../../../src/attention/resolve.js'
import {NATIVE_KERNELS} from '../../../../src/backends/native/kernels/index.js'
import '@tensorflow/tfjs-backend-cpu'

const CALL = 5e3

it('knows every kernel of TensorFlow.js that the native backend replaces', () => {
  const replaced = NATIVE_KERNELS.map(({kernelName}) => kernelName).filter(name =>
    tf.getKernel(name, 'cpu'),
  )
  expect([...REPLACED].sort()).toEqual(replaced.sort())
})

describe('plainNanoseconds', () => {
  const info = (shape: number[], dtype: tf.DataType = 'float32'): tf.TensorInfo => ({
    dataId: {},
    shape,
    dtype,
  })
  const of = (name: string, x: tf.TensorInfo, out: tf.TensorInfo, attrs: object = {}) =>
    plainNanoseconds(name, {inputs: {x}, attrs} as unknown as SizeCall, out) - CALL

  it('counts nothing but the call for what the addon computes', () => {
    expect(of('Exp', info([1000]), info([1000]))).toBe(0)
    expect(of('Sum', info([10, 100]), info([10]), {axis: [1]})).toBe(0)
    expect(of('Max', info([10, 100]), info([100]), {reductionIndices: 0})).toBe(0)
    expect(of('Slice', info([10, 100], 'int32'), info([10, 1], 'int32'))).toBe(0)
    expect(of('Greater', info([10, 100]), info([10, 100], 'bool'))).toBe(0)
    const inputs = {x: info([10, 100]), indices: info([4], 'int32')}
    const gathered = {inputs, attrs: {}} as unknown as SizeCall
    expect(plainNanoseconds('GatherV2', gathered, info([4, 100]))).toBe(CALL)
  })

  it('counts what the addon leaves: other types', () => {
    expect(of('Exp', info([1000], 'int32'), info([1000]))).toBe(1000 * 20)
    expect(of('Sum', info([10, 100], 'int32'), info([100], 'int32'), {axis: [0]})).toBe(1000 * 100)
  })

  it('counts outputs of what gathers, inputs of what reduces', () => {
    expect(of('GatherV2', info([10, 100], 'int32'), info([4, 100], 'int32'))).toBe(400 * 90)
    expect(of('ArgMax', info([10, 100]), info([10]))).toBe(1000 * 5)
  })

  it('counts more where an axis repeats, but not where there is none', () => {
    const of2 = (shape: number[]) => {
      const inputs = {a: info([8, 10, 100]), b: info(shape)}
      const call = {inputs, attrs: {}} as unknown as SizeCall
      return plainNanoseconds('FloorDiv', call, info([8, 10, 100])) - CALL
    }
    expect(of2([8, 1, 100])).toBe(8000 * 140)
    expect(of2([1, 100])).toBe(8000 * 140)
    expect(of2([10, 100])).toBe(8000 * 20)
    expect(of2([])).toBe(8000 * 20)
  })

  it('counts nothing but the call for the same data under another shape', () => {
    const x = info([10, 100])
    expect(of('Slice', x, {...x, shape: [1, 100]})).toBe(0)
    expect(of('Reshape', x, {...x, shape: [1000]})).toBe(0)
  })
})

describe('plainSeconds', () => {
  let estimators: Estimators
  beforeAll(async () => {
    estimators = await loadEstimators()
  })

  /** Of 4 heads of 512 tokens. */
  const seconds = (name: MethodName, changes = {}, backend: MeteredBackend = 'native') => {
    const estimator = estimators[name] as unknown as Estimator
    const sizes = {batch: 1, heads: 4, queryLen: 512, keyLen: 512, headDim: 64, valueDim: 64}
    const shape = {...sizes, numFeatures: 64, causal: false, ...changes}
    return plainSeconds(estimator, resolveOptions(estimator, 'exact'), shape, backend)
  }

  it('is next to nothing for methods that the addon computes', () => {
    const names = ['softmax-online', 'favor-pos', 'elu', 'reformer', 'taylor', 'maclaurin'] as const
    for (const name of names) {
      expect(seconds(name), name).toBeLessThan(2e-3)
    }
  })

  it('is none where one backend computes all', () => {
    expect(seconds('reformer', {}, 'wasm')).toBe(0)
    expect(seconds('reformer', {}, 'cpu')).toBe(0)
  })

  it('is that of the calls, however long the sequence', () => {
    const at = (length: number) => seconds('taylor', {queryLen: length, keyLen: length, heads: 1})
    expect(at(65536)).toBe(at(4096))
  })
})
