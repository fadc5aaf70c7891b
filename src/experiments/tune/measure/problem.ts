/** Queries, keys and values with the outputs of exact attention, as tensors. */
import {attend, tf} from '../../../attention/index.js'
import {hostData} from '../../../attention/internal.js'
import type {CausalView} from '../../../causal-view.js'
import {type AttentionInput, sizesOf} from '../../../inputs/attention-input.js'
import type {LayerInput} from './split.js'

/** Tokens that a method is to reproduce exact attention on. */
export interface Problem {
  query: tf.Tensor4D
  key: tf.Tensor4D
  value: tf.Tensor4D
  /** `[B, S]` */
  keyMask: tf.Tensor2D | undefined
  /** What exact attention is of. */
  target: Pick<Problem, 'query' | 'key' | 'keyMask'>
  /** `[B, H, L, Dv]` */
  exact: tf.Tensor4D
  /** 1 of a query that counts, else 0, `[B, 1, L, 1]`. */
  counts: tf.Tensor4D
  /**
   * Weight of a squared error, `[B, H, L, 1]`: 1 over the squared norm of the exact outputs of its head, and 0 of a query that does
   * not count.
   */
  weights: tf.Tensor4D
  /** Squared norms of the exact outputs of each head. */
  norms: Float32Array
  /** The same of each text, all heads together. */
  textNorms: Float32Array
  /** beta */
  scale: number
  view: CausalView
  dispose(): void
}

/** @param scale - beta */
export function problemOf(input: LayerInput, scale: number, view: CausalView): Problem {
  const {batch, queryLen, keyLen} = sizesOf(input)
  const [query, key, value] = tensorsOf(input)
  const keyMask = input.keyMask && tf.tensor2d(Float32Array.from(input.keyMask), [batch, keyLen])
  const originals = input.original && tensorsOf(input.original)
  const [targetQuery, targetKey, targetValue] = originals ?? [query, key, value]
  const exact = tf.tidy(
    () =>
      attend(targetQuery, targetKey, targetValue, {
        ...{method: 'softmax-online', scale, ...view},
        ...(keyMask && {keyMask}),
      }).out,
  )
  const counts: tf.Tensor4D =
    keyMask && queryLen === keyLen
      ? tf.reshape(keyMask, [batch, 1, queryLen, 1])
      : tf.ones([batch, 1, queryLen, 1])
  const [norms, weights, textNorms] = tf.tidy(() => {
    const counted = tf.mul(tf.square(exact), counts)
    const squares = tf.sum(counted, [0, 2, 3], true) as tf.Tensor4D
    const ofTexts = tf.sum(counted, [1, 2, 3])
    return [squares, tf.div(counts, squares) as tf.Tensor4D, ofTexts]
  })
  const own = [query, key, value, ...(originals ?? []), exact, counts, weights, norms, textNorms]
  const tensors = [...own, ...(keyMask ? [keyMask] : [])]
  return {
    ...{query, key, value, keyMask, target: {query: targetQuery, key: targetKey, keyMask}, exact},
    ...{counts, weights, scale, view},
    ...{norms: numbersOf(norms), textNorms: numbersOf(textNorms)},
    dispose: () => tf.dispose(tensors),
  }
}

type Tokens = [query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D]

function tensorsOf({query, key, value}: AttentionInput): Tokens {
  const [q, k, v] = [query, key, value].map(({data, shape}) => tf.tensor4d(data, shape))
  return [q!, k!, v!]
}

/** Squared relative error of each head, `[H]`. @param out - `[B, H, L, Dv]` */
export function headErrors(out: tf.Tensor4D, {exact, weights}: Problem): tf.Tensor1D {
  // the gradient of each operation by itself would read and write all outputs eight times
  const errors = tf.customGrad((own, save) => {
    if (typeof save !== 'function') throw new TypeError('expected one tensor')
    save([own as tf.Tensor4D])
    return {
      value: tf.sum(tf.mul(tf.squaredDifference(own as tf.Tensor4D, exact), weights), [0, 2, 3]),
      gradFunc: (slope: tf.Tensor, [given]: tf.Tensor[]) => {
        const factors = tf.mul(weights, tf.reshape(tf.mul(slope, 2), [1, -1, 1, 1]))
        return tf.mul(tf.sub(given!, exact), factors)
      },
    }
  })
  return errors(out) as tf.Tensor1D
}

/** What each text adds to these errors, `[B, H]`. @param out - `[B, H, L, Dv]` */
export function textErrors(out: tf.Tensor4D, {exact, weights}: Problem): tf.Tensor2D {
  return tf.sum(tf.mul(tf.squaredDifference(out, exact), weights), [2, 3])
}

/** The numbers of a tensor, which stays. */
export function numbersOf(tensor: tf.Tensor): Float32Array {
  return Float32Array.from(hostData(() => ({copy: tf.clone(tensor)})).copy)
}
