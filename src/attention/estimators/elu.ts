import {z} from 'zod'
import {defineFeatureMap} from '../forms/feature-map.js'
import {guardOptions} from '../forms/options.js'

/**
 * Linear transformer attention: `phi(x) = elu(x) + 1` elementwise on unscaled queries and keys. Its
 * weights are its own; softmax is not approximated.
 *
 * Source: Katharopoulos et al. 2020, arXiv:2006.16236.
 */
const options = z.object({
  queryScale: z
    .enum(['none', 'rsqrt-head-dim'])
    .default('none')
    .describe('factor on query features; matters only with a guard'),
  ...guardOptions,
})

export default defineFeatureMap({
  name: 'elu',
  title: 'Linear transformer (elu + 1)',
  citation: 'Katharopoulos et al. 2020, arXiv:2006.16236',
  formula: 'phi(x) = elu(x) + 1',
  advice:
    'The cheapest linear form and a baseline for speed. Only for models trained with it: it does not approximate softmax.',
  nonNegative: true,
  featureDim: (_numFeatures, headDim) => headDim,
  options,
  inputs: () => 'raw', // as published: no factor D^(-1/4)
  // a factor on queries cancels in the ratio; only a guard sees it
  phi: ({headDim, options: {queryScale}}) => ({
    query: {
      kind: 'elu-plus-one',
      ...(queryScale === 'rsqrt-head-dim' && {featureScale: headDim ** -0.5}),
    },
    key: {kind: 'elu-plus-one'},
  }),
  presets: {
    'fast-transformers': {
      options: {denGuard: 'add:1e-6'},
      quirk: '1e-6 on the denominator: harmless at ordinary norms',
    },
    'google-slim': {options: {denGuard: 'add:1e-16'}, quirk: 'no visible effect'},
    fla: {
      options: {queryScale: 'rsqrt-head-dim', denGuard: 'add:1e-10'},
      quirk: '1e-10 on the denominator, with query features scaled by D^-1/2; no visible effect',
    },
  },
})
