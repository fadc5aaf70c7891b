import {tf} from '../../../tf.js'
import {replaceKernel, required} from '../kernel.js'

/** Elements of one tensor where a condition holds, else of another; a condition of whole rows is left to the CPU kernel. */
export default replaceKernel(
  'Select',
  ({inputs, backend, addon}) => {
    const condition = required(inputs, 'condition')
    const [t, e] = [required(inputs, 't'), required(inputs, 'e')]
    const same = [condition, e].every(({shape}) => tf.util.arraysEqual(shape, t.shape))
    const types = condition.dtype === 'bool' && t.dtype === 'float32' && e.dtype === 'float32'
    if (!same || !types) return undefined
    const yes = backend.floats(t)
    const out = backend.uninitialised(yes.length)
    addon.select(backend.numbers(condition) as Uint8Array, yes, backend.floats(e), out)
    return backend.own(out, t.shape)
  },
  ['bool', 'float32'],
)
