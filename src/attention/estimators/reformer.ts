import {tf} from '../../tf.js'
import {type AttendInputs, defineEstimator} from '../forms/estimator.js'
import type {NoiseSpec} from '../forms/noise.js'
import {type ChunkPlan, planChunks} from '../forms/reformer/buckets.js'
import {
  chunkSizeOf,
  type ReformerOptions,
  reformerOptions,
  rotationsOf,
} from '../forms/reformer/options.js'
import {type RoundView, roundsInView, roundView} from '../forms/reformer/views.js'
import {mapInput} from '../kernels/feature-map.js'
import type {SoftmaxAttentionResult} from '../kernels/index.js'
import {logSumExp} from '../kernels/log-sum-exp.js'
import {maskLogits, presence, sawAnyKey} from '../kernels/masking.js'
import {matMul} from '../kernels/mat-mul.js'
import {mergeSoftmax} from '../kernels/merge-softmax.js'
import type {CallShape, Cost} from '../types.js'

/**
 * Locality-sensitive hashing: queries see the tokens that hash near them. Keys are the queries divided by
 * their length; given keys are not looked at.
 *
 * In each round tokens are sorted by (bucket, position) and cut into chunks; a chunk sees itself and the one
 * before. `out_i = sum_j p_ij v_j`, p_i the softmax of `beta q_i.q_j / |q_j|` over all j seen in any round, i itself only
 * where there is no other. Biased: keys that are never in view are missing. Causal rows use no later token, but
 * which earlier ones they see depends on later tokens, which sorting moves. A masked token is neither key
 * nor query: its row is zero.
 *
 * Source: Kitaev, Kaiser, Levskaya 2020, arXiv:2001.04451, section 2 and appendix A.
 */
export default defineEstimator({
  name: 'reformer',
  title: 'Reformer: locality-sensitive hashing',
  citation: 'Kitaev et al. 2020, arXiv:2001.04451',
  formula: 'softmax of beta q_i.q_j / |q_j| over tokens j in chunks sorted by argmax [W q, -W q]',
  advice:
    'For models trained with shared queries and keys, and with peaked attention. Flat attention loses most of its keys; more rounds or larger chunks recover them.',
  unbiasedFor: 'none',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: false, decode: false, keyMask: true},
  causalSelectionLeaks: true,
  keyOrderMatters: true,
  ignores: {key: 'keys are the unit vectors of queries'},
  sizedBy: 'tokens per chunk',
  noise: (shape, options): Record<string, NoiseSpec> => {
    const halves = rotationsOf(shape.keyLen, chunkSizeOf(shape, options), options)
    const rows = options.rounds * halves
    return {rotations: {distribution: 'normal', rows, columns: shape.headDim, shared: true}}
  },
  featureDim: () => 0,
  options: reformerOptions,
  inputs: () => 'canonical',
  target: ({self}) => ({
    kernel: 'softmax',
    inputs: 'shared',
    excludesSelf: self === 'last',
    inputScale: 1,
    label: 'shared-QK softmax',
  }),
  cost,
  attend: inputs => ({out: attend(inputs)}),
  presets: {
    'fast-transformers': {
      options: {
        rounds: 4,
        chunkSize: 32,
        buckets: 16,
        self: 'too',
        combine: 'uniform',
        duplicates: 'every-round',
      },
      quirk: 'weights all rounds alike; the number of buckets does not grow with the length',
    },
    'reformer-pytorch': {
      options: {rounds: 8, chunkSize: 64, lookBack: 'wrap', duplicates: 'every-round'},
      quirk:
        'keys found in several rounds count several times; the first chunk of a round sees the last of another round',
    },
  },
})

function attend(inputs: AttendInputs<ReformerOptions>): tf.Tensor4D {
  const {query, value, keyMask, options, noise, numFeatures} = inputs
  const length = query.shape[2]
  const chunkSize = chunkSizeOf({numFeatures}, options)
  const rotations = noise.rotations!
  const plan = planChunks({query, rotations, keyMask, chunkSize, options})
  // the keys; a zero vector stays zero
  const unit = mapInput(query, {unitNorm: true})
  const rounds = plan.rounds.map((_, round) => {
    const view = roundView(plan, round, length, options)
    const result = attendRound(inputs, unit, view, plan)
    return options.combine === 'uniform' ? orSelf(result, value, options) : result
  })
  let out: tf.Tensor4D
  if (options.combine === 'uniform') {
    out = tf.div(tf.addN(rounds.map(result => result.out)), rounds.length)
  } else {
    // rounds weighted by exp(lse): one softmax over all that was seen in any
    const merged = rounds.reduce(mergeSoftmax)
    out = orSelf(merged, value, options).out
  }
  if (!keyMask) return out
  return tf.mul(out, tf.reshape(presence(keyMask), [query.shape[0], 1, length, 1]))
}

