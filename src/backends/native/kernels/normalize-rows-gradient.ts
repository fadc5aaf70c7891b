import {
  type NormalizeRowsAttributes,
  normalizeRowsGradientSizes,
} from '../../../attention/fused-kernels.js'
import {defineKernel, required} from '../kernel.js'

/** Gradients of layer norm and RMS norm in one pass; see `normalizeRowsGradient` in the kernel package. */
export default defineKernel<NormalizeRowsAttributes>(
  'NormalizeRowsGradient',
  ({inputs, attrs, backend, addon}) => {
    const {rows, columns} = normalizeRowsGradientSizes(inputs, attrs)
    const toInput = backend.uninitialised(rows * columns)
    const [toWeight, toBias] = [backend.uninitialised(columns), backend.uninitialised(columns)]
    addon.normRowsGradient({
      ...{rows, columns, epsilon: attrs.epsilon, centred: attrs.centred},
      input: backend.floats(required(inputs, 'x')),
      weight: backend.floats(required(inputs, 'weight')),
      slopes: backend.floats(required(inputs, 'slopes')),
      ...{toInput, toWeight, toBias},
    })
    return [
      backend.own(toInput, [rows, columns]),
      backend.own(toWeight, [columns]),
      backend.own(toBias, [columns]),
    ]
  },
)
