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
 * arXiv:2012.11346, in whose code x^2 stands beside elu and relu.
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
    'A zero-variance baseline for models trained with it; sharper than relu. Rows whose query is nowhere positive together with a key are zero.',
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
      quirk: 'squares without rectifying: a query cannot tell a key from its opposite',
    },
  },
})
