import * as tf from '@tensorflow/tfjs-core'
import {afterEach, beforeEach, expect, it} from 'vitest'
import {
  attention,
  type Decoder,
  decoder,
  linearAttention,
  softmaxAttention,
} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {compute} from '../helpers/arrays.js'
import {describeNative} from './addon.js'

/** Takes the memory of an array away, as posting it to another thread does. */
function giveAway(array: tf.TypedArray): void {
  structuredClone(array, {transfer: [array.buffer as ArrayBuffer]})
}

/** Four numbers in memory that can grow and shrink. */
function resizable() {
  type Resizable = ArrayBuffer & {resize(bytes: number): void}
  const make = ArrayBuffer as unknown as new (
    bytes: number,
    o: {maxByteLength: number},
  ) => Resizable
  const buffer = new make(16, {maxByteLength: 64})
  const values = new Float32Array(buffer)
  values.set([1, 2, 3, 4])
  return {buffer, values}
}

const token = (): [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D] => [
  tf.ones([1, 2, 1, 3]),
  tf.ones([1, 2, 1, 3]),
  tf.ones([1, 2, 1, 5]),
]
const TOO_SHORT = {
  code: 'SHAPE_MISMATCH',
  suggestions: [expect.stringContaining('give away a copy')],
}

describeNative('the memory behind a tensor', () => {
  beforeEach(async () => {
    await useBackend('native')
    tf.engine().startScope()
  })
  afterEach(() => tf.engine().endScope())

  const uses: [string, (x: tf.Tensor4D) => unknown][] = [
    ['a function of each element', x => tf.exp(x)],
    ['a sum with another', x => tf.add(tf.ones([1, 2, 3, 5]), x)],
    ['a product', x => tf.matMul(x, tf.ones([1, 2, 5, 3]))],
    [
      'a product with a bias',
      x => {
        const [a, b] = [tf.ones<tf.Rank.R2>([2, 3]), tf.ones<tf.Rank.R2>([3, 30])]
        return tf.fused.matMul({a, b, bias: tf.reshape(x, [30])})
      },
    ],
    ['a reduction', x => tf.sum(x, -1)],
    ['softmax', x => tf.softmax(x)],
    ['a transposition', x => tf.transpose(x)],
    ['a kernel of the CPU backend', x => tf.gather(x, [0], 3)],
    ['a reduction that the CPU backend makes', x => tf.max(x, 0)],
    ['a reshaped form of it', x => tf.square(tf.reshape(x, [5, 6]))],
    ['queries', x => softmaxAttention(x, tf.ones([1, 2, 3, 5]), tf.ones([1, 2, 3, 5]))],
    ['keys', x => linearAttention(tf.ones([1, 2, 3, 5]), x, tf.ones([1, 2, 3, 5]))],
    ['values', x => attention(tf.ones([1, 2, 3, 5]), tf.ones([1, 2, 3, 5]), x, {method: 'rfa'})],
  ]
  it.each(uses)('is missed where it was given away: %s', (_title, use) => {
    const x: tf.Tensor4D = tf.ones([1, 2, 3, 5])
    giveAway(x.dataSync())
    expect(() => use(x)).toThrow(
      expect.objectContaining({
        ...TOO_SHORT,
        message: expect.stringMatching(/^native: expected memory of 30 elements behind .*, got 0$/),
      }),
    )
  })

  it('is missed behind masks, biases and gates', () => {
    const x: tf.Tensor4D = tf.ones([1, 2, 3, 5])
    // of truth values dataSync gives a copy
    for (const dtype of ['float32', 'int32'] as const) {
      const keyMask: tf.Tensor2D = tf.ones([1, 3], dtype)
      giveAway(keyMask.dataSync())
      expect(() => softmaxAttention(x, x, x, {keyMask})).toThrow(expect.objectContaining(TOO_SHORT))
    }
    const row: tf.Tensor3D = tf.ones([1, 2, 3])
    giveAway(row.dataSync())
    const error = expect.objectContaining(TOO_SHORT)
    expect(() => softmaxAttention(x, x, x, {keyBias: row})).toThrow(error)
    expect(() => linearAttention(x, x, x, {causal: true, logGate: row})).toThrow(error)
    expect(() => linearAttention(x, x, x, {keyLogWeight: row})).toThrow(error)
    const projection: tf.Tensor2D = tf.ones([7, 5])
    giveAway(projection.dataSync())
    expect(() => attention(x, x, x, {method: 'rfa', projection})).toThrow(error)
  })

  it('is measured anew when it shrinks', () => {
    const {buffer, values} = resizable()
    const x = tf.tensor2d(values, [2, 2])
    expect(compute(() => tf.square(x))).toEqual(Float32Array.of(1, 4, 9, 16))
    buffer.resize(8)
    expect(() => tf.square(x)).toThrow(/memory of 4 elements behind a tensor of \[2, 2\], got 2/)
    buffer.resize(16)
    expect(compute(() => tf.square(x))).toEqual(Float32Array.of(1, 4, 0, 0))
  })

  it('may be shared with threads, part of a larger array, or of another type', () => {
    const shared = new Float32Array(new SharedArrayBuffer(16))
    shared.set([1, 2, 3, 4])
    expect(compute(() => tf.square(tf.tensor1d(shared)))).toEqual(Float32Array.of(1, 4, 9, 16))
    const part = Float32Array.of(9, 1, 2, 3, 9).subarray(1, 4)
    expect(compute(() => tf.square(tf.tensor1d(part)))).toEqual(Float32Array.of(1, 4, 9))
    const cast = (x: tf.Tensor) => compute(() => tf.square(tf.cast(x, 'float32')))
    expect(cast(tf.tensor1d([1, 2, 3], 'int32'))).toEqual(Float32Array.of(1, 4, 9))
    expect(cast(tf.tensor1d([true, false], 'bool'))).toEqual(Float32Array.of(1, 0))
  })

  it('is no larger than a tensor says it is', () => {
    const {dataId} = tf.ones([4])
    const liar = {dataId, shape: [4, 1000], dtype: 'float32'} as unknown as tf.Tensor
    expect(() => tf.engine().runKernel('Exp', {x: liar})).toThrow(
      expect.objectContaining(TOO_SHORT),
    )
  })

  it('is gone with a disposed tensor', () => {
    const x = tf.ones([4])
    x.dispose()
    const error = expect.objectContaining({
      code: 'BAD_OPTION',
      message: 'native: expected a tensor in use, got a disposed one',
    })
    expect(() => tf.exp(x)).toThrow(error)
    expect(() => tf.cumsum(x)).toThrow(error)
  })

  const states: [string, () => Decoder][] = [
    ['sums', () => decoder({method: 'rfa', heads: 2, headDim: 3, valueDim: 5, numFeatures: 7})],
    ['sums of logarithms', () => decoder({method: 'favor-pos', heads: 2, headDim: 3, valueDim: 5})],
  ]
  it.each(states)('is missed by decoders: %s', (_title, make) => {
    for (const name of Object.keys(make().state)) {
      const steps = make()
      steps.next(...token())
      giveAway(steps.state[name]!.dataSync())
      expect(() => steps.next(...token())).toThrow(expect.objectContaining(TOO_SHORT))
    }
  })

  it('is where it was after a visit to another backend, or the step follows it', async () => {
    const steps = decoder({method: 'mean-value', heads: 2, headDim: 3, valueDim: 5})
    const values = (x: number): [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D] => {
      const [query, key] = token()
      return [query, key, tf.fill([1, 2, 1, 5], x)]
    }
    steps.next(...values(1))
    const sums = () => compute(() => tf.mul(steps.state.state!, 1))
    await useBackend('wasm')
    expect(sums()).toEqual(new Float32Array(10).fill(1))
    await useBackend('native')
    steps.next(...values(2))
    expect(sums()).toEqual(new Float32Array(10).fill(3))
    await useBackend('wasm')
    expect(sums()).toEqual(new Float32Array(10).fill(3))
    await useBackend('native')
    const out = steps.next(...values(6))
    expect(compute(() => tf.clone(out))).toEqual(new Float32Array(10).fill(3))
  })

  it('is looked at again by a step with other state under the same attributes', () => {
    const attributes = {batch: 1, heads: 2, headDim: 3, valueDim: 5, scale: 1, length: 0}
    const [query, key, value] = token()
    const step = (rows: number) => {
      const caches = {keyCache: tf.zeros([1, 2, rows, 3]), valueCache: tf.zeros([1, 2, rows, 5])}
      tf.engine().runKernel('CacheDecode', {query, key, value, ...caches}, attributes)
      return caches
    }
    for (const {keyCache} of [step(4), step(2)]) expect(tf.max(keyCache).arraySync()).toBe(1)
    attributes.heads = 1
    expect(() => step(4)).toThrow(/decoder: expected keyCache \[1, 1, 4, 3\], got \[1, 2, 4, 3\]/)
  })
})

