import {tf} from '../../tf.js'
import {recordsGradients} from './dispatch.js'

/**
 * Below this many multiply-adds per matrix, slicing a batch apart costs more than it saves
 * (measured on tfjs-wasm 4.22: some 50 us a matrix against 1 ns a multiply-add).
 */
const SPLIT_WORK = 1 << 17

/** tfjs-wasm sums products of batches in blocks of this many terms, those of a single pair in one run. */
const BATCH_BLOCK = 48

/** Whether the backend in force is tfjs-wasm, or says that it stands for it. */
function isWasm(): boolean {
  return tf.getBackend() === 'wasm' || (tf.backend() as {stands?: string}).stands === 'wasm'
}

/**
 * Batched matrix product `a b` of `[N, I, K]` and `[N, K, J]`; a batch of one is shared by the other side.
 *
 * tfjs-wasm reaches its fast product only for a single, untransposed pair, so there the batch is
 * taken apart and transposes are made beforehand (measured: 18 ms down to 2 ms for 512 x 64 x 512).
 *
 * @param a - `[N or 1, I, K]`, or `[N or 1, K, I]` with `transposeA`
 * @param b - `[N or 1, K, J]`, or `[N or 1, J, K]` with `transposeB`
 * @returns `[N, I, J]`
 */
export function matMul(
  a: tf.Tensor3D,
  b: tf.Tensor3D,
  transposeA = false,
  transposeB = false,
): tf.Tensor3D {
  // the gradient of a product does not sum over the batch that a matrix is shared by; that of a copy for each does
  if (a.shape[0] !== b.shape[0] && recordsGradients()) {
    const batch = Math.max(a.shape[0], b.shape[0])
    return product(forEach(a, batch), forEach(b, batch), transposeA, transposeB)
  }
  return product(a, b, transposeA, transposeB)
}

/** A matrix for each element of a batch. */
function forEach(matrices: tf.Tensor3D, batch: number): tf.Tensor3D {
  return matrices.shape[0] === batch ? matrices : tf.tile(matrices, [batch, 1, 1])
}

function product(
  a: tf.Tensor3D,
  b: tf.Tensor3D,
  transposeA: boolean,
  transposeB: boolean,
): tf.Tensor3D {
  if (!isWasm()) return tf.matMul(a, b, transposeA, transposeB)
  const [batchA, rowsA, columnsA] = a.shape
  const rows = transposeA ? columnsA : rowsA
  const inner = transposeA ? rowsA : columnsA
  const columns = transposeB ? b.shape[1] : b.shape[2]
  if (rows * inner * columns < SPLIT_WORK) {
    const single = batchA === 1 && b.shape[0] === 1 && !transposeA && !transposeB
    return single && inner > BATCH_BLOCK ? asBatch(a, b) : tf.matMul(a, b, transposeA, transposeB)
  }
  const left: tf.Tensor3D = transposeA ? tf.transpose(a, [0, 2, 1]) : a
  const right: tf.Tensor3D = transposeB ? tf.transpose(b, [0, 2, 1]) : b
  if (b.shape[0] === 1) {
    const flat = tf.matMul(
      tf.reshape(left, [batchA * rows, inner]) as tf.Tensor2D,
      tf.reshape(right, [inner, columns]) as tf.Tensor2D,
    )
    return tf.reshape(flat, [batchA, rows, columns])
  }
  const lefts = tf.unstack(left)
  const products = tf
    .unstack(right)
    .map((matrix, n) => tf.matMul(lefts[batchA === 1 ? 0 : n]!, matrix))
  return tf.stack(products) as tf.Tensor3D
}

/** The product of a single pair in the order of summation of a batch: one head is what it is among others. */
function asBatch(a: tf.Tensor3D, b: tf.Tensor3D): tf.Tensor3D {
  const twice: tf.Tensor3D = tf.matMul(forEach(a, 2), recordsGradients() ? forEach(b, 2) : b)
  return tf.slice(twice, [0, 0, 0], [1, a.shape[1], b.shape[2]])
}
