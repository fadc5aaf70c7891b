/** Every kernel that the backend brings. */
import type {NativeKernel} from '../kernel.js'
import adamStep from './adam-step.js'
import binary from './binary.js'
import cacheDecode from './cache-decode.js'
import causalFeatureAttentions from './causal-feature-attention.js'
import crossEntropies from './cross-entropy.js'
import cumsum from './cumsum.js'
import cumulativeLogSumExp from './cumulative-log-sum-exp.js'
import featureMap from './feature-map.js'
import featureMapGradient from './feature-map-gradient.js'
import gathers from './gather.js'
import halfSquaredNorm from './half-squared-norm.js'
import linearAttention from './linear-attention.js'
import linearAttentionGradient from './linear-attention-gradient.js'
import linearDecode from './linear-decode.js'
import logFeatureDecode from './log-feature-decode.js'
import logSumExp from './log-sum-exp.js'
import maskedSoftmax from './masked-softmax.js'
import matMuls from './mat-mul.js'
import moves from './moves.js'
import normalizeRows from './normalize-rows.js'
import normalizeRowsGradient from './normalize-rows-gradient.js'
import optimalMixture from './optimal-mixture.js'
import reductions from './reductions.js'
import sampleKeys from './sample-keys.js'
import segmentMeans from './segment-means.js'
import select from './select.js'
import softmax from './softmax.js'
import softmaxAttentions from './softmax-attention.js'
import transpose from './transpose.js'
import unary from './unary.js'

export const NATIVE_KERNELS: readonly NativeKernel[] = [
  ...softmaxAttentions,
  sampleKeys,
  segmentMeans,
  optimalMixture,
  featureMap,
  featureMapGradient,
  halfSquaredNorm,
  linearAttention,
  linearAttentionGradient,
  ...causalFeatureAttentions,
  linearDecode,
  logFeatureDecode,
  cacheDecode,
  logSumExp,
  maskedSoftmax,
  ...crossEntropies,
  adamStep,
  ...matMuls,
  normalizeRows,
  normalizeRowsGradient,
  ...unary,
  ...binary,
  ...reductions,
  ...moves,
  ...gathers,
  cumsum,
  cumulativeLogSumExp,
  select,
  softmax,
  transpose,
]