describeNative('a token of a decoder', () => {
  beforeEach(async () => {
    await useBackend('native')
    tf.engine().startScope()
  })
  afterEach(() => tf.engine().endScope())

  const tokens = () => {
    const steps = decoder({method: 'mean-value', heads: 2, headDim: 3, valueDim: 5})
    return Array.from({length: 5}, () => steps.next(...token()))
  }

  it('shows whoever reads it a buffer of its own', () => {
    const [first, second] = tokens()
    expect(first!.dataSync().buffer.byteLength).toBe(40)
    expect(second!.dataSync().buffer).not.toBe(first!.dataSync().buffer)
    expect(second!.dataSync()).toBe(second!.dataSync())
  })

  it('shows no other in a part of it', () => {
    const [first] = tokens()
    const half = tf.slice(first!, [0, 1, 0, 0], [1, 1, 1, 5])
    expect(half.dataSync().buffer.byteLength).toBeLessThanOrEqual(40)
    expect([...half.dataSync()]).toEqual([1, 1, 1, 1, 1])
  })

  it('can be given away alone', () => {
    const all = tokens()
    giveAway(all[1]!.dataSync())
    for (const n of [0, 2, 3, 4])
      expect(compute(() => tf.neg(all[n]!))).toEqual(new Float32Array(10).fill(-1))
    expect(() => tf.neg(all[1]!)).toThrow(expect.objectContaining(TOO_SHORT))
  })
})
