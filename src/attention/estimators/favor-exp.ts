import {tf} from '../../tf.js'
import {averaged} from '../../theory/moments.js'
import {sumProduct} from '../../theory/row-product.js'
import {exponentialRow, shiftedExponentialRow} from '../../theory/rows.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {
  GENERALIZED_IDLE,
  type GeneralizedOptions,
  generalizedArgument,
  generalizedFacts,
  generalizedOptions,
  generalizedPhi,
  generalizedSuffix,
} from '../forms/generalized-attention.js'
import {guardOf} from '../forms/options.js'

/**
 * Generalised attention with exponential features: positive features without the factor
 * `exp(-|x|^2/2)`, so that keys count by their norm as well: the limit has weights `exp(x.y + |y|^2/2)`.
 *
 * `phi(x) = exp(W x)`; `E phi(x).phi(y) / M = exp(|x+y|^2/2)`. Without an epsilon and without a guard it is
 * formed in the log domain and does not overflow.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, section 2.4 (generalised attention).
 */
export default defineFeatureMap({
  ...generalizedFacts,
  name: 'favor-exp',
  title: 'Generalised attention, exponential features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794',
  formula: 'phi(x) = exp(W x)',
  advice:
    'For models trained with it. It is softmax attention only where all keys have one norm, and then favor-pos is the same; elsewhere it favours long keys.',
  unbiasedFor: 'exponential-kernel',
  options: generalizedOptions,
  target: ({inputScaling, features}) =>
    features === 'deterministic'
      ? undefined
      : {kernel: 'exponential', inputs: inputScaling, inputScale: 1, label: 'exp(|x+y|^2/2)'},
  kernel: {
    formula(options) {
      const {featureEpsilon: e} = options
      const epsilon = e > 0 ? ' + e (exp(|x|^2/2) + exp(|y|^2/2)) + e^2' : ''
      return `exp(|x+y|^2/2)${epsilon}${generalizedSuffix(options, e)}`
    },
    moments(x, y, {numFeatures, options: {featureEpsilon}}) {
      const row =
        featureEpsilon === 0 ? exponentialRow(x, y) : shiftedExponentialRow(x, y, featureEpsilon, 0)
      return averaged(row, numFeatures)
    },
    product: (x, y, {featureEpsilon}) =>
      featureEpsilon === 0 ? sumProduct('exp', x, y) : undefined,
    factor: numFeatures => numFeatures ** -0.5,
    rowsBy: 'products',
    idle: () => GENERALIZED_IDLE,
  },
  varianceLaw: 'positive',
  positiveHead: (head, options) =>
    options.inputScaling === 'canonical' && inLogDomain(options, head.causal)
      ? {...head, longKeysCount: true}
      : undefined,
  phi(inputs) {
    // exp(W x) itself overflows where W x passes 88; its logarithms are W x, which do not
    if (!inLogDomain(inputs.options, inputs.causal)) return generalizedPhi(tf.exp)(inputs)
    const {projection, headDim, options} = inputs
    // random: exp(w_s.x), the bridges are the rows of W; deterministic: exp(x_d), they are unit vectors
    return {
      logarithms: tokens => generalizedArgument(tokens, inputs),
      bridges: () => (options.features === 'random' ? projection! : tf.eye(headDim)),
    }
  },
  presets: {
    'performer-pytorch': {
      options: {featureEpsilon: 1e-3, normalizerEpsilon: 1e-6},
      quirk: 'adds 1e-3 to every feature: a small uniform share; overflows at large norms',
    },
    'google-jax': {
      options: {features: 'deterministic', inputScaling: 'raw', featureEpsilon: 1e-3},
      quirk: 'by default no projection at all and no input scaling; adds 1e-3 to every feature',
    },
    'fast-transformers': {
      options: {inputScaling: 'raw', denGuard: 'add:1e-6'},
      quirk: 'no input scaling: overflows at large norms',
    },
  },
})

/** An epsilon or a guard acts on the features and sums themselves. */
function inLogDomain(options: GeneralizedOptions, causal: boolean): boolean {
  const {featureEpsilon, normalizerEpsilon} = options
  const plainSums = !causal || normalizerEpsilon === 0
  return featureEpsilon === 0 && plainSums && guardOf(options, causal).policy === 'none'
}
