import {z} from 'zod'
import {describe, expected} from '../../errors.js'
import {tf} from '../../tf.js'
import {importanceCost} from '../forms/costs.js'
import {type AttendInputs, defineEstimator} from '../forms/estimator.js'
import {landmarkParameters, mapLandmarks, mixLandmarks} from '../forms/landmarks.js'
import type {Noise, NoiseSpec} from '../forms/noise.js'
import {noiseDeviation, noiseScale, tokenCount} from '../forms/options.js'
import {type Grid, gridPools, type Pools, segmentPools, segmentStarts} from '../forms/pools.js'
import {softmaxTarget} from '../forms/targets.js'
import {halfSquaredNorm, maskLogits, matMul, softmaxAttention} from '../kernels/index.js'
import {logSumExp} from '../kernels/log-sum-exp.js'
import {finiteLogSums, presence} from '../kernels/masking.js'
import {optimalMixture} from '../kernels/optimal-mixture.js'
import type {CallShape} from '../types.js'

/**
 * Linear randomized attention: self-normalised importance sampling of randomized attention from C shared
 * proposals, with weights per query.
 *
 * `out_n = sum_c p_nc f(w_c)`, `p_n = softmax_c(log alpha_nc + w_c.x_n + lse_m(w_c.y_m - |y_m|^2/2) - log q_c(w_c))`,
 * `f(w) = softmax_m(w.y_m - |y_m|^2/2) V`, `w_c ~ N(mu_c, I)`, `mu_c` the sum of the means of the queries
 * and keys of segment c, q_c its density over that of N(0, I). All in the log domain: two attentions.
 * The correction of `mis=opt` follows the authors' code, which takes its softmax over queries.
 *
 * Source: Zheng, Wang, Kong 2022, arXiv:2204.04667, section 4.
 */
const options = z.object({
  mis: z
    .enum(['opt', 'bh', 'biased'])
    .default('opt')
    .describe(
      'weights of the proposals: corrected per query, balance heuristic, or exp(mu.x) without its density',
    ),
  alphaCoefficient: z.number().default(1).describe('mis=opt: factor on the correction per query'),
  alphaFloor: z
    .number()
    .positive()
    .default(1e-8)
    .describe('mis=opt: smallest weight of a proposal'),
  tAxis: z
    .enum(['query', 'proposal'])
    .default('query')
    .describe('mis=opt: whether the correction is a softmax over queries or over proposals'),
  proposals: z
    .enum(['chunk', 'grid', 'zero'])
    .default('chunk')
    .describe('centres: means of segments, means of cells of a grid of tokens, or zero'),
  gridHeight: tokenCount
    .nullable()
    .default(null)
    .describe('proposals=grid: rows of tokens; null: from gridWidth, or a square'),
  gridWidth: tokenCount
    .nullable()
    .default(null)
    .describe('proposals=grid: tokens per row; null: from gridHeight, or a square'),
  mixing: z
    .enum(['none', 'keys', 'values'])
    .default('none')
    .describe(
      'landmark keys attend to each other; values: weighted by the length of landmark values',
    ),
  learnedPlace: z
    .enum(['tokens', 'means'])
    .default('tokens')
    .describe('whether learned arrays, where given, apply before or after taking means'),
  sampling: z
    .enum(['single', 'mean', 'antithetic', 'multisample'])
    .default('single')
    .describe('vectors per proposal: one, its centre, centre +- noise, or two'),
  noiseScale,
  balance: z
    .enum(['proposals', 'samples'])
    .default('proposals')
    .describe('mis=opt, two vectors per proposal: whether its density counts once or twice'),
  maskedMeans: z
    .enum(['exact', 'zeroed'])
    .default('exact')
    .describe('masked keys leave the means, or count in them as zeros (queries too)'),
})
type Options = z.output<typeof options>

