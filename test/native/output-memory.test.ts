import * as tf from '@tensorflow/tfjs-core'
import {afterEach, beforeEach, expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {hostLoops} from '../../src/host-loops.js'
import {describeNative} from './addon.js'

const LENGTH = 2048
/** Ones from a kernel of the addon. */
const ones = () => tf.exp(tf.zeros([LENGTH]))
/** Outputs that would overwrite memory that is taken for free too early. */
const overwrite = () => {
  for (let i = 0; i < 8; i++) tf.square(tf.fill([LENGTH], 3))
}
const allOnes = (values: ArrayLike<number>) => Array.from(values).every(value => value === 1)

describeNative('memory of disposed outputs', () => {
  beforeEach(async () => {
    await useBackend('native')
    tf.engine().startScope()
  })
  afterEach(() => tf.engine().endScope())

  it('is that of the next output of the size', () => {
    const first = ones()
    const {dataId} = first
    const backend = tf.backend() as unknown as {data: {get(id: object): {values: Float32Array}}}
    const {values} = backend.data.get(dataId)
    first.dispose()
    expect(backend.data.get(tf.square(tf.zeros([LENGTH])).dataId).values).toBe(values)
  })

  it('is that of the next output once views of it are gone, too', () => {
    const first = ones()
    const {dataId} = first
    const backend = tf.backend() as unknown as {data: {get(id: object): {values: Float32Array}}}
    const {values} = backend.data.get(dataId)
    const views = [tf.reshape(first, [2, LENGTH / 2]), tf.expandDims(first), first.clone()]
    tf.dispose([first, ...views])
    expect(backend.data.get(tf.square(tf.zeros([LENGTH])).dataId).values).toBe(values)
  })

  const holders: [string, (x: tf.Tensor1D) => () => ArrayLike<number>][] = [
    [
      'who has read it',
      x => {
        const values = x.dataSync()
        return () => values
      },
    ],
    [
      'a buffer of it',
      x => {
        const {values} = x.bufferSync()
        return () => values
      },
    ],
    [
      'another tensor of its data',
      x => {
        const other = tf.reshape(x, [2, LENGTH / 2])
        return () => other.dataSync()
      },
    ],
    [
      'a clone',
      x => {
        const other = x.clone()
        return () => other.dataSync()
      },
    ],
    [
      'a tensor over a part of it',
      x => {
        const part = tf.slice(x, 1, LENGTH - 2)
        return () => part.dataSync()
      },
    ],
    [
      'a variable',
      x => {
        const variable = tf.variable(x)
        return () => {
          const values = variable.dataSync()
          variable.dispose()
          return values
        }
      },
    ],
  ]
  it.each(holders)('stays as it is for %s', (_name, hold) => {
    const x = ones() as tf.Tensor1D
    const read = hold(x)
    x.dispose()
    overwrite()
    expect(read()).toSatisfy(allOnes)
  })

  it('is that of the next output once who has read it gives it back', () => {
    const {recycle} = hostLoops()
    const x = ones()
    const values = x.dataSync() as Float32Array
    x.dispose()
    recycle!(values)
    expect(tf.square(tf.fill([LENGTH], 3)).dataSync()).toBe(values)
    expect(values[0]).toBe(9)
  })

  it('is left alone where it is not an output of the backend', () => {
    const given = new Float32Array(LENGTH).fill(1)
    tf.tensor1d(given).dispose()
    hostLoops().recycle!(given)
    hostLoops().recycle!((ones().dataSync() as Float32Array).subarray(1))
    overwrite()
    expect(given).toSatisfy(allOnes)
  })

  it('stays as it is for who reads it later', async () => {
    const x = ones()
    const data = x.data()
    x.dispose()
    overwrite()
    expect(await data).toSatisfy(allOnes)
  })

  it('stays as it is when the tensor moves to another backend', async () => {
    const x = tf.keep(ones())
    await useBackend('cpu')
    const twice = tf.add(x, x)
    await useBackend('native')
    overwrite()
    expect(Array.from(twice.dataSync()).every(value => value === 2)).toBe(true)
    expect(x.dataSync()).toSatisfy(allOnes)
    x.dispose()
  })
})
