import {tf} from '../../tf.js'
import {featureMap, halfSquaredNorm, project} from '../kernels/feature-map.js'
import {indicator} from '../kernels/masking.js'
import type {Projection} from '../types.js'
import type {ScaledFeatures} from './decoders/tokens.js'

/** What {@link angularHybrid} needs in addition to tokens. */
export interface AngularHybridDraw {
  projection: Projection
  /** tau, `[1, H, n, D]` */
  tau: tf.Tensor4D
  side: 'query' | 'key'
  /** Which estimate the angle's share lambda weights. */
  lambdaOn: 'positive' | 'trigonometric'
}

/**
 * Angular hybrid features: inner products are `lambda K_hyp + (1 - lambda) K_trig` with
 * `lambda = 1/2 - sum_t s_t(x) s_t(y) / (2 n)`, `s_t(x) = sgn(tau_t.x)`. Each base feature stands once
 * with weight `sqrt(1/2)` and once per t with `s_t / sqrt(2 n)`, negative on the query side of the one that
 * lambda weights.
 *
 * Hyperbolic features carry `exp(-|x|^2/2)`, trigonometric ones `exp(+|x|^2/2)`: a token's largest
 * logarithm is taken out of both, so neither overflows whatever the norm.
 *
 * @param x - canonical, `[B, H, n, D]`
 * @returns F = 4 M (1 + n): blocks of 2M hyperbolic features, then blocks of 2M trigonometric ones
 *
 * Source: Choromanski et al. 2022, arXiv:2110.04367, section 2.
 */
export function angularHybrid(
  x: tf.Tensor4D,
  {projection, tau, side, lambdaOn}: AngularHybridDraw,
): ScaledFeatures {
  const logHyperbolic = featureMap(x, projection, 'log-hyperbolic')
  const halfNorm = tf.expandDims(halfSquaredNorm(x), -1)
  // exp(-|x|^2/2) exp(+-W x) and exp(+|x|^2/2) pass the range of floats on opposite sides: what is taken out
  // is the largest of both, so that no feature exceeds 1
  const logScale = tf.maximum(tf.max(logHyperbolic, -1, true), halfNorm)
  const hyperbolic = tf.mul(
    tf.exp(tf.sub(logHyperbolic, logScale)),
    (2 * projection.shape.at(-2)!) ** -0.5,
  )
  const plain = featureMap(x, projection, 'trigonometric')
  const trigonometric = tf.mul(plain, tf.exp(tf.sub(halfNorm, logScale)))
  const signs = signFeatures(x, tau)
  const [batch, heads, length] = x.shape
  const blocks = (base: tf.Tensor, part: AngularHybridDraw['lambdaOn']) => {
    // 1/2 - s.s/(2n) for one part, 1/2 + s.s/(2n) for the other
    const flip = side === 'query' && part === lambdaOn
    const weights = withOne(flip ? tf.neg(signs) : signs)
    return tf.reshape(tf.mul(weights, tf.expandDims(base, 3)), [batch, heads, length, -1])
  }
  const features = tf.concat(
    [blocks(hyperbolic, 'positive'), blocks(trigonometric, 'trigonometric')],
    3,
  ) as tf.Tensor4D
  return {features, logScale: tf.reshape(logScale, [batch, heads, length])}
}

/** `sgn(tau_t.x) / sqrt(2 n)`, 1 where that is 0, `[B, H, n, t, 1]`; constant for gradients. */
function signFeatures(x: tf.Tensor4D, tau: tf.Tensor4D): tf.Tensor {
  const [batch, heads, length, headDim] = x.shape
  const count = tau.shape[2]
  const rows: tf.Tensor3D = tf.reshape(tau, [heads, count, headDim])
  const positive = indicator(project(x, rows), value => tf.greaterEqual(value, 0)) // [B, H, n, t]
  const signs = tf.mul(tf.sub(tf.mul(positive, 2), 1), (2 * count) ** -0.5)
  return tf.reshape(signs, [batch, heads, length, count, 1])
}

/** `sqrt(1/2)` before the signs. */
function withOne(signs: tf.Tensor): tf.Tensor {
  const [batch, heads, length] = signs.shape
  return tf.concat([tf.fill([batch!, heads!, length!, 1, 1], Math.SQRT1_2), signs], 3)
}