export default defineEstimator({
  name: 'lara',
  title: 'LARA, linear randomized attention',
  citation: 'Zheng, Wang, Kong 2022, arXiv:2204.04667',
  formula:
    'out_n = sum_c softmax_c(log alpha_nc + w_c.x_n + lse_m(w_c.y_m - |y_m|^2/2) - log q_c(w_c)) f(w_c), w_c ~ q_c = N(mu_c, I)',
  advice:
    'For sequences or images with similar neighbours: segment means guide the samples, and lara beats the same number of random features. On tokens without order it does not. sampling=mean is deterministic and often more accurate.',
  unbiasedFor: 'none',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: false, cross: true, decode: false, keyMask: true},
  keyOrderMatters: true,
  // cells of a grid have their places, and the released means count what is masked
  maskedTokens: ({proposals, maskedMeans}) =>
    proposals === 'grid' || maskedMeans === 'zeroed' ? 'in-place' : 'left-out',
  sizedBy: 'proposals',
  featureDim: () => 0,
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  noise: noiseOf,
  parameters: landmarkParameters,
  cost: (shape, options) =>
    importanceCost(
      shape,
      proposalCount(shape, options),
      vectorsPer(options),
      options.mis === 'opt',
    ),
  attend: inputs => ({out: importanceSampled(inputs)}),
  proposalHead: (head, options) =>
    isPlain(options)
      ? {
          ...{...head, segments: segmentStarts, mis: options.mis},
          ...{coefficient: options.alphaCoefficient, floor: options.alphaFloor},
          axis: options.tAxis,
        }
      : undefined,
  presets: {
    hku: {
      options: {noiseScale: 'official', balance: 'samples', maskedMeans: 'zeroed'},
      quirk:
        'adds unit noise to unscaled centres, D^(-1/4) of what its densities assume; padding counts in the means as zeros; its evaluation is sampling=mean',
    },
  },
})

/** Whether proposals are means of segments of tokens with one vector each. */
function isPlain({proposals, mixing, sampling, noiseScale, maskedMeans}: Options): boolean {
  const ofSegments = proposals === 'chunk' && mixing === 'none' && maskedMeans === 'exact'
  return ofSegments && sampling === 'single' && noiseScale === 'canonical'
}

/** C: what was asked for, at most the number of tokens; on a grid the largest square below it. */
function proposalCount(
  {queryLen, keyLen, numFeatures}: Pick<CallShape, 'queryLen' | 'keyLen' | 'numFeatures'>,
  {proposals}: Options,
): number {
  if (proposals === 'zero') return numFeatures
  if (proposals === 'grid') return Math.floor(Math.sqrt(numFeatures)) ** 2
  return Math.min(numFeatures, queryLen, keyLen)
}

function vectorsPer({sampling}: Options): number {
  return sampling === 'antithetic' || sampling === 'multisample' ? 2 : 1
}

function noiseOf(shape: CallShape, options: Options): Record<string, NoiseSpec> {
  if (options.sampling === 'mean') return {}
  const rows = proposalCount(shape, options) * (options.sampling === 'multisample' ? 2 : 1)
  return {noise: {distribution: 'normal', rows, columns: shape.headDim}}
}

/** Landmarks of both sides, `[B, H, C, D]`, unscaled. */
interface Landmarks {
  query: tf.Tensor4D
  key: tf.Tensor4D
  /** `[B, C]`, see {@link Pools}. */
  present: tf.Tensor2D | undefined
}

