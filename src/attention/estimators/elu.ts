import {z} from 'zod'
import {featureCost, featureStateBytes} from '../forms/costs.js'
import {featureDecoder} from '../forms/decoders/features.js'
import {defineEstimator} from '../forms/estimator.js'
import {featureAttention} from '../forms/feature-attention.js'
import {guardOf, guardOptions} from '../forms/options.js'
import type {FeatureRecipe} from '../kernels/index.js'

const options = z.object({
  queryScale: z
    .enum(['none', 'rsqrt-head-dim'])
    .default('none')
    .describe('factor on query features; matters only beside a guard'),
  ...guardOptions,
})

/**
 * Linear transformer attention: `phi(x) = elu(x) + 1` elementwise on unscaled queries and keys. Its
 * weights are its own; softmax is not approximated.
 *
 * Source: Katharopoulos et al. 2020, arXiv:2006.16236.
 */
export default defineEstimator({
  name: 'elu',
  title: 'Linear transformer (elu + 1)',
  citation: 'Katharopoulos et al. 2020, arXiv:2006.16236',
  formula: 'phi(x) = elu(x) + 1',
  advice:
    'The cheapest linear form and a baseline for speed. Only for models trained with it: it does not approximate softmax.',
  unbiasedFor: 'none',
  nonNegative: true,
  rowsSumToOne: true,
  supports: {bidirectional: true, causal: true, cross: true, decode: true, keyMask: true},
  keyOrderMatters: false,
  featureDim: (_numFeatures, headDim) => headDim,
  options,
  inputs: () => 'raw',
  target: () => undefined,
  cost: shape => featureCost(shape, shape.headDim, 0),
  stateBytes: ({headDim, valueDim}) => featureStateBytes(headDim, valueDim),
  attend: ({query, key, value, causal, keyMask, options}) =>
    featureAttention({
      queryFeatures: {...queryRecipe(options, query.shape[3]), x: query},
      keyFeatures: {kind: 'elu-plus-one', x: key},
      value,
      causal,
      keyMask,
      guard: guardOf(options, causal),
    }),
  decoder: inputs =>
    featureDecoder(
      inputs,
      inputs.headDim,
      {query: queryRecipe(inputs.options, inputs.headDim), key: {kind: 'elu-plus-one'}},
      {guard: guardOf(inputs.options, true)},
    ),
  presets: {
    'fast-transformers': {
      options: {denGuard: 'add:1e-6'},
      quirk: '1e-6 on the denominator: harmless at ordinary norms',
    },
    'google-slim': {options: {denGuard: 'add:1e-16'}, quirk: 'none that shows'},
    fla: {
      options: {queryScale: 'rsqrt-head-dim', denGuard: 'add:1e-10'},
      quirk: '1e-10 on the denominator, with query features scaled by D^-1/2; none that shows',
    },
  },
})

function queryRecipe(
  {queryScale}: Pick<z.output<typeof options>, 'queryScale'>,
  headDim: number,
): FeatureRecipe {
  const plain: FeatureRecipe = {kind: 'elu-plus-one'}
  return queryScale === 'none' ? plain : {...plain, featureScale: headDim ** -0.5}
}
