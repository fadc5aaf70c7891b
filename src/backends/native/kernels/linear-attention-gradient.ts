import {
  LINEAR_GRADIENTS,
  type LinearAttributes,
  linearAttentionGradientSizes,
} from '../../../attention/fused-kernels.js'
import type {LinearGradientArrays} from '../addon.js'
import {defineKernel, required, view3, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'
import {headGradients, projectionGradient} from './feature-map-gradient.js'
import {linearCall} from './linear-attention.js'

/** Gradients of `LinearAttention` by the inputs that are there; see `linearAttentionGradient` in the kernel package. */
export default defineKernel<LinearAttributes>('LinearAttentionGradient', call => {
  const {inputs, attrs, backend, addon} = call
  const {batch, heads, queryLen, valueDim} = linearAttentionGradientSizes(inputs, attrs)
  const names = LINEAR_GRADIENTS.filter(name => inputs[name])
  const made = names.map((name): [string, Float32Array] => {
    const {shape} = required(inputs, name)
    return name.endsWith('Projection')
      ? [name, headGradients(backend, shape, [batch, heads])]
      : [name, backend.uninitialised(sizeOf(shape))]
  })
  const arrays: LinearGradientArrays = {
    ...Object.fromEntries(made),
    slopes: backend.floats(required(inputs, 'slopes')),
    denominatorSlopes: backend.floats(required(inputs, 'denominatorSlopes')),
  }
  const output = (name: string) => backend.floats(required(inputs, attrs.guard ? name : 'slopes'))
  addon.linearAttentionGradient(
    {
      ...linearCall(call),
      // looked at only where it divides
      out: view4(output('out'), [batch, heads, queryLen, valueDim]),
      denominator: view3(output('denominator'), [batch, heads, queryLen]),
    },
    arrays,
  )
  return made.map(([name, data]) => {
    const {shape} = required(inputs, name)
    return name.endsWith('Projection')
      ? projectionGradient(backend, data, shape, [batch, heads])
      : backend.own(data, [...shape])
  })
})
