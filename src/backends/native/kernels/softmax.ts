import {replaceKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Softmax over the last axis, the only one that TensorFlow.js has. */
export default replaceKernel('Softmax', ({inputs, backend, addon}) => {
  const logits = required(inputs, 'logits')
  const values = backend.floats(logits)
  const out = backend.uninitialised(values.length)
  addon.softmaxRows(values, out, sizeOf(logits.shape.slice(0, -1)), logits.shape.at(-1) ?? 1)
  return backend.own(out, logits.shape)
})
