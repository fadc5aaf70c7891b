import {normals, randomStream} from '../../random/index.js'
import {mixTokens, TOKEN_NOISE} from './token-mixture.js'
import type {Generator} from './types.js'

/** Correlation of neighbouring tokens. */
const RHO = 0.97

/**
 * A sequence: tokens follow `x_t = rho x_{t-1} + sqrt(1 - rho^2) e_t`, `e_t ~ N(0, I)`, stationary
 * from the first; `q, k = tokens + 0.3 noise` scaled to variance 1, `v = tokens` (see {@link
 * mixTokens}).
 *
 * Parameters: rho 0.97 (tokens 23 apart correlate by one half), noise 0.3.
 */
export const ar1: Generator = {
  name: 'ar1',
  title: 'AR(1) sequence',
  description:
    'tokens of a first-order autoregression, q, k = token + noise, v = token: local attention',
  parameters: {rho: RHO, noise: TOKEN_NOISE},
  prefixStable: true,
  generate(shape) {
    return mixTokens(shape, 'ar1', (length, width, head) => {
      const stream = randomStream(shape.seed, 'input.ar1.token', head)
      const step = Math.sqrt(1 - RHO ** 2)
      const tokens = normals(stream, length * width)
      for (let i = width; i < tokens.length; i++) {
        tokens[i] = RHO * tokens[i - width]! + step * tokens[i]!
      }
      return tokens
    })
  },
}
