import {randomStream} from '../../random/index.js'
import {gaussianArray, headOf} from './fill.js'
import type {Generator} from './types.js'

/** Standard deviation of what separates a query from the key it is aligned with. */
const NOISE = 0.1

/**
 * Retrieval: k, v ~ N(0, I), and every query is aligned with one key, `q_i = (k_p(i) + 0.1 e) / c`
 * with `c = sqrt(1 + 0.1^2)` and p(i) uniform among the keys 0..i, so that the partner is in view
 * with and without the causal mask.
 *
 * At the default logit scale the partner's logit is about `sqrt(D)` and the others are about N(0,
 * 1): rows are peaked while `sqrt(D) > ln S + 1/2`. Raise the factor of the plan to sharpen them.
 *
 * Parameters: noise 0.1.
 */
export const peaky: Generator = {
  name: 'peaky',
  title: 'one aligned key per query',
  description:
    'each query points at one key, all else is noise: retrieval, low entropy, hard for features',
  parameters: {noise: NOISE},
  prefixStable: true,
  generate({batch, heads, queryLen, keyLen, headDim, valueDim, seed}) {
    const key = gaussianArray([batch, heads, keyLen, headDim], seed, 'input.peaky.key')
    const query = gaussianArray([batch, heads, queryLen, headDim], seed, 'input.peaky.query')
    const norm = Math.sqrt(1 + NOISE ** 2)
    for (let head = 0; head < batch * heads; head++) {
      const partners = randomStream(seed, 'input.peaky.partner', head)
      const keys = headOf(key, head)
      const rows = headOf(query, head)
      for (let i = 0; i < queryLen; i++) {
        const partner = partners.integer(Math.min(i + 1, keyLen))
        for (let d = 0; d < headDim; d++) {
          const at = i * headDim + d
          rows[at] = (keys[partner * headDim + d]! + NOISE * rows[at]!) / norm
        }
      }
    }
    const value = gaussianArray([batch, heads, keyLen, valueDim], seed, 'input.peaky.value')
    return {query, key, value}
  },
}
