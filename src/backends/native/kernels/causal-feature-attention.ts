import type {RecipeAttributes} from '../features.js'
import {defineKernel, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'
import {readSides} from './linear-attention.js'

const NAME = 'CausalFeatureAttention'

/** Positive features, causal, with a running maximum per feature; see `causalFeatureAttention`. */
export default defineKernel<{query: RecipeAttributes; key: RecipeAttributes}>(NAME, call => {
  const {attrs, backend, addon} = call
  const {sizes, query, key, value, keyMask} = readSides(NAME, call, attrs)
  const shape = [sizes.batch, sizes.heads, sizes.queryLen, sizes.valueDim]
  const out = backend.uninitialised(sizeOf(shape))
  addon.causalFeatureAttention({...sizes, query, key, value, keyMask, out: view4(out, shape)})
  return backend.own(out, shape)
})
