/** The engines of this package: one case on one backend, ready to be timed. */
import * as tf from '@tensorflow/tfjs-core'
import {attention, drawProjection, recordOperations, useBackend} from '../dist/src/index.js'
import {normals, randomStream} from '../dist/src/random/index.js'

/** Standard normal values, the same for the same name. */
export function draw(name, size) {
  return Float32Array.from(normals(randomStream(0, `bench.kernels.${name}`), size))
}

const OPERATIONS = {
  matMulWide: () => {
    const a = tf.tensor3d(draw('a', 8 * 2048 * 64), [8, 2048, 64])
    const b = tf.tensor3d(draw('b', 8 * 64 * 2048), [8, 64, 2048])
    return {tensors: [a, b], run: () => tf.matMul(a, b)}
  },
  matMulDeep: () => {
    const a = tf.tensor3d(draw('c', 8 * 2048 * 2048), [8, 2048, 2048])
    const b = tf.tensor3d(draw('b', 8 * 64 * 2048), [8, 2048, 64])
    return {tensors: [a, b], run: () => tf.matMul(a, b)}
  },
  exp: () => elementwise(tf.exp),
  sin: () => elementwise(tf.sin),
  addRow: () => {
    const row = tf.tensor1d(draw('row', 1024))
    const {tensors} = elementwise(tf.exp)
    return {tensors: [...tensors, row], run: () => tf.add(tensors[0], row)}
  },
  softmax: () => elementwise(tf.softmax),
  transpose: () => {
    const x = tf.tensor3d(draw('a', 8 * 2048 * 64), [8, 2048, 64])
    return {tensors: [x], run: () => tf.transpose(x, [0, 2, 1])}
  },
}

function elementwise(operation) {
  const x = tf.tensor2d(draw('x', 2 ** 20), [1024, 1024])
  return {tensors: [x], run: () => operation(x)}
}

function attentionCall({method, heads, length, headDim, numFeatures, causal}) {
  const shape = [1, heads, length, headDim]
  const size = heads * length * headDim
  const [query, key, value] = ['query', 'key', 'value'].map(name =>
    tf.tensor4d(draw(name, size), shape),
  )
  const options = {method, causal}
  const tensors = [query, key, value]
  if (method !== 'elu' && method !== 'softmax-online') {
    const rows = drawProjection({name: 'orth', heads, numFeatures, headDim, seed: 0})
    options.projection = tf.tensor3d(Float32Array.from(rows), [heads, numFeatures, headDim])
    tensors.push(options.projection)
  }
  return {tensors, run: () => attention(query, key, value, options)}
}

/**
 * A case on a backend: inputs in place, one untimed run done.
 *
 * @returns `time()`, nanoseconds of one run, and which operations were fused
 */
export async function prepare(given, backend, threads) {
  const name = backend === 'native' ? {threads} : {}
  await useBackend(backend, name)
  const {tensors, run} = given.kind === 'attention' ? attentionCall(given) : OPERATIONS[given.op]()
  const once = () => tf.dispose(run())
  const {operations} = recordOperations(once)
  return {
    operations,
    async time() {
      await useBackend(backend, name)
      const start = process.hrtime.bigint()
      once()
      return Number(process.hrtime.bigint() - start)
    },
    async dispose() {
      await useBackend(backend, name)
      tf.dispose(tensors)
    },
  }
}
