import {gaussianArray} from './fill.js'
import type {Generator} from './types.js'

/**
 * Independent standard normals: q, k, v ~ N(0, I).
 *
 * Canonical norms: `E|x|^2 = E|y|^2 = sqrt(D)`, `E|x + y|^2 = 2 sqrt(D)` at the default logit
 * scale. No parameters.
 */
export const gaussian: Generator = {
  name: 'gaussian',
  title: 'i.i.d. Gaussian',
  description: 'q, k, v independent N(0, I): no structure at all; the setting of most analyses',
  parameters: {},
  prefixStable: true,
  generate({batch, heads, queryLen, keyLen, headDim, valueDim, seed}) {
    return {
      query: gaussianArray([batch, heads, queryLen, headDim], seed, 'input.gaussian.query'),
      key: gaussianArray([batch, heads, keyLen, headDim], seed, 'input.gaussian.key'),
      value: gaussianArray([batch, heads, keyLen, valueDim], seed, 'input.gaussian.value'),
    }
  },
}
