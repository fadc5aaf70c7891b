import {type SoftmaxAttributes, softmaxAttentionSizes} from '../../../attention/fused-kernels.js'
import {defineKernel, required, view3, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Exact attention in tiles; see `softmaxAttention` in the kernel package. */
export default defineKernel<SoftmaxAttributes>(
  'SoftmaxAttention',
  ({inputs, attrs, backend, addon}) => {
    const sizes = softmaxAttentionSizes(inputs, attrs)
    const {batch, heads, queryLen, valueDim} = sizes
    const {keyBias, keyMask} = inputs
    const view = (name: string) => {
      const tensor = required(inputs, name)
      return view4(backend.floats(tensor), tensor.shape)
    }
    const outShape = [batch, heads, queryLen, valueDim]
    const lseShape = [batch, heads, queryLen]
    const out = backend.uninitialised(sizeOf(outShape))
    // written whether or not a caller looks: one number per row
    const lse = backend.uninitialised(sizeOf(lseShape))
    addon.softmaxAttention({
      ...sizes,
      query: view('query'),
      key: view('key'),
      value: view('value'),
      keyBias: keyBias && view3(backend.floats(keyBias), keyBias.shape),
      keyMask: keyMask && backend.bytes(keyMask),
      scale: attrs.scale,
      causal: attrs.causal,
      out: view4(out, outShape),
      lse: view3(lse, lseShape),
    })
    return [backend.own(out, outShape), backend.own(lse, lseShape)]
  },
)
