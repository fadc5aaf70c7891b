import {z} from 'zod'
import {averaged} from '../../theory/moments.js'
import type {CosineHead} from '../../theory/ratio-error/cosines.js'
import {differenceProduct} from '../../theory/row-product.js'
import {fourierRow} from '../../theory/rows.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {GUARDS_IDLE, guardOptions} from '../forms/options.js'
import {
  deviated,
  scaleFactor,
  sigmaParameter,
  tauOption,
  unitFormula,
  unitOptions,
  unitRecipe,
  unitTarget,
  unitVector,
  unitVectors,
} from '../forms/unit-features.js'
import type {ExactTarget, HostParameters} from '../types.js'

/**
 * Random feature attention: sin/cos features of unit-norm queries and keys.
 *
 * `phi(x) = M^(-1/2) [sin W x, cos W x]`, `x = q / (tau |q|)`. On unit vectors the Gaussian kernel is
 * the softmax kernel up to a constant that cancels, so the limit is softmax of the *normalised*
 * queries and keys at temperature `tau^2`, not of the given ones. Weights can be negative.
 *
 * The parameter `sigma` `[H, D]` is the learned deviation of the random vectors, `W = sigma o W~`.
 * Unless it is constant the norm of `sigma o x` is not, and the limit has the weights
 * `exp(-|sigma o (x - y)|^2 / 2)`, which no softmax has.
 *
 * Source: Peng et al. 2021, arXiv:2103.02143, section 3.1.
 */
const options = z.object({tau: tauOption, ...unitOptions, ...guardOptions})
type Options = z.output<typeof options>

export default defineFeatureMap({
  name: 'rfa',
  title: 'Random feature attention (sin/cos on unit vectors)',
  citation: 'Peng et al. 2021, arXiv:2103.02143',
  formula: 'phi(x) = M^(-1/2) [sin W x, cos W x], x = q / (tau |q|)',
  advice:
    'For models trained with normalised queries and keys. Below tau of about 0.5 denominators turn negative; against softmax of the raw q, k the error is mostly that of the normalisation.',
  unbiasedFor: 'gaussian-kernel',
  nonNegative: false,
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
    product: (x, y, options) => differenceProduct(unitVector(x, options), unitVector(y, options)),
    bounded: true,
    rowsBy: 'products',
    idle: () => GUARDS_IDLE,
  },
  varianceLaw: 'trigonometric',
  // a factor on all features cancels in outputs without a guard
  cosineHead: (head, options) =>
    options.normEpsilon === 0 && options.denGuard === 'none' && options.causalDenGuard === null
      ? unitHead(head, options)
      : undefined,
  // sigma o W~, the learned deviation put into the rows once
  make: ({projection, parameters}) => deviated(projection!, parameters),
  phi: ({options}, rows) => unitRecipe('trigonometric', rows, options),
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
  // on vectors of one length exp(-|x-y|^2/2) is exp(x.y) times a constant, which cancels
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

/** Queries and keys of length 1 / tau. */
function unitHead(head: CosineHead, options: Options): CosineHead {
  const {headDim} = head
  const unit = (vectors: Float64Array) => {
    const out = new Float64Array(vectors.length)
    for (let at = 0; at < vectors.length; at += headDim) {
      out.set(unitVector(vectors.subarray(at, at + headDim), options), at)
    }
    return out
  }
  return {...head, query: unit(head.query), key: unit(head.key)}
}
