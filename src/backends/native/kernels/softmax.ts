import {replaceKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Softmax over the last axis, the only one that TensorFlow.js has: its kernels take another, too. */
export default replaceKernel<{dim: number}>('Softmax', ({inputs, attrs, backend, addon}) => {
  const logits = required(inputs, 'logits')
  const rank = logits.shape.length
  // rows of other axes are not contiguous
  if (rank === 0 || attrs.dim !== rank - 1) return undefined
  const values = backend.floats(logits)
  const out = backend.uninitialised(values.length)
  addon.softmaxRows(values, out, sizeOf(logits.shape.slice(0, -1)), logits.shape.at(-1)!)
  return backend.own(out, logits.shape)
})
