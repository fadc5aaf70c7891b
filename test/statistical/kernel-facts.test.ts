import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, METHOD_NAMES} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {maxAbs, U} from '../helpers/rounding.js'
import {assertNear, EFFORT, moments} from '../helpers/statistics.js'
import {kernelEstimates, momentsOf, vector} from './kernel-estimates.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const METHODS = METHOD_NAMES.filter(name => estimatorNamed(name).kernel)
const HRF_REVERSED = {signFeatures: 3, lambdaOn: 'trigonometric'}
const VARIANTS = METHODS.flatMap(method => {
  const plain = [{method, options: {} as Record<string, unknown>}]
  if (method === 'hrf') return [...plain, {method, options: HRF_REVERSED}]
  if (method !== 'favor-trig') return plain
  return [...plain, {method, options: {norms: 'none', constantFeature: 0.5}}]
})

/** Norms at most 0.5: beyond, estimates are so heavy-tailed that normal intervals mean little. */
const PAIRS = [
  {headDim: 2, x: 0.5, y: 0.5},
  {headDim: 3, x: 0.5, y: 0.1},
  {headDim: 5, x: 0.3, y: 0.45},
  {headDim: 11, x: 0.2, y: 0.5},
].map(({headDim, x, y}) => ({
  headDim,
  x: vector(`x${headDim}`, headDim, x),
  y: vector(`y${headDim}`, headDim, y),
}))

const NUM_FEATURES = 13

describe('features with independent rows', () => {
  const cases = VARIANTS.flatMap(variant =>
    PAIRS.map(
      pair =>
        [
          variant.method,
          JSON.stringify(variant.options),
          pair.headDim,
          {...variant, ...pair},
        ] as const,
    ),
  )

  it.each(cases)(
    '%s %s, D %i: mean and variance of phi(x).phi(y) are the declared ones',
    (method, text, headDim, given) => {
      const {x, y} = given
      const sample = kernelEstimates(x, y, {
        ...given,
        projection: 'iid',
        numFeatures: NUM_FEATURES,
        draws: 2000 * EFFORT,
        seed: 31,
      })
      const found = moments(sample)
      const {mean: truth, variance, kurtosis} = momentsOf(method, x, y, NUM_FEATURES, given.options)
      // float32: three roundings of each of D terms of the argument, at most 6 in size, and of the value
      const rounding = 32 * headDim * U * Math.max(1, truth)
      const label = `${method} ${text} D ${headDim}`
      assertNear(`${label}: mean`, found.mean, truth, Math.sqrt(variance / sample.length), rounding)
      assertNear(`${label}: variance`, found.variance, variance, found.varianceError, rounding)
      const spread = variance ** 2 * (kurtosis + 2) // of (estimate - mean)^2 about its own mean
      const squares = sample.map(estimate => ((estimate - truth) ** 2 - variance) ** 2)
      const fourth = moments(squares)
      assertNear(`${label}: kurtosis`, fourth.mean, spread, fourth.standardError, rounding)
    },
  )

  it.each(['rfa', 'favor-trig'] as const)('%s: the estimate of k(x, x) never varies', method => {
    const x = vector('same', 5, 0.5)
    const request = {method, projection: 'iid', numFeatures: 13, draws: 100, seed: 3} as const
    const sample = kernelEstimates(x, x, request)
    const {mean: truth, variance} = momentsOf(method, x, x, 13)
    expect(variance).toBe(0)
    // sin^2 + cos^2 = 1 whatever the projection: M terms, a few roundings each
    const errors = sample.map(estimate => estimate / truth - 1)
    expect(maxAbs(errors)).toBeLessThanOrEqual((13 + 16) * U)
  })

  it.each(['favor-pos', 'favor-hyp', 'smreg'] as const)(
    '%s: the estimate of k(x, -x) never varies',
    method => {
      const x = vector('same', 5, 0.5)
      const opposite = x.map(value => -value)
      const request = {method, projection: 'iid', numFeatures: 13, draws: 100, seed: 3} as const
      const sample = kernelEstimates(x, opposite, request)
      const {mean: truth, variance} = momentsOf(method, x, opposite, 13)
      expect(variance).toBe(0)
      // the exponents cancel exactly; exp rounds each to a few units
      const errors = sample.map(estimate => estimate / truth - 1)
      expect(maxAbs(errors)).toBeLessThanOrEqual((2 * 13 + 32) * U)
    },
  )
})
