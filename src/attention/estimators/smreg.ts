import {z} from 'zod'
import {tf} from '../../tf.js'
import {averaged} from '../../theory/moments.js'
import {sumProduct} from '../../theory/row-product.js'
import {smregRow} from '../../theory/sphere.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import type {Projection} from '../types.js'

/**
 * Regularised softmax kernel: positive features with random vectors of length sqrt(D).
 *
 * `phi(x)_s = M^(-1/2) exp(w_s.x - |x|^2/2)`, `w_s = sqrt(D) g_s / |g_s|`, canonical x. What the lengths of
 * Gaussian vectors add to the variance is gone; in exchange the kernel is SMREG, at most SM and close
 * to it where `|x+y|^4` is small against D.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, theorem 1 (orthogonal rows: theorem 3).
 */
export default defineFeatureMap({
  name: 'smreg',
  title: 'FAVOR+ regularised softmax kernel',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794',
  formula: 'phi(x) = M^(-1/2) exp(sqrt(D) W x / |W| - |x|^2/2), |W| row by row',
  advice:
    'Use it in place of favor-pos where variance hurts more than bias: far fewer features at norms of 2 and more. It converges to SMREG attention, flatter than softmax.',
  unbiasedFor: 'smreg-kernel',
  nonNegative: true,
  projection: {default: 'orth-sqrt-d'},
  featureDim: numFeatures => numFeatures,
  options: z.object({}),
  inputs: () => 'canonical',
  target: () => ({
    kernel: 'smreg',
    inputs: 'canonical',
    inputScale: 1,
    label: 'regularised softmax kernel (SMREG)',
  }),
  kernel: {
    formula: () => 'exp(-(|x|^2+|y|^2)/2) E exp(w.(x+y)), w uniform of length sqrt(D)',
    moments: (x, y, {numFeatures}) => averaged(smregRow(x, y), numFeatures),
    product: (x, y) => ({...sumProduct('exp', x, y), sphere: true}),
    factor: numFeatures => numFeatures ** -0.5,
    rowsBy: 'lengths',
    idle: () => ({}),
  },
  // rows from outside may have any length
  make: ({projection, headDim}) => onSphere(projection!, headDim),
  phi: ({inputScale}, projection) => ({kind: 'log-positive', projection, inputScale}),
})

/** Rows scaled to length sqrt(D). */
function onSphere(projection: Projection, headDim: number): Projection {
  const length = tf.sqrt(tf.sum(tf.square(projection), -1, true))
  return tf.mul(projection, tf.div(Math.sqrt(headDim), length))
}
