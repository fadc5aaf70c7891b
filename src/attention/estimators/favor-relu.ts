import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {arcCosineKernel, rectifiedVariance} from '../../theory/kernels.js'
import {featureMap} from '../kernels/index.js'
import {defineEstimator} from '../types.js'
import {
  type FeatureForm,
  generalizedAttend,
  generalizedDecoder,
  generalizedFacts,
  generalizedForm,
  generalizedOptions,
} from './generalized-attention.js'

const options = z.object({
  ...generalizedOptions.shape,
  projectionScale: z
    .enum(['none', 'rsqrt'])
    .default('none')
    .describe('rsqrt: W times M^-1/2; matters only beside an epsilon or a guard'),
})
type Options = z.output<typeof options>

/**
 * Generalised attention with rectified features: weights of another kernel than softmax, the order-1
 * arc-cosine kernel.
 *
 * `phi(x) = relu(W x)`; `E phi(x).phi(y) / M = |x||y| (sin t + (pi - t) cos t) / (2 pi)`, t the angle.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, section 2.4; kernel: Cho & Saul 2009.
 */
export default defineEstimator({
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
  kernel: {
    formula: '|x||y| (sin t + (pi - t) cos t) / (2 pi)',
    expectation: arcCosineKernel,
    variance: rectifiedVariance,
    features: (x, projection) =>
      tf.mul(featureMap(x, projection, 'relu'), projection.shape.at(-2)! ** -0.5),
  },
  attend: inputs => generalizedAttend(inputs, rectified),
  decoder: inputs => generalizedDecoder(inputs, rectified),
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

/** By recipe where no epsilon is added. M^-1/2 goes to the inputs: relu(W c x) = relu(c W x). */
const rectified: FeatureForm<Options> = (inputScale, projection, options) => {
  const rsqrt = options.projectionScale === 'rsqrt' && projection
  const scale = rsqrt ? inputScale * projection.shape.at(-2)! ** -0.5 : inputScale
  return options.features === 'random' && options.featureEpsilon === 0
    ? {kind: 'relu', projection, inputScale: scale}
    : generalizedForm<Options>(tf.relu)(scale, projection, options)
}