function importanceSampled(given: AttendInputs<Options>): tf.Tensor4D {
  const inputs = withoutPadding(given)
  const {query, key, value, inputScale, keyMask, options} = inputs
  const scale = inputScale ** 2
  const landmarks = landmarksOf(inputs)
  const centres = tf.add(landmarks.query, landmarks.key) as tf.Tensor4D
  const twice = vectorsPer(options) === 2
  const own: tf.Tensor4D = twice ? tf.concat([centres, centres], 2) : centres
  const vectors = drawnAround(own, inputs)
  // f(w_c), and the log of its normaliser: the mass of the keys under w_c. O(S C (D + Dv))
  const {out: values, lse} = softmaxAttention(vectors, key, value, {
    scale,
    keyBias: tf.neg(halfSquaredNorm(key, inputScale)),
    keyMask,
  })
  const mass = keyMask ? finiteLogSums(lse) : lse
  const {present} = landmarks
  const density = logDensities(vectors, centres, inputScale, present)
  if (options.mis !== 'opt') {
    // balance heuristic: alpha_c over the density of c is 1 over the sum of all densities; biased: times exp(mu_c.x)
    // w.x + mu.x is (w + mu).x: the factor exp(mu_c.x_n) needs no separate product
    const keys = options.mis === 'bh' ? vectors : tf.add(vectors, own)
    const keyBias = masked(tf.sub(mass, density), present, twice)
    return softmaxAttention(query, keys as tf.Tensor4D, values, {scale, keyBias}).out
  }
  // log q_c(w_c) of the vector's own proposal: w.mu - |mu|^2/2
  const ownDensity = tf.sub(
    tf.mul(tf.sum(tf.mul(vectors, own), -1), scale),
    halfSquaredNorm(own, inputScale),
  ) as tf.Tensor3D
  // doubled proposals count twice among the densities, so that each has half the share
  const halved = twice && options.balance === 'samples' ? Math.LN2 : 0
  // a proposal's density is one of those summed: only rounding, or a proposal that is absent, exceeds 0
  const share = tf.minimum(tf.sub(ownDensity, density), 0)
  return optimalMixture(
    query,
    {
      ...{vectors, values, present},
      bias: tf.sub(mass, ownDensity),
      balance: tf.exp(tf.sub(share, halved)),
      affinity: affinities(query, landmarks, scale, options),
    },
    {scale, coefficient: options.alphaCoefficient, floor: options.alphaFloor},
  )
}

/** Masked tokens as zeros, for the peer's means. */
function withoutPadding(inputs: AttendInputs<Options>): AttendInputs<Options> {
  const {query, key, value, keyMask, options} = inputs
  if (!keyMask || options.maskedMeans !== 'zeroed') return inputs
  const [batch, keyLen] = keyMask.shape
  const kept = tf.reshape(presence(keyMask), [batch, 1, keyLen, 1])
  return {
    ...inputs,
    // only where both sides are one sequence does the mask of keys say anything of queries
    query: query.shape[2] === keyLen ? tf.mul(query, kept) : query,
    key: tf.mul(key, kept),
    value: tf.mul(value, kept),
  }
}

function landmarksOf(inputs: AttendInputs<Options>): Landmarks {
  const {query, key, value, inputScale, parameters, options} = inputs
  const [batch, heads, , headDim] = query.shape
  if (options.proposals === 'zero') {
    const zero = tf.zeros<tf.Rank.R4>([batch, heads, inputs.numFeatures, headDim])
    return {query: zero, key: zero, present: undefined}
  }
  const pools = poolsOf(inputs)
  const landmark = (side: 'query' | 'key', x: tf.Tensor4D) => {
    const learned = (y: tf.Tensor4D) => mapLandmarks(y, side, parameters)
    return options.learnedPlace === 'tokens' ? pools[side](learned(x)) : learned(pools[side](x))
  }
  const keys = landmark('key', key)
  const values = options.mixing === 'values' ? pools.key(value) : undefined
  return {
    query: landmark('query', query),
    key:
      options.mixing === 'none' ? keys : mixLandmarks(keys, inputScale ** 2, values, pools.present),
    present: pools.present,
  }
}

function poolsOf({query, key, keyMask, numFeatures, options}: AttendInputs<Options>): Pools {
  const [queryLen, keyLen] = [query.shape[2], key.shape[2]]
  const mask = options.maskedMeans === 'exact' ? keyMask : undefined
  const count = proposalCount({queryLen, keyLen, numFeatures}, options)
  if (options.proposals === 'chunk') return segmentPools({queryLen, keyLen, count}, mask)
  const grid = (length: number) => gridOf(length, options)
  return gridPools({query: grid(queryLen), key: grid(keyLen), side: Math.sqrt(count)}, mask)
}

