import {tf} from '../../tf.js'
import {checkObject} from '../check-tensor.js'
import type {KeyMask} from '../types.js'
import {maskedSoftmaxSizes} from './checks.js'
import {fusedOrComposite, type Gradient} from './dispatch.js'
import {causalMask, headMask, maskLogits, sawAnyKey} from './masking.js'

/** Which keys a query sees. */
export interface Visibility {
  /** Query i sees keys j <= i only. Default false. */
  causal?: boolean
  /** `[B, S]`, nonzero = present. Default: all present. */
  keyMask?: KeyMask | undefined
}

/**
 * Weights of softmax attention, the whole L x S matrix: `p_i = softmax_j(logits_ij)` over the keys j that
 * query i sees, 0 at the others; rows that see no key are zero.
 *
 * This holds for finite logits, hidden ones too: they are hidden by arithmetic, as selecting takes
 * ten times as long on tfjs-wasm. On infinities and NaN backends differ.
 *
 * @param logits - `[B, H, L, S]`, finite, and above -1e29
 * @returns `[B, H, L, S]`
 * @throws {BAD_OPTION} for anything but a tensor or flag
 * @throws {SHAPE_MISMATCH} when logits and mask do not fit together
 */
export function maskedSoftmax(logits: tf.Tensor4D, visibility: Visibility): tf.Tensor4D {
  checkObject('MaskedSoftmax.options', visibility)
  const {causal = false, keyMask} = visibility
  maskedSoftmaxSizes({logits, keyMask}, {causal})
  if (!causal && !keyMask) return tf.softmax(logits)
  const form = () => [composite(logits, {causal, keyMask})]
  const [weights] = fusedOrComposite('MaskedSoftmax', {logits, keyMask}, {causal}, form, GRADIENT)
  return weights as tf.Tensor4D
}

/** `p (dp - sum p dp)`: nothing for hidden logits, which have p = 0. */
const GRADIENT: Gradient = {
  outputsToSave: [true],
  gradFunc(dy, saved) {
    const [weights] = saved as [tf.Tensor]
    const slopes = dy as tf.Tensor
    return {
      logits: () => tf.mul(weights, tf.sub(slopes, tf.sum(tf.mul(weights, slopes), -1, true))),
    }
  },
}

function composite(logits: tf.Tensor4D, {causal, keyMask}: Visibility): tf.Tensor4D {
  const [batch, heads, queryLen, keyLen] = logits.shape
  let seen: tf.Tensor3D = tf.reshape(logits, [batch * heads, queryLen, keyLen])
  if (keyMask) seen = maskLogits(seen, headMask(keyMask, heads))
  if (causal) seen = maskLogits(seen, causalMask(queryLen, keyLen))
  const weights = tf.softmax(seen)
  const kept = keyMask ? tf.mul(weights, sawAnyKey(tf.max(seen, -1, true))) : weights
  return tf.reshape(kept, logits.shape)
}
