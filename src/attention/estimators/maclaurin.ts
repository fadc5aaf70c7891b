import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {maclaurinRow} from '../../theory/maclaurin.js'
import {averaged} from '../../theory/moments.js'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {featureDecoder} from '../forms/decoders/features.js'
import {extendedDecoder} from '../forms/decoders/stateful.js'
import type {DecoderInputs} from '../forms/estimator.js'
import {type AttendInputs, defineEstimator} from '../forms/estimator.js'
import {featureAttention, scaledInputs} from '../forms/feature-attention.js'
import {type MaclaurinPlan, maclaurin, maclaurinPlan} from '../forms/maclaurin.js'
import type {Noise, NoiseSpec} from '../forms/noise.js'
import {GUARDS_IDLE, guardOf, guardOptions} from '../forms/options.js'
import {softmaxTarget} from '../forms/targets.js'
import type {AttendResult, Decoder} from '../types.js'

const options = z.object({
  maxDegree: z
    .number()
    .int()
    .min(1)
    .max(30)
    .default(12)
    .describe(
      'K, the highest degree: estimates exp(x.y) without the terms beyond, a relative bias of at most e^(2 |x.y|) |x.y|^(K+1) / (K+1)!',
    ),
  ...guardOptions,
})
type Options = z.output<typeof options>

/**
 * Random Maclaurin features: products of random signed projections, as many factors as a random degree
 * says; an unbiased estimate of the power series of exp(x.y) up to degree K.
 *
 * `phi_i(x) = (M N! p_N)^(-1/2) prod_{j <= N} (w_ij.x)`, N = N_i with `p_n ~ 2^-(n+1)`, w_ij of
 * independent signs. The degrees are the same for queries and keys and weigh more than the vectors: even at
 * x = y = 0 the variance is about 1 / M. At K = 12 the bias is below float32 rounding for |x.y| <= 1.
 *
 * Source: Kar & Karnick 2012, arXiv:1201.6530, algorithm 1.
 */
export default defineEstimator({
  name: 'maclaurin',
  title: 'Random Maclaurin features',
  citation: 'Kar & Karnick 2012, arXiv:1201.6530',
  formula: 'phi_i(x) = (M N! p_N)^(-1/2) prod_{j <= N} (w_ij.x), p_n ~ 2^-(n+1)',
  advice:
    'A baseline for kernels of inner products, at |x||y| below 1. Weights can be negative, tails are heavy; positive features serve softmax better.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: false,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  sizedBy: 'random products',
  noise: ({numFeatures, headDim}, {maxDegree}) => noiseSpecs(numFeatures, headDim, maxDegree),
  featureDim: numFeatures => numFeatures,
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  kernel: {
    formula: ({maxDegree}) => `exp(x.y) up to degree ${maxDegree}`,
    moments: (x, y, {numFeatures, options}) =>
      averaged(maclaurinRow(x, y, options.maxDegree), numFeatures),
    features: (x, _projection, {maxDegree}, {noise}) => {
      const {features, logScale} = maclaurin(x, planOf(noise, maxDegree))
      return tf.mul(features, tf.expandDims(tf.exp(logScale), -1))
    },
    idle: () => GUARDS_IDLE,
  },
  cost: shape => featureCost(shape, shape.numFeatures, shape.numFeatures), // the mean degree is 1
  stateBytes: ({numFeatures, valueDim}) => featureStateBytes(numFeatures, valueDim),
  attend,
  decoder,
  presets: {},
})

function noiseSpecs(numFeatures: number, headDim: number, maxDegree: number) {
  return {
    degrees: {distribution: 'uniform', rows: numFeatures, columns: 1, shared: true},
    signs: {distribution: 'sign', rows: numFeatures, columns: maxDegree * headDim, shared: true},
  } as const satisfies Record<string, NoiseSpec>
}

function planOf({degrees, signs}: Noise, maxDegree: number): MaclaurinPlan {
  return maclaurinPlan({degrees: degrees!, signs: signs!}, maxDegree)
}

function attend(inputs: AttendInputs<Options>): AttendResult {
  const {value, causal, keyMask, noise, options} = inputs
  const {query, key} = scaledInputs(inputs)
  const plan = planOf(noise, options.maxDegree)
  const keys = maclaurin(key, plan)
  return featureAttention({
    queryFeatures: maclaurin(query, plan).features, // its scale cancels
    keyFeatures: keys.features,
    keyLogWeight: keys.logScale,
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
  })
}

function decoder(inputs: DecoderInputs<Options>): Decoder {
  const {headDim, logitScale, numFeatures, noiseRows, options} = inputs
  const plan = tf.tidy(() => {
    const {degrees, signs} = noiseSpecs(numFeatures, headDim, options.maxDegree)
    const draw = {degrees: noiseRows('degrees', degrees, 0), signs: noiseRows('signs', signs, 0)}
    return keepPlan(planOf(draw, options.maxDegree))
  })
  const features = (token: tf.Tensor4D) => maclaurin(tf.mul(token, Math.sqrt(logitScale)), plan)
  const inner = featureDecoder(
    inputs,
    numFeatures,
    {
      query: token => features(token).features,
      key: token => features(token).features,
      keyLogWeight: token => features(token).logScale,
    },
    {guard: guardOf(options, true)},
  )
  return extendedDecoder(inner, tensorsOf(plan))
}

function tensorsOf({levels, ...rest}: MaclaurinPlan): tf.Tensor[] {
  return [...levels.map(({active}) => active), ...Object.values(rest)]
}

function keepPlan(plan: MaclaurinPlan): MaclaurinPlan {
  for (const tensor of tensorsOf(plan)) tf.keep(tensor)
  return plan
}
