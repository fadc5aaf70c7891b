import {causalFeatureAttentionSizes, type SideAttributes} from '../../../attention/fused-kernels.js'
import {defineKernel, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'
import {readSides} from './linear-attention.js'

/** Positive features, causal, with a running maximum per feature; see `causalFeatureAttention`. */
export default defineKernel<SideAttributes>('CausalFeatureAttention', call => {
  const {inputs, attrs, backend, addon} = call
  const sizes = causalFeatureAttentionSizes(inputs, attrs)
  const shape = [sizes.batch, sizes.heads, sizes.queryLen, sizes.valueDim]
  const out = backend.uninitialised(sizeOf(shape))
  addon.causalFeatureAttention({...sizes, ...readSides(call), out: view4(out, shape)})
  return backend.own(out, shape)
})
