import {z} from 'zod'
import {tf} from '../../tf.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {logSumExp} from '../kernels/log-sum-exp.js'

/**
 * Hedgehog: exponentials of the entries of x and of their negatives, x being a query or a key times a learned
 * matrix W of its head, one of queries and one of keys. Its weights are its own until W is learned.
 *
 * `phi(x) = softmax([x, -x])`, or `[exp(x), exp(-x)]`. W is the identity at first, and is not part of the map:
 * `rfa tune --learn maps` learns it, and it folds into the matrices that make queries and keys. There is no bias.
 * Only logarithms are formed, which overflow for no x that float32 holds; the sum over the features of a query
 * cancels, that of a key is its weight.
 *
 * Source: Zhang et al. 2024, arXiv:2402.04347, section 4.2; their later code takes a softmax of each half, and
 * others of 2x.
 */
const options = z.object({
  nonlinearity: z
    .enum(['softmax', 'exp'])
    .default('softmax')
    .describe(
      'softmax: the features of a token sum to one; exp: as they are, so that long keys count more',
    ),
})

export default defineFeatureMap({
  name: 'hedgehog',
  title: 'Hedgehog',
  citation: 'Zhang et al. 2024, arXiv:2402.04347',
  formula: 'phi(x) = softmax([x, -x]), x = q W or k W',
  advice:
    'Only with learned maps (rfa tune --learn maps), or for models trained with it: as it is, it does not approximate softmax.',
  nonNegative: true,
  featureDim: (_numFeatures, headDim) => 2 * headDim,
  options,
  inputs: () => 'raw', // as published: no factor D^(-1/4)
  phi: ({headDim, options: {nonlinearity}}) => {
    const normalised = nonlinearity === 'softmax'
    return {
      logarithms: x => {
        const both = mirrored(x)
        return normalised ? tf.sub(both, logSumExp(both)) : both
      },
      // exp(x_d) and exp(-x_d): unit vectors, and their negatives
      bridges: () => tf.concat([tf.eye(headDim), tf.neg(tf.eye(headDim))]),
      ...(normalised && {
        keyBias: (y: tf.Tensor4D): tf.Tensor3D => tf.neg(tf.squeeze(logSumExp(mirrored(y)), [3])),
      }),
    }
  },
})

/** `[x, -x]`, `[B, H, n, 2D]`. */
function mirrored(x: tf.Tensor4D): tf.Tensor4D {
  return tf.concat([x, tf.neg(x)], 3)
}
