import {z} from 'zod'
import {tf} from '../../tf.js'
import {defineFeatureMap} from '../forms/feature-map.js'
import {guardOptions} from '../forms/options.js'

/**
 * Squared entries as features, no projection, on unscaled queries and keys. Its weights are its own;
 * softmax is not approximated.
 *
 * `phi(x) = relu(x)^2`, or `x^2`, elementwise.
 *
 * Source: So et al. 2021, arXiv:2109.08668 (the nonlinearity); Likhosherstov et al. 2020,
 * arXiv:2012.11346, which has x^2 in its code, too.
 */
const options = z.object({
  part: z
    .enum(['positive', 'whole'])
    .default('positive')
    .describe('positive: relu(x)^2; whole: x^2, blind to signs'),
  ...guardOptions,
})

export default defineFeatureMap({
  name: 'squared-relu',
  title: 'Squared entries',
  citation: 'So et al. 2021, arXiv:2109.08668; Likhosherstov et al. 2020, arXiv:2012.11346',
  formula: 'phi(x) = relu(x)^2',
  advice:
    'A zero-variance baseline for models trained with it; sharper than relu. A row is zero if its query and the keys are nowhere positive together.',
  nonNegative: true,
  featureDim: (_numFeatures, headDim) => headDim,
  options,
  inputs: () => 'raw', // a common factor on inputs cancels
  phi:
    ({options: {part}}) =>
    x =>
      tf.square(part === 'positive' ? tf.relu(x) : x),
  presets: {
    'google-slim': {
      options: {part: 'whole', denGuard: 'add:1e-16'},
      quirk: 'squares without rectifying: a query weights a key and its negative alike',
    },
  },
})
