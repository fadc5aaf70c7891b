import {
  SOFTMAX_GRADIENTS,
  type SoftmaxAttributes,
  softmaxAttentionGradientSizes,
  softmaxAttentionSizes,
} from '../../../attention/fused-kernels.js'
import type {Array3, Array4, SoftmaxGradientArrays} from '../addon.js'
import {
  defineKernel,
  type KernelCall,
  type NativeKernel,
  required,
  view3,
  view4,
} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Exact attention in tiles, and its gradients; see `softmaxAttention` in the kernel package. */
const softmaxAttentions: NativeKernel[] = [
  defineKernel<SoftmaxAttributes>('SoftmaxAttention', call => {
    const {inputs, attrs, backend, addon} = call
    const {batch, heads, queryLen, valueDim} = softmaxAttentionSizes(inputs, attrs)
    const outShape = [batch, heads, queryLen, valueDim]
    const lseShape = [batch, heads, queryLen]
    const out = backend.uninitialised(sizeOf(outShape))
    // written whether or not a caller looks: one number per row
    const lse = backend.uninitialised(sizeOf(lseShape))
    addon.softmaxAttention(softmaxCall(call, view4(out, outShape), view3(lse, lseShape)))
    return [backend.own(out, outShape), backend.own(lse, lseShape)]
  }),
  defineKernel<SoftmaxAttributes>('SoftmaxAttentionGradient', call => {
    const {inputs, attrs, backend, addon} = call
    const {batch, heads, ...sizes} = softmaxAttentionGradientSizes(inputs, attrs)
    const {queryLen, keyLen, headDim, valueDim} = sizes
    const last = {
      query: [queryLen, headDim],
      key: [keyLen, headDim],
      value: [keyLen, valueDim],
      keyBias: [keyLen],
    }
    const made = SOFTMAX_GRADIENTS.filter(name => inputs[name]).map(name => {
      const shape = [batch, heads, ...last[name]]
      return {name, shape, data: backend.uninitialised(sizeOf(shape))}
    })
    const floats = (name: string) => backend.floats(required(inputs, name))
    const arrays: SoftmaxGradientArrays = {
      ...Object.fromEntries(made.map(({name, data}) => [name, data])),
      ...{slopes: floats('slopes'), lseSlopes: floats('lseSlopes')},
    }
    const out = view4(floats('out'), [batch, heads, queryLen, valueDim])
    const lse = view3(floats('lse'), [batch, heads, queryLen])
    addon.softmaxAttentionGradient(softmaxCall(call, out, lse), arrays)
    return made.map(({data, shape}) => backend.own(data, shape))
  }),
]
export default softmaxAttentions

/** What the addon takes of a checked call of the operation. */
function softmaxCall(
  {inputs, attrs, backend}: KernelCall<SoftmaxAttributes>,
  out: Array4,
  lse: Array3,
) {
  const {keyBias, keyMask} = inputs
  const view = (name: string) => {
    const tensor = required(inputs, name)
    return view4(backend.floats(tensor), tensor.shape)
  }
  const {query, key, value} = inputs
  return {
    ...softmaxAttentionSizes({query, key, value, keyBias, keyMask}, attrs),
    query: view('query'),
    key: view('key'),
    value: view('value'),
    keyBias: keyBias && view3(backend.floats(keyBias), keyBias.shape),
    keyMask: keyMask && backend.bytes(keyMask),
    scale: attrs.scale,
    causal: attrs.causal,
    out,
    lse,
  }
}
