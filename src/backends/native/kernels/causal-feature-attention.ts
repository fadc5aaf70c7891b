import {
  CAUSAL_GRADIENTS,
  causalFeatureAttentionSizes,
  causalFeatureGradientSizes,
  type SideAttributes,
} from '../../../attention/fused-kernels.js'
import type {FeatureGradientArrays} from '../addon.js'
import {defineKernel, type NativeKernel, required, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'
import {headGradients, projectionGradient} from './feature-map-gradient.js'
import {readSides} from './linear-attention.js'

/** Positive features, causal, with a running maximum per feature, and gradients; see `causalFeatureAttention`. */
const causalFeatureAttentions: NativeKernel[] = [
  defineKernel<SideAttributes>('CausalFeatureAttention', call => {
    const {inputs, attrs, backend, addon} = call
    const sizes = causalFeatureAttentionSizes(inputs, attrs)
    const shape = [sizes.batch, sizes.heads, sizes.queryLen, sizes.valueDim]
    const out = backend.uninitialised(sizeOf(shape))
    addon.causalFeatureAttention({...sizes, ...readSides(call), out: view4(out, shape)})
    return backend.own(out, shape)
  }),
  defineKernel<SideAttributes>('CausalFeatureGradient', call => {
    const {inputs, attrs, backend, addon} = call
    const sizes = causalFeatureGradientSizes(inputs, attrs)
    const {batch, heads} = sizes
    const made = CAUSAL_GRADIENTS.filter(name => inputs[name]).map(name => {
      const {shape} = required(inputs, name)
      return name.endsWith('Projection')
        ? {name, shape, data: headGradients(backend, shape, [batch, heads])}
        : {name, shape, data: backend.uninitialised(sizeOf(shape))}
    })
    const arrays: FeatureGradientArrays = {
      ...Object.fromEntries(made.map(({name, data}) => [name, data])),
      slopes: backend.floats(required(inputs, 'slopes')),
    }
    const out = required(inputs, 'out')
    const forward = {...sizes, ...readSides(call), out: view4(backend.floats(out), out.shape)}
    addon.causalFeatureGradient(forward, arrays)
    return made.map(({name, shape, data}) =>
      name.endsWith('Projection')
        ? projectionGradient(backend, data, shape, [batch, heads])
        : backend.own(data, [...shape]),
    )
  }),
]
export default causalFeatureAttentions
