import {tf} from '../../tf.js'
import {checkSegments} from './checks.js'
import {fusedOrComposite} from './dispatch.js'
import {matMul} from './mat-mul.js'

/**
 * Means of runs of rows that lie side by side: segment c holds rows `starts[c]` to `starts[c + 1] - 1`.
 *
 * @param x - `[B, H, n, D]`
 * @param starts - C + 1 increasing numbers, from 0 to n
 * @returns `[B, H, C, D]`
 * @throws {BAD_RANGE} for other numbers
 */
export function segmentMeans(x: tf.Tensor4D, starts: readonly number[]): tf.Tensor4D {
  checkSegments({x}, starts)
  const [means] = fusedOrComposite('SegmentMeans', {x}, {starts}, () => {
    const [batch, heads, length, dim] = x.shape
    const count = starts.length - 1
    const rows: tf.Tensor3D = tf.reshape(x, [batch * heads, length, dim])
    const weights = tf.tensor3d(segmentWeights(starts), [1, count, length])
    return [tf.reshape(matMul(weights, rows), [batch, heads, count, dim])]
  })
  return means as tf.Tensor4D
}

/** Weight of each row in the mean of each segment, `[C, n]`: as a product it costs O(C n D), fused O(n D). */
function segmentWeights(starts: readonly number[]): Float32Array {
  const length = starts.at(-1)!
  const weights = new Float32Array((starts.length - 1) * length)
  for (let c = 0; c + 1 < starts.length; c++) {
    const [first, end] = [starts[c]!, starts[c + 1]!]
    weights.fill(1 / (end - first), c * length + first, c * length + end)
  }
  return weights
}
