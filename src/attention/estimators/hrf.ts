import {z} from 'zod'
import {tf} from '../../tf.js'
import {angularHybridMoments} from '../../theory/hybrid.js'
import {squaredNorms} from '../../theory/kernels.js'
import {angularHybrid} from '../forms/angular-hybrid.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {GUARDS_IDLE, guardOptions} from '../forms/options.js'
import {softmaxTarget} from '../forms/targets.js'

/**
 * Hybrid random features, angular: hyperbolic and trigonometric estimates of the softmax kernel mixed by
 * an estimate of the angle between query and key. Unbiased, since the sign vectors are independent of
 * W; exact for equal directions of equal length and for opposite ones.
 *
 * `K = lambda K_hyp + (1 - lambda) K_trig`, `lambda = 1/2 - sum_t sgn(tau_t.x) sgn(tau_t.y) / (2n)` has the
 * mean angle/pi; rows of W and tau are N(0, I), canonical x. Weights can be negative, and at large norms terms
 * of about exp(|x|^2) cancel below float32 rounding: backends then differ by whole outputs.
 *
 * Source: Choromanski et al. 2022, arXiv:2110.04367, section 2.
 */
const options = z.object({
  signFeatures: z
    .int()
    .positive()
    .max(1024)
    .default(2)
    .describe('n, sign vectors that estimate the angle; features and cost grow by 1 + n'),
  lambdaOn: z
    .enum(['positive', 'trigonometric'])
    .default('positive')
    .describe(
      'which estimate the share angle/pi weights: positive is exact at both ends; trigonometric, as in the authors’ notebook, is unbiased too but worst there',
    ),
  ...guardOptions,
})

export default defineFeatureMap({
  name: 'hrf',
  title: 'Hybrid random features (angular)',
  citation: 'Choromanski et al. 2022, arXiv:2110.04367',
  formula:
    'K = lambda K_hyp + (1 - lambda) K_trig, lambda = 1/2 - sum_t sgn(tau_t.x) sgn(tau_t.y) / (2n)',
  advice:
    'Use it where both very small and very large weights must be accurate, at small norms. It costs 1 + n times as much as its parts, and weights can be negative. From E|x|^2 of about 16 on its signed sums cancel in float32: some rows are then rounding noise, other noise on every backend.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: false,
  projection: {default: 'orth'},
  noise: ({headDim}, {signFeatures}) => ({
    tau: {distribution: 'normal', rows: signFeatures, columns: headDim, shared: true},
  }),
  // 2M hyperbolic and 2M trigonometric ones, each once plain and once per sign
  featureDim: (numFeatures, _headDim, {signFeatures}) => 4 * numFeatures * (1 + signFeatures),
  products: (numFeatures, {signFeatures}) => 2 * numFeatures + signFeatures, // W twice, tau
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  kernel: {
    formula: () => 'exp(x.y)',
    moments: (x, y, {numFeatures, options: {signFeatures, lambdaOn}}) =>
      angularHybridMoments(x, y, numFeatures, signFeatures, lambdaOn === 'trigonometric'),
    rowsBy: 'products',
    // cosines are bounded beside the hyperbolic part
    tilt: (x, y) => ({squaredNorm: squaredNorms(x, y).sum, even: true}),
    idle: () => GUARDS_IDLE,
  },
  make: ({noise}) => noise.tau!, // drawn once, for both sides
  phi({inputScale, projection, options}, tau) {
    const side = (side: 'query' | 'key') => ({
      scaled: (q: tf.Tensor4D) =>
        angularHybrid(tf.mul(q, inputScale), {
          projection: projection!,
          tau,
          side,
          lambdaOn: options.lambdaOn,
        }),
    })
    return {query: side('query'), key: side('key')}
  },
})
