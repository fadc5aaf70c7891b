import {z} from 'zod'
import {averaged} from '../../theory/moments.js'
import {sumProduct} from '../../theory/row-product.js'
import {hyperbolicRow} from '../../theory/rows.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {GUARDS_IDLE, GUARDS_UNUSED, guardOptions, SHIFT_CANCELS} from '../forms/options.js'
import {hyperbolicFeatures, releasedPhi} from '../forms/released/favor-hyperbolic.js'
import {softmaxTarget} from '../forms/targets.js'

/**
 * Hyperbolic features: positive features at +w and -w, so that the first-order noise cancels.
 *
 * `phi(x) = (2M)^(-1/2) exp(-|x|^2/2) [exp(W x), exp(-W x)]`, canonical x. Relative variance is
 * `(e^s - 2 + e^-s) / (2M)`, s = |x+y|^2, never above that of 2M positive features.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 1.
 */
const options = z.object({
  stabilizer: z
    .enum(['log', 'none', 'norm-max'])
    .default('log')
    .describe('log: exact; none: no shift; norm-max: shifts by the largest |x|^2 of the sequence'),
  ...guardOptions,
})

export default defineFeatureMap({
  name: 'favor-hyp',
  title: 'FAVOR+ hyperbolic features',
  citation: 'Choromanski et al. 2021, arXiv:2009.14794',
  formula: 'phi(x) = (2M)^(-1/2) exp(-|x|^2/2) [exp(W x), exp(-W x)]',
  advice:
    'Prefer it to favor-pos at the same featureDim: never worse, far better where x is near -y. Same limit on norms.',
  unbiasedFor: 'softmax-kernel',
  nonNegative: true,
  unused: ({stabilizer}) => (stabilizer === 'log' ? GUARDS_UNUSED : {}),
  refuses: ({stabilizer}) =>
    stabilizer === 'log'
      ? {}
      : {decode: `expected stabilizer "log" for decoding, got "${stabilizer}"`},
  projection: {default: 'orth'},
  featureDim: numFeatures => 2 * numFeatures,
  options,
  inputs: () => 'canonical',
  target: softmaxTarget,
  kernel: {
    formula: () => 'exp(x.y)',
    moments: (x, y, {numFeatures}) => averaged(hyperbolicRow(x, y), numFeatures),
    product: (x, y) => sumProduct('cosh', x, y),
    // a shift cancels: features are as in the exact form
    features: (x, projection) => hyperbolicFeatures(x, projection),
    rowsBy: 'products',
    idle: ({stabilizer}) => ({
      ...GUARDS_IDLE,
      stabilizer:
        stabilizer === 'norm-max' ? SHIFT_CANCELS : 'it keeps features in range and no more',
    }),
  },
  varianceLaw: 'hyperbolic',
  positiveHead: (head, {stabilizer}) =>
    stabilizer === 'log' ? {...head, paired: true} : undefined,
  phi: inputs => {
    // exact: by logarithms, which do not overflow; (2M)^(-1/2) cancels in the ratio
    const {projection, inputScale, options} = inputs
    return options.stabilizer === 'log'
      ? {kind: 'log-hyperbolic', projection: projection!, inputScale}
      : releasedPhi(inputs)
  },
  presets: {
    'fast-transformers': {
      options: {stabilizer: 'none', denGuard: 'add:1e-6'},
      quirk:
        'no stabiliser and 1e-6 on the denominator: rows shrink once the features do; overflows at large norms',
    },
    xformers: {
      options: {},
      quirk: 'its epsilon sits in the exponent and cancels: same result as the exact form',
    },
  },
})
