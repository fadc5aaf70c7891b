import {maskedSoftmaxSizes} from '../../../attention/fused-kernels.js'
import {defineKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Softmax over the keys that a query sees, in one pass; see `maskedSoftmax` in the kernel package. */
export default defineKernel<{causal: boolean}>(
  'MaskedSoftmax',
  ({inputs, attrs, backend, addon}) => {
    const {batch, heads, queryLen, keyLen} = maskedSoftmaxSizes(inputs, attrs)
    const logits = required(inputs, 'logits')
    const {keyMask} = inputs
    const out = backend.uninitialised(sizeOf(logits.shape))
    addon.softmaxRows(backend.floats(logits), out, batch * heads * queryLen, keyLen, {
      causalRows: attrs.causal ? queryLen : 0,
      // as numbers, like the rest: the addon compares vectors of both
      present: keyMask && Float32Array.from(backend.bytes(keyMask)),
      // [B, S]: one row of the mask for all rows of a batch entry
      sharedRows: heads * queryLen,
    })
    return backend.own(out, logits.shape)
  },
)