/** Softmax of each query over the chunks that it sees in one round. */
function attendRound(
  {query, value, inputScale, causal, options}: AttendInputs<ReformerOptions>,
  unit: tf.Tensor4D,
  view: RoundView,
  plan: ChunkPlan,
): SoftmaxAttentionResult {
  const [batch, heads, length] = query.shape
  const valueDim = value.shape[3]
  const chunks = view.queryPositions.shape[0]
  const rows = (tokens: tf.Tensor4D, at: Int32Array): tf.Tensor3D => {
    const columns = tokens.shape[3]
    const flat = tf.reshape(tokens, [batch * heads * length, columns])
    return tf.reshape(tf.gather(flat, tf.tensor1d(at, 'int32')), [chunks, -1, columns])
  }
  // [n, c, K]: n chunks (of all heads) of c queries, each with the K keys of the chunks in view
  const products = matMul(rows(query, view.queryRows), rows(unit, view.keyRows), false, true)
  let logits: tf.Tensor3D = tf.mul(products, inputScale ** 2)
  if (options.duplicates === 'once' && options.rounds > 1) {
    const times = roundsInView(plan, view, length, options)
    // a pair seen in t rounds has its weight divided by t in each, so that all rounds give it once
    logits = tf.sub(logits, tf.log(tf.maximum(times, 1)))
  }
  logits = maskLogits(logits, inView(view, causal, options))
  const lse = logSumExp(logits) // [n, c, 1]
  // at most 1 each, since lse is no less than the largest logit
  const weights = tf.exp(tf.sub(logits, lse)) as tf.Tensor3D
  const out = tf.mul(matMul(weights, rows(value, view.keyRows)), sawAnyKey(lse)) as tf.Tensor3D
  // back from sorted places to positions
  const places = lse.size
  const unsorted = (sorted: tf.Tensor3D, columns: number): tf.Tensor =>
    tf.gather(tf.reshape(sorted, [places, columns]), tf.tensor1d(view.placeOf, 'int32'))
  return {
    out: tf.reshape(unsorted(out, valueDim), [batch, heads, length, valueDim]),
    lse: tf.reshape(unsorted(lse, 1), [batch, heads, length]),
  }
}

/** Which key places the queries of a chunk see, `[n, c, K]`. */
function inView(
  {queryPositions, keyPositions, keyPresent}: RoundView,
  causal: boolean,
  {self}: ReformerOptions,
): tf.Tensor {
  // by position in the sequence, not by place after sorting
  if (causal) {
    const earlier = self === 'too' ? tf.lessEqual : tf.less
    return tf.cast(earlier(keyPositions, queryPositions), 'float32')
  }
  if (self === 'too') return keyPresent
  return tf.mul(tf.cast(tf.notEqual(keyPositions, queryPositions), 'float32'), keyPresent)
}

/** A token that sees no other sees itself. */
function orSelf(
  {out, lse}: SoftmaxAttentionResult,
  value: tf.Tensor4D,
  {self}: ReformerOptions,
): SoftmaxAttentionResult {
  if (self === 'too') return {out, lse}
  // a row that saw no key is zero so far, and its own value is all there is
  const alone = tf.expandDims(tf.sub(1, sawAnyKey(lse)), 3)
  return {out: tf.add(out, tf.mul(value, alone)), lse}
}

/** In every round: hashing, and each query over two chunks. */
function cost(shape: CallShape, options: ReformerOptions): Cost {
  const {batch, heads, queryLen, headDim, valueDim} = shape
  const chunkSize = chunkSizeOf(shape, options)
  const keys = Math.min(2 * chunkSize, queryLen)
  const halves = rotationsOf(queryLen, chunkSize, options)
  const marks = options.duplicates === 'once' && options.rounds > 1 ? 4 * options.rounds : 0
  const pairs = queryLen * keys * (2 * (headDim + valueDim) + 10 + marks)
  const hashing = queryLen * (2 * halves * headDim + 2 * halves)
  return {flops: batch * heads * options.rounds * (pairs + hashing)}
}
