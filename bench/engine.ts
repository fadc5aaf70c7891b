/** The engines of this package: one case on one backend, ready to be timed. */
import * as tf from '@tensorflow/tfjs-core'
import {estimatorNamed, resolveOptions, usesProjection} from '../src/attention/names.js'
import {
  attention,
  type BackendName,
  drawProjection,
  type OperationForm,
  recordOperations,
  useBackend,
} from '../src/index.js'
import {normals, randomStream} from '../src/random/index.js'
import type {AttentionCase, KernelCase, OperationName} from './cases.js'

/** What a case works on, and the work. */
interface Call {
  tensors: tf.Tensor[]
  run(): tf.Tensor
}

/** A case with its inputs in place. */
export interface PreparedCase {
  operations: Record<string, OperationForm>
  /** Nanoseconds of one run. */
  time(): Promise<number>
  dispose(): Promise<void>
}

/** Standard normal values, the same for the same name. */
export function draw(name: string, size: number): Float32Array {
  return Float32Array.from(normals(randomStream(0, `bench.kernels.${name}`), size))
}

const OPERATIONS: Record<OperationName, () => Call> = {
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
  exp: () => elementwise(x => tf.exp(x)),
  sin: () => elementwise(x => tf.sin(x)),
  addRow: () => {
    const row = tf.tensor1d(draw('row', 1024))
    const {tensors, run} = elementwise(x => tf.add(x, row))
    return {tensors: [...tensors, row], run}
  },
  softmax: () => elementwise(x => tf.softmax(x)),
  transpose: () => {
    const x = tf.tensor3d(draw('a', 8 * 2048 * 64), [8, 2048, 64])
    return {tensors: [x], run: () => tf.transpose(x, [0, 2, 1])}
  },
}

function elementwise(operation: (x: tf.Tensor2D) => tf.Tensor): Call {
  const x = tf.tensor2d(draw('x', 2 ** 20), [1024, 1024])
  return {tensors: [x], run: () => operation(x)}
}

function attentionCall({method, heads, length, headDim, numFeatures, causal}: AttentionCase): Call {
  const tokens = (name: string) =>
    tf.tensor4d(draw(name, heads * length * headDim), [1, heads, length, headDim])
  const [query, key, value] = [tokens('query'), tokens('key'), tokens('value')]
  const tensors = [query, key, value]
  const estimator = estimatorNamed(method)
  if (!usesProjection(estimator, resolveOptions(estimator, 'exact', {}))) {
    return {tensors, run: () => attention(query, key, value, {method, causal, numFeatures})}
  }
  const rows = drawProjection({name: 'orth', heads, numFeatures, headDim, seed: 0})
  const projection = tf.tensor3d(Float32Array.from(rows), [heads, numFeatures, headDim])
  return {
    tensors: [...tensors, projection],
    run: () => attention(query, key, value, {method, causal, projection}),
  }
}

/** A case on a backend: inputs in place, one untimed run done, which shows what was fused. */
export async function prepare(
  given: KernelCase,
  backend: BackendName,
  threads?: number,
): Promise<PreparedCase> {
  const use = () => useBackend(backend, backend === 'wasm' ? {} : {threads})
  await use()
  const {tensors, run} = given.kind === 'attention' ? attentionCall(given) : OPERATIONS[given.op]()
  const once = () => tf.dispose(run())
  const {operations} = recordOperations(once)
  return {
    operations,
    async time() {
      await use()
      const start = process.hrtime.bigint()
      once()
      return Number(process.hrtime.bigint() - start)
    },
    async dispose() {
      await use()
      tf.dispose(tensors)
    },
  }
}
