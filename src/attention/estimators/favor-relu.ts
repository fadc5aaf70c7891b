import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {arcCosineKernel, rectifiedVariance} from '../../theory/kernels.js'
import {featureCost, featureStateBytes} from '../costs.js'
import {featureDecoder} from '../decoders.js'
import {type FeatureRecipe, type Features, featureMap} from '../kernels/index.js'
import {type AttendInputs, type AttendResult, defineEstimator, type Projection} from '../types.js'
import {featureAttention} from './feature-attention.js'
import {featureEpsilon, guardOf, guardOptions, normalizerEpsilon} from './options.js'

const options = z.object({
  features: z
    .enum(['random', 'deterministic'])
    .default('random')
    .describe('random: relu(W x); deterministic: relu(x), no projection'),
  inputScaling: z
    .enum(['canonical', 'raw'])
    .default('canonical')
    .describe('canonical: inputs times sqrt(logit scale); raw: as they are'),
  projectionScale: z
    .enum(['none', 'rsqrt'])
    .default('none')
    .describe('rsqrt: W times M^-1/2; matters only beside an epsilon or a guard'),
  featureEpsilon,
  normalizerEpsilon,
  ...guardOptions,
})
type Options = z.output<typeof options>

/**
 * Generalised attention with rectified features: deterministic weights of another kernel, the
 * order-1 arc-cosine kernel, not of softmax.
 *
 * `phi(x) = relu(W x)`; `E phi(x).phi(y) / M = |x||y| (sin t + (pi - t) cos t) / (2 pi)`, t the angle.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, section 2.4; kernel: Cho & Saul 2009.
 */
export default defineEstimator({
  name: 'favor-relu',
  title: 'Generalised attention, ReLU features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794; Cho & Saul 2009',
  formula: 'phi(x) = relu(W x)',
  advice:
    'A baseline for models trained with it ("Performer" without suffix). It does not approximate softmax at any M.',
  unbiasedFor: 'arc-cosine-kernel',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  projection: {default: 'orth', used: ({features}) => features === 'random'},
  featureDim: (numFeatures, headDim, {features}) => (features === 'random' ? numFeatures : headDim),
  options,
  inputs: ({inputScaling}) => inputScaling,
  target: ({inputScaling, features}) =>
    features === 'deterministic'
      ? undefined
      : {kernel: 'arc-cosine', inputs: inputScaling, inputScale: 1, label: 'arc-cosine kernel'},
  kernel: {
    formula: '|x||y| (sin t + (pi - t) cos t) / (2 pi)',
    expectation: arcCosineKernel,
    variance: rectifiedVariance,
    features: (x, projection) =>
      tf.mul(featureMap(x, projection, 'relu'), projection.shape.at(-2)! ** -0.5),
  },
  cost: (shape, {features}) =>
    features === 'random'
      ? featureCost(shape, shape.numFeatures, shape.numFeatures)
      : featureCost(shape, shape.headDim, 0),
  stateBytes: ({numFeatures, headDim, valueDim}, {features}) =>
    featureStateBytes(features === 'random' ? numFeatures : headDim, valueDim),
  attend,
  decoder: inputs => {
    const {projection, options, headDim, logitScale} = inputs
    const scale = options.inputScaling === 'canonical' ? Math.sqrt(logitScale) : 1
    const recipe = rectifiedRecipe(projection, options)
    const features = recipe
      ? {...recipe, inputScale: scale}
      : (token: tf.Tensor4D) => rectifiedFeatures(tf.mul(token, scale), projection, options)
    const featureDim = options.features === 'random' ? projection!.shape.at(-2)! : headDim
    return featureDecoder(
      inputs,
      featureDim,
      {query: features, key: features},
      {guard: guardOf(options, true), normalizerEpsilon: options.normalizerEpsilon},
    )
  },
  presets: {
    'performer-pytorch': {
      options: {featureEpsilon: 1e-3, normalizerEpsilon: 1e-6},
      quirk: 'adds 1e-3 to every feature: a small uniform share in every row',
    },
    'google-jax': {
      options: {features: 'deterministic', inputScaling: 'raw', featureEpsilon: 1e-3},
      quirk: 'by default no projection at all and no input scaling; adds 1e-3 to every feature',
    },
    'google-slim': {
      options: {features: 'deterministic', inputScaling: 'raw', denGuard: 'add:1e-16'},
      quirk: 'no projection, no input scaling',
    },
    'fast-transformers': {
      options: {inputScaling: 'raw', denGuard: 'add:1e-6'},
      quirk: 'no input scaling; 1e-6 on the denominator',
    },
    hku: {
      options: {projectionScale: 'rsqrt', featureEpsilon: 1e-3, denGuard: 'clamp:1e-2'},
      quirk: 'denominators below 0.01 become 0.01: such rows are shrunk',
    },
  },
})

function attend(inputs: AttendInputs<Options>): AttendResult {
  const {query, key, value, inputScale, causal, keyMask, projection, options} = inputs
  return featureAttention({
    queryFeatures: rectified(query, inputScale, projection, options),
    keyFeatures: rectified(key, inputScale, projection, options),
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
    normalizerEpsilon: options.normalizerEpsilon,
  })
}

/** Features by recipe where there is one. */
function rectified(
  x: tf.Tensor4D,
  inputScale: number,
  projection: Projection | undefined,
  options: Options,
): Features {
  const recipe = rectifiedRecipe(projection, options)
  if (recipe) return {...recipe, x, inputScale}
  return rectifiedFeatures(tf.mul(x, inputScale), projection, options)
}

/** Random features without an epsilon are a recipe: relu(c u) = c relu(u) for c > 0. */
function rectifiedRecipe(
  projection: Projection | undefined,
  {features, projectionScale, featureEpsilon}: Options,
): FeatureRecipe | undefined {
  if (features !== 'random' || featureEpsilon !== 0) return undefined
  const featureScale = projectionScale === 'rsqrt' ? projection!.shape.at(-2)! ** -0.5 : 1
  return {kind: 'relu', projection, featureScale}
}

function rectifiedFeatures(
  x: tf.Tensor4D,
  projection: Projection | undefined,
  {features, projectionScale, featureEpsilon}: Options,
): tf.Tensor4D {
  const plain = features === 'random' ? featureMap(x, projection!, 'relu') : tf.relu(x)
  const scale = projectionScale === 'rsqrt' ? projection!.shape.at(-2)! ** -0.5 : 1
  return tf.add(tf.mul(plain, scale), featureEpsilon) // relu(c u) = c relu(u) for c > 0
}
