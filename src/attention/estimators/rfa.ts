import type * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {averaged} from '../../theory/moments.js'
import {fourierRow} from '../../theory/rows.js'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {featureDecoder} from '../forms/decoders/features.js'
import {type AttendInputs, type DecoderInputs, defineEstimator} from '../forms/estimator.js'
import {featureAttention} from '../forms/feature-attention.js'
import {GUARDS_IDLE, guardOf, guardOptions} from '../forms/options.js'
import {
  deviated,
  deviatedDecoder,
  scaleFactor,
  sigmaParameter,
  tauOption,
  type UnitOptions,
  unitFormula,
  unitOptions,
  unitRecipe,
  unitTarget,
  unitVector,
  unitVectors,
} from '../forms/unit-features.js'
import {formFeatures} from '../kernels/index.js'
import type {AttendResult, Decoder, ExactTarget, HostParameters, Projection} from '../types.js'

const options = z.object({tau: tauOption, ...unitOptions, ...guardOptions})
type Options = z.output<typeof options>

/**
 * Random feature attention: sin/cos features of unit-norm queries and keys.
 *
 * `phi(x) = M^(-1/2) [sin W x, cos W x]`, `x = q / (tau |q|)`. On unit vectors the Gaussian kernel is
 * the softmax kernel up to a constant that cancels, so the limit is softmax of the *normalised*
 * queries and keys at temperature `tau^2`, not of the given ones. Weights can be negative.
 *
 * The parameter `sigma` `[H, D]` is the learned deviation of the random vectors, `W = sigma o W~`.
 * Unless it is constant the norm of `sigma o x` is not, and the limit has the weights
 * `exp(-|sigma o (x - y)|^2 / 2)`, which are those of no softmax.
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
  parameters: sigmaParameter,
  featureDim: numFeatures => 2 * numFeatures,
  options,
  inputs: () => 'raw',
  target,
  kernel: {
    formula: options => {
      const {factor, unit} = unitFormula(options)
      return `${factor}exp(-|x-y|^2/2), ${unit}`
    },
    moments: (x, y, {numFeatures, options}) =>
      averaged(
        fourierRow(unitVector(x, options), unitVector(y, options)),
        numFeatures,
        scaleFactor(options, numFeatures),
      ),
    features: rfaFeatures,
    bounded: true,
    idle: () => GUARDS_IDLE,
  },
  varianceLaw: 'trigonometric',
  cost: shape => featureCost(shape, 2 * shape.numFeatures, shape.numFeatures),
  stateBytes: ({numFeatures, valueDim}) => featureStateBytes(2 * numFeatures, valueDim),
  attend,
  decoder,
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

/** Softmax on vectors of one length; the Gaussian kernel where sigma or an epsilon makes lengths differ. */
function target(options: Options, parameters?: HostParameters): ExactTarget {
  const {tau, normEpsilon} = options
  const oneLength = !parameters?.sigma && normEpsilon === 0
  return {
    kernel: oneLength ? 'softmax' : 'gaussian',
    inputs: 'unit',
    inputScale: 1 / tau,
    ...unitTarget(options, parameters),
    label: oneLength
      ? `softmax of unit q, k at temperature ${Number((tau * tau).toPrecision(6))}`
      : `Gaussian kernel of ${unitVectors(options, parameters)} / ${tau}`,
  }
}

function attend(inputs: AttendInputs<Options>): AttendResult {
  const {query, key, value, causal, keyMask, projection, parameters, options} = inputs
  const recipe = unitRecipe('trigonometric', deviated(projection!, parameters), options)
  return featureAttention({
    queryFeatures: {...recipe, x: query},
    keyFeatures: {...recipe, x: key},
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
  })
}

function decoder(inputs: DecoderInputs<Options>): Decoder {
  return deviatedDecoder(inputs, rows => {
    const features = unitRecipe('trigonometric', rows, inputs.options)
    return featureDecoder(
      inputs,
      2 * rows.shape.at(-2)!,
      {query: features, key: features},
      {guard: guardOf(inputs.options, true)},
    )
  })
}

/** The features themselves, `[B, H, n, 2M]`. */
export function rfaFeatures(
  x: tf.Tensor4D,
  projection: Projection,
  options: UnitOptions,
): tf.Tensor4D {
  return formFeatures({...unitRecipe('trigonometric', projection, options), x})
}
