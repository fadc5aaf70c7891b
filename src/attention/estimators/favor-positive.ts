import {z} from 'zod'
import {averaged} from '../../theory/moments.js'
import {sumProduct} from '../../theory/row-product.js'
import {positiveRow} from '../../theory/rows.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {guardOptions} from '../forms/options.js'
import {
  LOG_UNUSED,
  releasedKernel,
  releasedOptions,
  releasedPhi,
} from '../forms/released/favor-positive.js'
import {softmaxTarget} from '../forms/targets.js'

/**
 * Positive random features: an unbiased, never-negative estimate of the softmax kernel.
 *
 * `phi(x)_s = M^(-1/2) exp(w_s.x - |x|^2/2)`, rows `w_s ~ N(0, I)`, canonical x. Relative variance is
 * `(exp(|x+y|^2) - 1) / M`: keep norms near 1 or raise M.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 1 (variance: Lemma 2).
 */
const options = z.object({...releasedOptions, ...guardOptions})
type Options = z.output<typeof options>

export default defineFeatureMap({
  name: 'favor-pos',
  title: 'FAVOR+ positive features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794',
  formula: 'phi(x) = M^(-1/2) exp(W x - |x|^2/2)',
  advice:
    'Use it while exp(E|x+y|^2) stays near M or below: weights are never negative and rows sum to one. At larger norms it is worse than averaging V.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: true,
  refuses: options => (isExact(options) ? {} : {decode: noDecoder(options)}),
  unused: options => (isExact(options) ? LOG_UNUSED : {}),
  projection: {default: 'orth'},
  featureDim: numFeatures => numFeatures,
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  kernel: {
    ...releasedKernel,
    rowsBy: 'products',
    formula: options => (isExact(options) ? 'exp(x.y)' : releasedKernel.formula(options)),
    moments: (x, y, draw) =>
      isExact(draw.options)
        ? averaged(positiveRow(x, y), draw.numFeatures)
        : releasedKernel.moments(x, y, draw),
    product: (x, y, options) =>
      isExact(options) ? sumProduct('exp', x, y) : releasedKernel.product!(x, y, options),
  },
  varianceLaw: 'positive',
  positiveHead: (head, options) => (isExact(options) ? head : undefined),
  phi: inputs => {
    const {projection, inputScale, options} = inputs
    if (!isExact(options)) return releasedPhi(inputs)
    // by logarithms, which neither overflow nor need an epsilon; M^(-1/2) cancels
    return {kind: 'log-positive', projection: projection!, inputScale}
  },
  presets: {
    'performer-pytorch': {
      options: {stabilizer: 'max', featureEpsilon: 1e-4, normalizerEpsilon: 1e-6},
      quirk:
        'adds 1e-4 to every feature: at ordinary norms the output collapses to the mean of V; the causal key maximum sees the future',
    },
    'google-jax': {
      options: {stabilizer: 'max', featureEpsilon: 1e-6, denGuard: 'nudge:1e-6'},
      quirk: 'adds 1e-6 to every feature; the causal key maximum sees the future',
    },
    'google-slim': {
      options: {stabilizer: 'none', featureScale: 'none', denGuard: 'add:1e-16'},
      quirk: 'no stabiliser: features overflow float32 once w.x - |x|^2/2 passes 88',
    },
    hku: {
      options: {
        stabilizer: 'max',
        featureEpsilon: 1e-4,
        epsilonPlace: 'outside',
        denGuard: 'clamp:1e-2',
      },
      quirk:
        'epsilon outside M^-1/2 and denominators raised to 0.01: at ordinary norms every row is a shrunken mean of V',
    },
    xformers: {
      options: {},
      quirk: 'its epsilon sits in the exponent and cancels: same result as the exact form',
    },
  },
})

/** The other stabilizers follow released code. */
function isExact({stabilizer}: Pick<Options, 'stabilizer'>): boolean {
  return stabilizer === 'log'
}

function noDecoder({stabilizer}: Pick<Options, 'stabilizer'>): string {
  return `expected stabilizer "log" for decoding, got "${stabilizer}": its maximum over keys needs the whole sequence`
}
