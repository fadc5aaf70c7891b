import {z} from 'zod'
import {tf} from '../../tf.js'
import {averaged} from '../../theory/moments.js'
import {rectifiedRow} from '../../theory/rows.js'
import {defineFeatureMap, type PhiFacts} from '../forms/feature-map.js'
import {
  GENERALIZED_IDLE,
  generalizedFacts,
  generalizedOptions,
  generalizedPhi,
  generalizedSuffix,
} from '../forms/generalized-attention.js'

/**
 * Generalised attention with rectified features: weights of another kernel than softmax, the order-1
 * arc-cosine kernel.
 *
 * `phi(x) = relu(W x)`; `E phi(x).phi(y) / M = |x||y| (sin t + (pi - t) cos t) / (2 pi)`, t the angle.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, section 2.4; kernel: Cho & Saul 2009.
 */
const options = z.object({
  ...generalizedOptions.shape,
  projectionScale: z
    .enum(['none', 'rsqrt'])
    .default('none')
    .describe('rsqrt: W times M^-1/2; matters only with an epsilon or a guard'),
})
type Options = z.output<typeof options>

/** Of the mean over rows of relu(w.x) relu(w.y): W times M^-1/2 scales that as it scales an epsilon. */
const kernel: PhiFacts<Options> = {
  formula(options) {
    const {featureEpsilon, projectionScale} = options
    const mean = featureEpsilon > 0 ? ' + e (|x|+|y|) / (2 pi)^(1/2) + e^2' : ''
    const scale = projectionScale === 'rsqrt' && featureEpsilon > 0 ? 'M^(1/2) ' : ''
    const suffix = generalizedSuffix(options, featureEpsilon && `${scale}${featureEpsilon}`)
    return `|x||y| (sin t + (pi - t) cos t) / (2 pi)${mean}${suffix}`
  },
  moments: (x, y, {numFeatures, options}) =>
    averaged(rectifiedRow(x, y, relativeEpsilon(options, numFeatures)), numFeatures),
  factor: (numFeatures, {projectionScale}) =>
    projectionScale === 'rsqrt' ? 1 : numFeatures ** -0.5,
  rowsBy: 'products',
  idle: ({featureEpsilon}) => ({
    ...GENERALIZED_IDLE,
    ...(featureEpsilon === 0 && {
      projectionScale: 'a factor on all features cancels in the ratio of attention',
    }),
  }),
}

/** The epsilon in units of relu(w.x), with w as drawn. */
function relativeEpsilon({featureEpsilon, projectionScale}: Options, numFeatures: number): number {
  return projectionScale === 'rsqrt' ? featureEpsilon * Math.sqrt(numFeatures) : featureEpsilon
}

export default defineFeatureMap({
  ...generalizedFacts,
  name: 'favor-relu',
  title: 'Generalised attention, ReLU features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794; Cho & Saul 2009',
  formula: 'phi(x) = relu(W x)',
  advice:
    'A baseline for models trained with it ("Performer" without suffix). It does not approximate softmax at any M.',
  unbiasedFor: 'arc-cosine-kernel',
  options,
  target: ({inputScaling, features}) =>
    features === 'deterministic'
      ? undefined
      : {kernel: 'arc-cosine', inputs: inputScaling, inputScale: 1, label: 'arc-cosine kernel'},
  kernel,
  phi(inputs) {
    const {projection, options} = inputs
    const rsqrt = options.projectionScale === 'rsqrt' && projection
    // M^-1/2 goes to the inputs: relu(W c x) = relu(c W x)
    const inputScale = rsqrt
      ? inputs.inputScale * projection.shape.at(-2)! ** -0.5
      : inputs.inputScale
    // a recipe where nothing is added: fused kernels then form features tile by tile
    return options.features === 'random' && options.featureEpsilon === 0
      ? {kind: 'relu', projection, inputScale}
      : generalizedPhi(tf.relu)({...inputs, inputScale})
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
