import {type AdamAttributes, adamCount} from '../../../attention/fused-kernels.js'
import {defineKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** A step of Adam for all parameters; see `adamStep` in the kernel package. */
export default defineKernel<AdamAttributes>('AdamStep', ({inputs, attrs, backend, addon}) => {
  const count = adamCount(inputs, attrs)
  const {decay1, decay2, rate, scale, epsilon} = attrs
  const factors = Float64Array.of(decay1, decay2, 1 - decay1, 1 - decay2, rate, scale, epsilon)
  return Array.from({length: count}, (_, at) => {
    const {shape} = required(inputs, `value${at}`)
    const [value, gradient, first, second] = ['value', 'gradient', 'first', 'second'].map(name =>
      backend.floats(required(inputs, `${name}${at}`)),
    ) as [Float32Array, Float32Array, Float32Array, Float32Array]
    const [a, b, c] = [0, 1, 2].map(() => backend.uninitialised(sizeOf(shape))) as [
      Float32Array,
      Float32Array,
      Float32Array,
    ]
    addon.adamStep(value, gradient, first, second, a, b, c, factors)
    return [a, b, c].map(data => backend.own(data, shape))
  }).flat()
})
