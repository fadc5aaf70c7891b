import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, METHOD_NAMES} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {positiveVariance, softmaxKernel, squaredNorms} from '../../src/theory/kernels.js'
import {assertNear, EFFORT, moments, Z} from '../helpers/statistics.js'
import {kernelEstimates, momentsOf, vector} from './kernel-estimates.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const METHODS = METHOD_NAMES.filter(name => estimatorNamed(name).kernel)
const HEAD_DIM = 7
const PAIRS = [
  {label: 'apart', x: vector('a', HEAD_DIM, 0.5), y: vector('b', HEAD_DIM, 0.4)},
  {label: 'equal', x: vector('c', HEAD_DIM, 0.5), y: vector('c', HEAD_DIM, 0.5)},
]

describe('orthogonal rows', () => {
  it.each(METHODS)('%s: estimates are unbiased, also with a truncated last block', method => {
    for (const {label, x, y} of PAIRS) {
      for (const numFeatures of [HEAD_DIM, HEAD_DIM + 4]) {
        const request = {
          method,
          projection: 'orth',
          numFeatures,
          draws: 3000 * EFFORT,
          seed: 9,
        } as const
        const {mean, standardError} = moments(kernelEstimates(x, y, request))
        const truth = momentsOf(method, x, y, numFeatures).mean
        // trigonometric estimates of equal vectors do not vary: what is left is rounding
        const rounding = 2 ** -20 * Math.max(1, truth)
        assertNear(`${method} ${label} M ${numFeatures}`, mean, truth, standardError, rounding)
      }
    }
  })

  it.each(PAIRS)(
    'positive features, $label: squared error keeps the bound of theorem 2',
    ({label, x, y}) => {
      const request = {
        method: 'favor-pos',
        projection: 'orth',
        numFeatures: HEAD_DIM,
        draws: 6000 * EFFORT,
        seed: 13,
      } as const
      const truth = softmaxKernel(x, y)
      const squared = kernelEstimates(x, y, request).map(estimate => (estimate - truth) ** 2)
      const {mean, standardError} = moments(squared)
      const independent = positiveVariance(x, y, HEAD_DIM)
      const norms = squaredNorms(x, y)
      const apart = truth - Math.exp(-(norms.x + norms.y) / 2)
      // Choromanski et al. 2021, arXiv:2009.14794, theorem 2 (M <= D)
      const gap = ((2 * (HEAD_DIM - 1)) / (HEAD_DIM * (HEAD_DIM + 2))) * apart ** 2
      expect(mean - Z * standardError).toBeLessThanOrEqual(independent - gap)
      // apart, the gain is too small for this many draws to show
      if (label === 'equal') expect(mean + Z * standardError).toBeLessThan(independent)
    },
  )
})
