import type * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {fourierVariance, gaussianKernel} from '../../theory/kernels.js'
import {featureCost, featureStateBytes} from '../costs.js'
import {featureDecoder} from '../decoders.js'
import {type FeatureRecipe, featureMap, formFeatures} from '../kernels/index.js'
import {type AttendInputs, type AttendResult, defineEstimator, type Projection} from '../types.js'
import {featureAttention} from './feature-attention.js'
import {guardOf, guardOptions} from './options.js'

const options = z.object({
  tau: z
    .number()
    .positive()
    .default(1)
    .describe('divides the unit vectors; the softmax temperature it realises is tau^2'),
  normEpsilon: z
    .number()
    .nonnegative()
    .default(0)
    .describe('added to each norm before dividing by it'),
  featureScale: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe('factor on features instead of M^-1/2; matters only beside a guard'),
  ...guardOptions,
})
type Options = z.output<typeof options>

/**
 * Random feature attention: sin/cos features of unit-norm queries and keys.
 *
 * `phi(x) = M^(-1/2) [sin W x, cos W x]`, `x = q / (tau |q|)`. On unit vectors the Gaussian kernel is
 * the softmax kernel up to a constant that cancels, so the limit is softmax of the *normalised*
 * queries and keys at temperature `tau^2`, not of the given ones. Weights can be negative.
 *
 * Source: Peng et al. 2021, arXiv:2103.02143, section 3.1.
 */
export default defineEstimator({
  name: 'rfa',
  title: 'Random feature attention (sin/cos on unit vectors)',
  citation: 'Peng et al. 2021, arXiv:2103.02143',
  formula: 'phi(x) = M^(-1/2) [sin W x, cos W x], x = q / (tau |q|)',
  advice:
    'For models trained with normalised queries and keys. Below tau of about 0.5 denominators turn negative; against softmax of the raw q, k it mostly measures the normalisation.',
  unbiasedFor: 'gaussian-kernel',
  nonNegative: false,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  projection: {default: 'orth'},
  featureDim: numFeatures => 2 * numFeatures,
  options,
  inputs: () => 'raw',
  target: ({tau}) => ({
    kernel: 'softmax',
    inputs: 'unit',
    inputScale: 1 / tau,
    label: `softmax of unit q, k at temperature ${Number((tau * tau).toPrecision(6))}`,
  }),
  kernel: {
    formula: 'exp(-|x-y|^2/2)',
    expectation: gaussianKernel,
    variance: fourierVariance,
    features: (x, projection) => featureMap(x, projection, 'trigonometric'),
  },
  varianceLaw: 'trigonometric',
  cost: shape => featureCost(shape, 2 * shape.numFeatures, shape.numFeatures),
  stateBytes: ({numFeatures, valueDim}) => featureStateBytes(2 * numFeatures, valueDim),
  attend,
  decoder: inputs => {
    const {projection, options} = inputs
    const features = rfaRecipe(projection!, options)
    return featureDecoder(
      inputs,
      2 * projection!.shape.at(-2)!,
      {query: features, key: features},
      {guard: guardOf(options, true)},
    )
  },
  presets: {
    'noahs-ark': {
      options: {
        normEpsilon: 1e-3,
        featureScale: 0.1,
        denGuard: 'abs-clamp:1',
        causalDenGuard: 'clamp:1',
      },
      quirk:
        'features scaled by 0.1 and denominators raised to 1: the first causal positions are shrunk towards zero',
    },
  },
})

function attend(inputs: AttendInputs<Options>): AttendResult {
  const {query, key, value, causal, keyMask, projection, options} = inputs
  const recipe = rfaRecipe(projection!, options)
  return featureAttention({
    queryFeatures: {...recipe, x: query},
    keyFeatures: {...recipe, x: key},
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
  })
}

type RecipeOptions = Pick<Options, 'tau' | 'normEpsilon' | 'featureScale'>

/** Features of raw vectors: normalised, divided by tau, projected, sin and cos. */
function rfaRecipe(
  projection: Projection,
  {tau, normEpsilon, featureScale}: RecipeOptions,
): FeatureRecipe {
  const numFeatures = projection.shape.at(-2)!
  return {
    kind: 'trigonometric',
    projection,
    unitNorm: true,
    normEpsilon,
    inputScale: 1 / tau,
    // the map itself has the factor M^-1/2
    featureScale: featureScale === null ? 1 : featureScale * Math.sqrt(numFeatures),
  }
}

/** The features themselves, `[B, H, n, 2M]`. */
export function rfaFeatures(
  x: tf.Tensor4D,
  projection: Projection,
  options: RecipeOptions,
): tf.Tensor4D {
  return formFeatures({...rfaRecipe(projection, options), x})
}
