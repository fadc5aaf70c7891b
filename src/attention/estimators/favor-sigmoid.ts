import {tf} from '../../tf.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {
  generalizedFacts,
  generalizedOptions,
  generalizedPhi,
} from '../forms/generalized-attention.js'

/**
 * Generalised attention with sigmoid features: weights of a kernel without closed form; softmax is not approximated.
 *
 * `phi(x) = 1 / (1 + exp(-W x))`. Features lie between 0 and 1, near 1/2 at small norms, so
 * attention is close to uniform there.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, section 2.4 (generalised attention).
 */
export default defineFeatureMap({
  ...generalizedFacts,
  name: 'favor-sigmoid',
  title: 'Generalised attention, sigmoid features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794',
  formula: 'phi(x) = sigmoid(W x)',
  advice:
    'A smooth baseline for models trained with it: denominators cannot vanish, but attention stays close to uniform.',
  options: generalizedOptions,
  phi: generalizedPhi(x => tf.sigmoid(x)),
  presets: {
    'performer-pytorch': {
      options: {featureEpsilon: 1e-3, normalizerEpsilon: 1e-6},
      quirk: 'adds 1e-3 to every feature: a little closer to uniform',
    },
    'google-jax': {
      options: {features: 'deterministic', inputScaling: 'raw', featureEpsilon: 1e-3},
      quirk: 'by default no projection at all and no input scaling; adds 1e-3 to every feature',
    },
    'fast-transformers': {
      options: {inputScaling: 'raw', denGuard: 'add:1e-6'},
      quirk: 'no input scaling; 1e-6 on the denominator',
    },
    hku: {
      options: {
        features: 'deterministic',
        inputScaling: 'raw',
        featureEpsilon: 0.1,
        denGuard: 'clamp:1e-2',
      },
      quirk: 'no projection, no input scaling; adds 0.1 to every feature: closer to uniform still',
    },
  },
})
