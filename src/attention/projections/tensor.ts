/** The road from a seed to the tensor of a projection. */
import {tf} from '../../tf.js'
import {drawProjectionFloats, type ProjectionRequest} from './index.js'

/** Bytes of draws that are kept on the host: what one layer of a large model draws, many times over. */
const KEPT_BYTES = 2 ** 25

const kept = new Map<string, Float32Array>()
let keptBytes = 0

/** A drawn projection in single precision, `[R H, M, D]`, row-major: what every estimator computes with. */
export function drawRows(request: ProjectionRequest): Float32Array {
  return drawProjectionFloats(request)
}

/** Rows on the current backend, `[R H, M, D]`. @param rows - R H M D numbers, row-major */
export function rowsTensor(
  rows: Float32Array,
  {
    heads,
    replicates = 1,
    numFeatures,
    headDim,
  }: Pick<ProjectionRequest, 'heads' | 'replicates' | 'numFeatures' | 'headDim'>,
): tf.Tensor3D {
  return tf.tensor3d(rows, [replicates * heads, numFeatures, headDim])
}

/** {@link drawRows} with a cache of recent draws on the host: do not change them. */
export function drawnRows(request: ProjectionRequest): Float32Array {
  const key = JSON.stringify(request)
  return kept.get(key) ?? keep(key, drawRows(request))
}

/** A drawn projection on the current backend, `[R H, M, D]`; recent draws are kept on the host. */
export function projectionTensor(request: ProjectionRequest): tf.Tensor3D {
  return rowsTensor(drawnRows(request), request)
}

/** Keeps a draw in place of the oldest ones; one that is larger than all that may be kept is not. */
function keep(key: string, rows: Float32Array): Float32Array {
  if (rows.byteLength > KEPT_BYTES) return rows
  for (const [oldest, {byteLength}] of kept) {
    if (keptBytes + rows.byteLength <= KEPT_BYTES) break
    kept.delete(oldest)
    keptBytes -= byteLength
  }
  kept.set(key, rows)
  keptBytes += rows.byteLength
  return rows
}
