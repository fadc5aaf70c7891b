import {z} from 'zod'
import {tf} from '../../tf.js'
import {averaged} from '../../theory/moments.js'
import {rectifiedRow} from '../../theory/rows.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {featureEpsilon, GUARDS_IDLE, guardOptions} from '../forms/options.js'
import {
  deviated,
  scaleFactor,
  sigmaParameter,
  unitFormula,
  unitOptions,
  unitRecipe,
  unitTarget,
  unitVector,
  unitVectors,
} from '../forms/unit-features.js'
import {formFeatures} from '../kernels/index.js'

/**
 * Random feature attention with rectified features of unit-norm queries and keys: weights of the
 * order-1 arc-cosine kernel, not of softmax.
 *
 * `phi(x) = M^(-1/2) relu(W x)`, `x = q / |q|`; `E phi(x).phi(y) = (sin t + (pi - t) cos t) / (2 pi)`,
 * t the angle. No temperature: a factor on the vectors cancels. With the learned deviation `sigma`
 * `[H, D]`, `W = sigma o W~`, the kernel takes `sigma o x` and `sigma o y`.
 *
 * Source: Peng et al. 2021, arXiv:2103.02143, section 3.1 (arc-cosine variant); kernel: Cho & Saul 2009.
 */
const options = z.object({...unitOptions, featureEpsilon, ...guardOptions})

export default defineFeatureMap({
  name: 'rfa-arccos',
  title: 'Random feature attention (rectified, on unit vectors)',
  citation: 'Peng et al. 2021, arXiv:2103.02143; Cho & Saul 2009',
  formula: 'phi(x) = M^(-1/2) relu(W x), x = q / |q|',
  advice:
    'For models trained with it: weights are never negative, unlike with sin/cos features, but they fall off slowly with the angle: no M approximates softmax.',
  unbiasedFor: 'arc-cosine-kernel',
  nonNegative: true,
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
      // in units of relu(w.x), before the factor on features
      const epsilon = options.featureEpsilon * Math.sqrt(numFeatures / factor)
      const row = rectifiedRow(unitVector(x, options), unitVector(y, options), epsilon)
      return averaged(row, numFeatures, factor)
    },
    rowsBy: 'products',
    idle: () => GUARDS_IDLE,
  },
  make: ({projection, parameters}) => deviated(projection!, parameters),
  phi({options}, rows) {
    const recipe = unitRecipe('relu', rows, options)
    // a recipe where nothing is added: fused kernels then form features tile by tile
    if (options.featureEpsilon === 0) return recipe
    return x => tf.add(formFeatures({...recipe, x}), options.featureEpsilon)
  },
  presets: {},
})
