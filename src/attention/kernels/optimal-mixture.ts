import {tf} from '../../tf.js'
import {checkObject} from '../check-tensor.js'
import {type MixtureAttributes, optimalMixtureSizes} from './checks.js'
import {fusedOrComposite} from './dispatch.js'
import {maskLogits} from './masking.js'
import {matMul} from './mat-mul.js'

/** C' vectors with their values and what their weights are made of; C' is C or 2 C, proposals in order twice. */
export interface Mixture {
  /** `[B, H, C', D]` */
  vectors: tf.Tensor4D
  /** `[B, H, C', Dv]` */
  values: tf.Tensor4D
  /** Added to the logit of each vector, `[B, H, C']`. */
  bias: tf.Tensor3D
  /** Weight of each vector before the correction, `[B, H, C']`. */
  balance: tf.Tensor3D
  /** Affinity of each proposal to each query, `[B, H, C, L]`. */
  affinity: tf.Tensor4D
  /** `[B, C]`, 0 for proposals that do not exist. Default: all do. */
  present?: tf.Tensor2D | undefined
}

/**
 * Reads a mixture with weights that depend on the query: `out_n = sum_c p_nc v_c`, `p_nc ~ alpha_nc exp(scale
 * q_n.w_c + bias_c)`, `alpha_nc = max(floor, balance_c + a (t_nc - mean_c t_nc))`. Keeps L x C' logits.
 *
 * @param query - `[B, H, L, D]`
 * @returns `[B, H, L, Dv]`
 * @throws {SHAPE_MISMATCH | BAD_OPTION} when arrays do not fit together
 *
 * Source: Zheng, Wang, Kong 2022, arXiv:2204.04667, section 4 (multiple importance sampling).
 */
export function optimalMixture(
  query: tf.Tensor4D,
  mixture: Mixture,
  options: MixtureAttributes,
): tf.Tensor4D {
  checkObject('OptimalMixture.options', options)
  const inputs = {query, ...mixture}
  optimalMixtureSizes(inputs, options)
  const [out] = fusedOrComposite('OptimalMixture', inputs, {...options}, () => [
    composite(query, mixture, options),
  ])
  return out as tf.Tensor4D
}

function composite(
  query: tf.Tensor4D,
  {vectors, values, bias, balance, affinity, present}: Mixture,
  {scale, coefficient, floor}: MixtureAttributes,
): tf.Tensor4D {
  const [batch, heads, queryLen, headDim] = query.shape
  const [, , count, valueDim] = values.shape
  const proposals = affinity.shape[2]
  const rows = batch * heads
  const perRow = (x: tf.Tensor): tf.Tensor3D => tf.reshape(x, [rows, 1, -1])
  const exists = present && tf.reshape(tf.tile(present, [1, heads]), [rows, 1, proposals])
  const queries: tf.Tensor3D = tf.reshape(query, [rows, queryLen, headDim])
  const keys: tf.Tensor3D = tf.reshape(tf.mul(vectors, scale), [rows, count, headDim])
  const logits = tf.add(matMul(queries, keys, false, true), perRow(bias)) as tf.Tensor3D // [N, L, C']
  const t = tf.transpose(tf.reshape(affinity, [rows, proposals, queryLen]), [0, 2, 1])
  const correction = centred(t as tf.Tensor3D, exists)
  const twice = count > proposals ? tf.concat([correction, correction], -1) : correction
  // the floor keeps the logarithm finite: corrections may take a weight below zero
  const alpha = tf.maximum(tf.add(perRow(balance), tf.mul(twice, coefficient)), floor)
  const all = exists && (count > proposals ? tf.concat([exists, exists], -1) : exists)
  const weighted = tf.add(logits, tf.log(alpha)) as tf.Tensor3D
  const weights = tf.softmax(all ? maskLogits(weighted, all) : weighted)
  const read = matMul(weights, tf.reshape(values, [rows, count, valueDim]))
  return tf.reshape(read, [batch, heads, queryLen, valueDim])
}

/** t minus its mean over the proposals that exist, `[N, L, C]`. */
function centred(t: tf.Tensor3D, exists: tf.Tensor | undefined): tf.Tensor3D {
  const sum = tf.sum(exists ? tf.mul(t, exists) : t, -1, true)
  const count = exists ? tf.maximum(tf.sum(exists, -1, true), 1) : t.shape[2]
  return tf.sub(t, tf.div(sum, count))
}
