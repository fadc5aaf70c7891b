import {normals, randomStream} from '../../random/index.js'
import type {AttentionArray} from '../attention-input.js'
import {gaussianArray, headOf} from './fill.js'
import type {Generator} from './types.js'

/** Standard deviation of the logarithm of the scales. */
const SPREAD = 0.75

/**
 * Dimensions of unequal size, as trained projections have them: `q_d = a_d e`, `k_d = b_d e'` with
 * `e, e' ~ N(0, 1)`, log-normal scales `a_d = exp(0.75 g_d)` of each head and opposite ones
 * `b_d = exp(-0.75 g_d)` for keys, both divided by their root mean square, so that entries have
 * variance 1 on average over the dimensions; v ~ N(0, I).
 *
 * Large query dimensions meet small key dimensions: logits are small for vectors of this length,
 * which separates features that can rescale dimensions from those that cannot. Parameters: spread
 * 0.75.
 */
export const anisotropic: Generator = {
  name: 'anisotropic',
  title: 'unequal dimensions',
  description: 'log-normal scale per dimension, opposite on q and k: where data-aware features pay',
  parameters: {spread: SPREAD},
  prefixStable: true,
  generate({batch, heads, queryLen, keyLen, headDim, valueDim, seed}) {
    const query = gaussianArray([batch, heads, queryLen, headDim], seed, 'input.anisotropic.query')
    const key = gaussianArray([batch, heads, keyLen, headDim], seed, 'input.anisotropic.key')
    for (let head = 0; head < batch * heads; head++) {
      const exponents = normals(randomStream(seed, 'input.anisotropic.scales', head), headDim)
      scaleDimensions(query, head, unitScales(exponents.map(g => SPREAD * g)))
      scaleDimensions(key, head, unitScales(exponents.map(g => -SPREAD * g)))
    }
    const value = gaussianArray([batch, heads, keyLen, valueDim], seed, 'input.anisotropic.value')
    return {query, key, value}
  },
}

/** exp of each, divided by their root mean square. */
function unitScales(exponents: Float64Array): Float64Array {
  const scales = exponents.map(Math.exp)
  const rms = Math.sqrt(scales.reduce((sum, a) => sum + a * a, 0) / scales.length)
  return scales.map(a => a / rms)
}

function scaleDimensions(array: AttentionArray, head: number, scales: Float64Array): void {
  const rows = headOf(array, head)
  for (let i = 0; i < rows.length; i++) rows[i]! *= scales[i % scales.length]!
}
