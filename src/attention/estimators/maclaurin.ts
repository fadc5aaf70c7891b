import {z} from 'zod'
import {tf} from '../../tf.js'
import {maclaurinRow} from '../../theory/maclaurin.js'
import {averaged} from '../../theory/moments.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {maclaurin, maclaurinPlan} from '../forms/maclaurin.js'
import {GUARDS_IDLE, guardOptions} from '../forms/options.js'
import {softmaxTarget} from '../forms/targets.js'

/**
 * Random Maclaurin features: products of random signed projections, with a random number of factors; an
 * unbiased estimate of the power series of exp(x.y) up to degree K.
 *
 * `phi_i(x) = (M N! p_N)^(-1/2) prod_{j <= N} (w_ij.x)`, N = N_i with `p_n ~ 2^-(n+1)`, w_ij of
 * independent signs. The degrees are the same for queries and keys and weigh more than the vectors: even at
 * x = y = 0 the variance is about 1 / M. At K = 12 the bias is below float32 rounding for |x.y| <= 1.
 *
 * Source: Kar & Karnick 2012, arXiv:1201.6530, algorithm 1.
 */
const options = z.object({
  maxDegree: z
    .int()
    .min(1)
    .max(30)
    .default(12)
    .describe(
      'K, the highest degree: estimates exp(x.y) without the terms beyond, a relative bias of at most e^(2 |x.y|) |x.y|^(K+1) / (K+1)!',
    ),
  ...guardOptions,
})

export default defineFeatureMap({
  name: 'maclaurin',
  title: 'Random Maclaurin features',
  citation: 'Kar & Karnick 2012, arXiv:1201.6530',
  formula: 'phi_i(x) = (M N! p_N)^(-1/2) prod_{j <= N} (w_ij.x), p_n ~ 2^-(n+1)',
  advice:
    'A baseline for kernels of inner products, at |x||y| below 1. Weights can be negative and tails are heavy; for softmax use positive features.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: false,
  sizedBy: 'random products',
  noise: ({numFeatures, headDim}, {maxDegree}) => ({
    degrees: {distribution: 'uniform', rows: numFeatures, columns: 1, shared: true},
    signs: {distribution: 'sign', rows: numFeatures, columns: maxDegree * headDim, shared: true},
  }),
  featureDim: numFeatures => numFeatures,
  products: numFeatures => numFeatures, // the mean degree is 1
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  kernel: {
    formula: ({maxDegree}) => `exp(x.y) up to degree ${maxDegree}`,
    moments: (x, y, {numFeatures, options}) =>
      averaged(maclaurinRow(x, y, options.maxDegree), numFeatures),
    idle: () => GUARDS_IDLE,
  },
  // which vectors are used at all is known once the degrees are: about M instead of M K
  make: ({noise: {degrees, signs}, options: {maxDegree}}) =>
    maclaurinPlan({degrees: degrees!, signs: signs!}, maxDegree),
  phi({inputScale}, plan) {
    const side = {scaled: (q: tf.Tensor4D) => maclaurin(tf.mul(q, inputScale), plan)}
    return {query: side, key: side}
  },
})
