import {causalFeatureGradientSizes} from '../../../attention/fused-kernels.js'
import {defineKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Gradients of causal attention with positive features; see `causalFeatureGradient` in the kernel package. */
export default defineKernel('CausalFeatureGradient', ({inputs, backend, addon}) => {
  const sizes = causalFeatureGradientSizes(inputs)
  const floats = (name: string) => backend.floats(required(inputs, name))
  const shapes = ['query', 'key', 'value'].map(name => required(inputs, name).shape)
  const [toQuery, toKey, toValue] = shapes.map(shape => backend.uninitialised(sizeOf(shape))) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ]
  addon.causalFeatureGradient({
    ...sizes,
    query: floats('query'),
    key: floats('key'),
    value: floats('value'),
    out: floats('out'),
    slopes: floats('slopes'),
    ...{toQuery, toKey, toValue},
  })
  return [toQuery, toKey, toValue].map((data, at) => backend.own(data, shapes[at]!))
})
