import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {averaged} from '../../theory/moments.js'
import {rectifiedRow} from '../../theory/rows.js'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {featureDecoder} from '../forms/decoders/features.js'
import {type AttendInputs, type DecoderInputs, defineEstimator} from '../forms/estimator.js'
import {featureAttention} from '../forms/feature-attention.js'
import {featureEpsilon, GUARDS_IDLE, guardOf, guardOptions} from '../forms/options.js'
import {
  deviated,
  deviatedDecoder,
  scaleFactor,
  sigmaParameter,
  type UnitOptions,
  unitFormula,
  unitOptions,
  unitRecipe,
  unitTarget,
  unitVector,
  unitVectors,
} from '../forms/unit-features.js'
import {type Features, formFeatures} from '../kernels/index.js'
import type {AttendResult, Decoder, Projection} from '../types.js'

const options = z.object({...unitOptions, featureEpsilon, ...guardOptions})
type Options = z.output<typeof options>

/**
 * Random feature attention with rectified features of unit-norm queries and keys: weights of the
 * order-1 arc-cosine kernel, not of softmax.
 *
 * `phi(x) = M^(-1/2) relu(W x)`, `x = q / |q|`; `E phi(x).phi(y) = (sin t + (pi - t) cos t) / (2 pi)`,
 * t the angle. No temperature: a factor on the vectors cancels. With the learned deviation `sigma`
 * `[H, D]`, `W = sigma o W~`, the kernel is that of `sigma o x` and `sigma o y`.
 *
 * Source: Peng et al. 2021, arXiv:2103.02143, section 3.1 (arc-cosine variant); kernel: Cho & Saul 2009.
 */
export default defineEstimator({
  name: 'rfa-arccos',
  title: 'Random feature attention (rectified, on unit vectors)',
  citation: 'Peng et al. 2021, arXiv:2103.02143; Cho & Saul 2009',
  formula: 'phi(x) = M^(-1/2) relu(W x), x = q / |q|',
  advice:
    'For models trained with it: weights are never negative, unlike those of sin/cos features, but they fall off slowly with the angle: softmax is not approximated at any M.',
  unbiasedFor: 'arc-cosine-kernel',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  projection: {default: 'orth'},
  parameters: sigmaParameter,
  featureDim: numFeatures => numFeatures,
  options,
  inputs: () => 'raw',
  target: (options, parameters) => ({
    kernel: 'arc-cosine',
    inputs: 'unit',
    inputScale: 1,
    ...unitTarget(options, parameters),
    label: `arc-cosine kernel of ${unitVectors(options, parameters)}`,
  }),
  kernel: {
    formula: options => {
      const {factor, unit} = unitFormula(options)
      const {featureEpsilon: e} = options
      const mean = e > 0 ? ' + e (|x|+|y|) / (2 pi)^(1/2) + e^2' : ''
      const epsilon = e > 0 ? `, e = ${e} / (factor of features)` : ''
      return `${factor}(|x||y| (sin t + (pi - t) cos t) / (2 pi)${mean}), ${unit}${epsilon}`
    },
    moments(x, y, {numFeatures, options}) {
      const factor = scaleFactor(options, numFeatures)
      const epsilon = options.featureEpsilon * Math.sqrt(numFeatures / factor)
      const row = rectifiedRow(unitVector(x, options), unitVector(y, options), epsilon)
      return averaged(row, numFeatures, factor)
    },
    features: arcCosineFeatures,
    idle: () => GUARDS_IDLE,
  },
  cost: shape => featureCost(shape, shape.numFeatures, shape.numFeatures),
  stateBytes: ({numFeatures, valueDim}) => featureStateBytes(numFeatures, valueDim),
  attend,
  decoder,
  presets: {},
})

function attend(inputs: AttendInputs<Options>): AttendResult {
  const {query, key, value, causal, keyMask, projection, parameters, options} = inputs
  const rows = deviated(projection!, parameters)
  return featureAttention({
    queryFeatures: rectified(query, rows, options),
    keyFeatures: rectified(key, rows, options),
    value,
    causal,
    keyMask,
    guard: guardOf(options, causal),
  })
}

function decoder(inputs: DecoderInputs<Options>): Decoder {
  const {options} = inputs
  return deviatedDecoder(inputs, rows => {
    const features =
      options.featureEpsilon === 0
        ? unitRecipe('relu', rows, options)
        : (token: tf.Tensor4D) => arcCosineFeatures(token, rows, options)
    return featureDecoder(
      inputs,
      rows.shape.at(-2)!,
      {query: features, key: features},
      {guard: guardOf(options, true)},
    )
  })
}

/** By recipe where no epsilon is added. */
function rectified(x: tf.Tensor4D, projection: Projection, options: Options): Features {
  if (options.featureEpsilon === 0) return {...unitRecipe('relu', projection, options), x}
  return arcCosineFeatures(x, projection, options)
}

/** The features themselves, `[B, H, n, M]`. */
export function arcCosineFeatures(
  x: tf.Tensor4D,
  projection: Projection,
  options: UnitOptions & {featureEpsilon: number},
): tf.Tensor4D {
  return tf.add(
    formFeatures({...unitRecipe('relu', projection, options), x}),
    options.featureEpsilon,
  )
}
