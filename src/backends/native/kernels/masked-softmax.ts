import {checkShape, defineKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

const NAME = 'MaskedSoftmax'

/** Softmax over the keys that a query sees, in one pass; see `maskedSoftmax` in the kernel package. */
export default defineKernel<{causal: boolean}>(NAME, ({inputs, attrs, backend, addon}) => {
  const logits = required(inputs, 'logits')
  const {keyMask} = inputs
  const [batch, heads, queryLen, keyLen] = logits.shape as [number, number, number, number]
  checkShape(NAME, 'logits', logits, [batch, heads, queryLen, keyLen])
  if (keyMask) checkShape(NAME, 'keyMask', keyMask, [batch, keyLen])
  const out = backend.uninitialised(sizeOf(logits.shape))
  addon.softmaxRows(backend.floats(logits), out, batch * heads * queryLen, keyLen, {
    causalRows: attrs.causal ? queryLen : 0,
    present: keyMask && Float32Array.from(backend.bytes(keyMask)),
    sharedRows: heads * queryLen,
  })
  return backend.own(out, logits.shape)
})
