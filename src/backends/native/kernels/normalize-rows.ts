import {type NormalizeRowsAttributes, normalizeRowsSizes} from '../../../attention/fused-kernels.js'
import {defineKernel, required} from '../kernel.js'

/** Layer norm and RMS norm; see `normalizeRows` in the kernel package. */
export default defineKernel<NormalizeRowsAttributes>(
  'NormalizeRows',
  ({inputs, attrs, backend, addon}) => {
    const {rows, columns} = normalizeRowsSizes(inputs, attrs)
    const {bias} = inputs
    const out = backend.uninitialised(rows * columns)
    addon.normRows({
      ...{rows, columns, epsilon: attrs.epsilon, centred: attrs.centred},
      input: backend.floats(required(inputs, 'x')),
      weight: backend.floats(required(inputs, 'weight')),
      bias: bias && backend.floats(bias),
      out,
    })
    return backend.own(out, [rows, columns])
  },
)
