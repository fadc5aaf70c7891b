/** Rows by their index, and sums of rows by index: what an embedding and its gradient are. */
import {tf} from '../../../tf.js'
import {type KernelCall, type NativeKernel, replaceKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

const gathers: NativeKernel[] = [
  replaceKernel<{axis: number; batchDims: number}>('GatherV2', gather, ['float32', 'int32']),
  replaceKernel<{numSegments: number}>('UnsortedSegmentSum', segmentSum, ['float32', 'int32']),
]
export default gathers

function gather({inputs, attrs, backend, addon}: KernelCall<{axis: number; batchDims: number}>) {
  const x = required(inputs, 'x')
  const indices = required(inputs, 'indices')
  if (x.dtype !== 'float32' || indices.dtype !== 'int32') return undefined
  const [axis] = tf.util.parseAxisParam(attrs.axis, x.shape) as [number]
  const batchDims = attrs.batchDims ?? 0
  const length = x.shape[axis]!
  const index = backend.numbers(indices) as Int32Array
  // the CPU backend says which one is wrong
  if (!Number.isInteger(batchDims) || !index.every(place => place >= 0 && place < length))
    return undefined
  const sizes = tf.backend_util.segment_util.collectGatherOpShapeInfo(
    x as tf.Tensor,
    indices as tf.Tensor,
    axis,
    batchDims,
  )
  const {batchSize, outerSize, sliceSize, outputShape} = sizes
  const out = backend.uninitialised(sizeOf(outputShape))
  const columns = sliceSize
  if (out.length !== outerSize * index.length * columns) return undefined
  if (out.length > 0)
    addon.gatherRows(backend.floats(x), index, out, batchSize, outerSize, length, columns)
  return backend.own(out, outputShape)
}

function segmentSum({inputs, attrs, backend, addon}: KernelCall<{numSegments: number}>) {
  const x = required(inputs, 'x')
  const segmentIds = required(inputs, 'segmentIds')
  const {numSegments} = attrs
  const byRow = segmentIds.shape.length === 1 && segmentIds.shape[0] === x.shape[0]
  if (x.dtype !== 'float32' || segmentIds.dtype !== 'int32' || !byRow) return undefined
  if (!Number.isInteger(numSegments) || numSegments < 1) return undefined
  const shape = [numSegments, ...x.shape.slice(1)]
  const columns = sizeOf(x.shape.slice(1))
  const out = backend.uninitialised(numSegments * columns)
  addon.segmentSums(backend.floats(x), backend.numbers(segmentIds) as Int32Array, out, columns)
  return backend.own(out, shape)
}
