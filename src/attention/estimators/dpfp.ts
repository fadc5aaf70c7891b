import {z} from 'zod'
import {tf} from '../../tf.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {guardOptions} from '../forms/options.js'

/**
 * Deterministic parameter-free projection: products of rectified entries with their neighbours. Its
 * weights are its own; softmax is not approximated, and queries and keys are not scaled (a common
 * factor cancels).
 *
 * `phi(x) = [r roll(r, 1), .., r roll(r, nu)]`, `r = [relu(x), relu(-x)]`.
 *
 * Source: Schlag, Irie, Schmidhuber 2021, arXiv:2102.11174, section 5.3.
 */
const options = z.object({
  nu: z
    .int()
    .positive()
    .max(1024) // rolls by 2 D and more repeat earlier ones
    .default(2)
    .describe('number of rolled products: the feature vector has 2 D nu entries'),
  ...guardOptions,
})

export default defineFeatureMap({
  name: 'dpfp',
  title: 'Deterministic parameter-free projection',
  citation: 'Schlag et al. 2021, arXiv:2102.11174',
  formula: 'phi(x) = [r roll(r, 1), .., r roll(r, nu)], r = [relu(x), relu(-x)]',
  advice:
    'A sparse, zero-variance baseline for models trained with it. A row is zero if its query shares no active pair with any key.',
  nonNegative: true,
  featureDim: (_numFeatures, headDim, {nu}) => 2 * headDim * nu,
  options,
  inputs: () => 'raw',
  phi:
    ({options: {nu}}) =>
    x =>
      rolledProducts(x, nu),
  presets: {
    hku: {
      options: {denGuard: 'clamp:1e-2'},
      quirk: 'denominators below 0.01 become 0.01: such rows are shrunk',
    },
  },
})

/** `[B, H, n, D]` to `[B, H, n, 2 D nu]`. */
function rolledProducts(x: tf.Tensor4D, nu: number): tf.Tensor4D {
  const [batch, heads, length, headDim] = x.shape
  const width = 2 * headDim
  // x_d is in one half or the other, so at least half of r is zero
  const rectified = tf.concat([tf.relu(x), tf.relu(tf.neg(x))], 3)
  // r_i r_(i - shift)
  const products = Array.from({length: nu}, (_, j) => {
    const shift = (j + 1) % width
    const head = tf.slice(rectified, [0, 0, 0, width - shift], [batch, heads, length, shift])
    const tail = tf.slice(rectified, [0, 0, 0, 0], [batch, heads, length, width - shift])
    return tf.mul(rectified, shift === 0 ? rectified : tf.concat([head, tail], 3))
  })
  return (products.length === 1 ? products[0] : tf.concat(products, 3)) as tf.Tensor4D
}