/** The grid that holds exactly `length` tokens. @throws {BAD_OPTION} when they do not */
function gridOf(length: number, {gridHeight, gridWidth}: Options): Grid {
  const height = gridHeight ?? (gridWidth === null ? Math.sqrt(length) : length / gridWidth)
  const width = gridWidth ?? length / height
  if (Number.isInteger(height) && Number.isInteger(width) && height * width === length) {
    return {height, width}
  }
  const where = 'lara.gridHeight and lara.gridWidth'
  const what = `sizes of a grid of ${length} tokens`
  const got = `${describe(gridHeight)} and ${describe(gridWidth)}`
  throw expected('BAD_OPTION', where, what, got, 'give both sizes', 'use proposals=chunk')
}

/** The vectors of proposals around their centres, in units of unscaled queries. */
function drawnAround(
  centres: tf.Tensor4D,
  {inputScale, noise, options}: {inputScale: number; noise: Noise; options: Options},
): tf.Tensor4D {
  if (options.sampling === 'mean') return centres
  const spread = tf.mul(noise.noise!, noiseDeviation(options.noiseScale, inputScale))
  // pairs mu + e, mu - e: the first half of the vectors, then the second
  const all = options.sampling === 'antithetic' ? tf.concat([spread, tf.neg(spread)], 2) : spread
  return tf.add(centres, all)
}

/**
 * Log of the sum over proposals of N(w; mu_c, I) / N(w; 0, I) = exp(w.mu_c - |mu_c|^2/2), for every vector.
 *
 * @returns `[B, H, C']`
 */
function logDensities(
  vectors: tf.Tensor4D,
  centres: tf.Tensor4D,
  inputScale: number,
  present: tf.Tensor2D | undefined,
): tf.Tensor3D {
  const [batch, heads, count] = vectors.shape
  const proposals = centres.shape[2]
  // O(C' C D)
  const products = innerProducts(vectors, tf.mul(centres, inputScale ** 2))
  const halfNorms = tf.reshape(halfSquaredNorm(centres, inputScale), [batch, heads, 1, proposals])
  const logs = tf.sub(products, halfNorms) as tf.Tensor4D // [B, H, C', C]
  const seen = present ? maskLogits(logs, tf.reshape(present, [batch, 1, 1, proposals])) : logs
  return tf.reshape(logSumExp(seen), [batch, heads, count])
}

/** Biases with those of absent proposals set to that of a masked key. */
function masked(bias: tf.Tensor3D, present: tf.Tensor2D | undefined, twice: boolean): tf.Tensor3D {
  if (!present) return bias
  const all = twice ? tf.concat([present, present], 1) : present
  return maskLogits(bias, tf.expandDims(all, 1))
}

/** t: softmax of landmark queries with queries, over the queries or over the proposals, `[B, H, C, L]`. */
function affinities(
  query: tf.Tensor4D,
  {query: landmarks, present}: Landmarks,
  scale: number,
  {tAxis}: Options,
): tf.Tensor4D {
  const logits: tf.Tensor4D = innerProducts(tf.mul(landmarks, scale), query)
  if (tAxis === 'query') return tf.softmax(logits) // as coded, although weights are per query
  const perQuery = tf.transpose(logits, [0, 1, 3, 2])
  const seen = present
    ? maskLogits(perQuery, tf.expandDims(tf.expandDims(present, 1), 1))
    : perQuery
  return tf.transpose(tf.softmax(seen), [0, 1, 3, 2])
}

/** a b^T of every head, `[B, H, rows of a, rows of b]`. */
function innerProducts(a: tf.Tensor4D, b: tf.Tensor4D): tf.Tensor4D {
  const [batch, heads, rows, dim] = a.shape
  const flat = (x: tf.Tensor4D): tf.Tensor3D => tf.reshape(x, [batch * heads, -1, dim])
  return tf.reshape(matMul(flat(a), flat(b), false, true), [batch, heads, rows, b.shape[2]])
}
