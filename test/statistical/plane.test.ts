/** Rows drawn in the plane of a pair against real matrices: two roads to one law of estimates. */
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, METHOD_NAMES, type ProjectionName} from '../../src/attention/index.js'
import {estimatorNamed, resolveOptions} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {estimateRequest, kernelEstimates} from '../../src/experiments/variance/measure/estimates.js'
import type {VarianceCell} from '../../src/experiments/variance/schema.js'
import {bonferroniZ} from '../../src/stats/index.js'
import {varianceStandardError} from '../../src/theory/moments.js'
import {orthogonalVariance} from '../helpers/orthogonal-series.js'
import {U} from '../helpers/rounding.js'
import {EFFORT, moments} from '../helpers/statistics.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const DECLARED = METHOD_NAMES.filter(name => estimatorNamed(name).kernel?.rowsBy)
const DEPENDENT = ['orth', 'orth-sqrt-d', 'simplex'] as const satisfies ProjectionName[]
/** A whole block and the beginning of another. */
const SIZE = {num_features: 10, head_dim: 6}
const PAIRS = [
  {norm: 0.5, angle_deg: 70},
  {norm: 0.6, angle_deg: 160},
]

function cellOf(method: string, seed: number, pair: (typeof PAIRS)[number]): VarianceCell {
  return {
    ...{method, preset: 'exact', options: {}, projections: ['iid'], orth_sign: 'haar'},
    ...{...SIZE, ...pair, replicates: 2000 * EFFORT, seed, backend: 'cpu'},
  }
}

/** @param real - draw the whole matrices all the same */
function estimates(cell: VarianceCell, projection: string, real: boolean): Float64Array {
  const estimator = estimatorNamed(cell.method)
  const {rowsBy, ...facts} = estimator.kernel!
  expect(rowsBy).toBeDefined()
  const used = real ? {...estimator, kernel: facts} : estimator
  const request = estimateRequest(cell, used, resolveOptions(estimator, 'exact', {}))
  return kernelEstimates(request, projection)
}

/** Mean and variance of every method, pair and projection, and the series. */
const CHECKS = DECLARED.length * PAIRS.length * 2 * (1 + DEPENDENT.length) + 6
const Z = bonferroniZ(CHECKS, 1e-4)

function expectNear(label: string, found: number, wanted: number, error: number, rounding: number) {
  expect(Math.abs(found - wanted), label).toBeLessThanOrEqual(Z * error + rounding)
}

/** Of an estimate of that size: D terms in the argument, three roundings each, and of the value. */
const roundingOf = (size: number) => 32 * SIZE.head_dim * U * Math.max(1, size)

describe.each(DECLARED)('%s, estimates with rows drawn in the plane of the pair', method => {
  it('have the declared moments, rows being independent', () => {
    for (const pair of PAIRS) {
      const cell = cellOf(method, 3, pair)
      const estimator = estimatorNamed(method)
      const options = resolveOptions(estimator, 'exact', {})
      const {x, y, calibration} = estimateRequest(cell, estimator, options)
      const draw = {numFeatures: SIZE.num_features, options, calibration}
      const {mean, variance, kurtosis} = estimator.kernel!.moments(x, y, draw)
      const found = moments(estimates(cell, 'iid', false))
      const rounding = roundingOf(mean)
      const {replicates} = cell
      expectNear('mean', found.mean, mean, Math.sqrt(variance / replicates), rounding)
      const error = variance * varianceStandardError(kurtosis, replicates)
      expectNear('variance', found.variance, variance, error, rounding)
    }
  })

  it.each(DEPENDENT)('have the moments that real matrices give them, %s', projection => {
    for (const pair of PAIRS) {
      const plane = moments(estimates(cellOf(method, 4, pair), projection, false))
      const real = moments(estimates(cellOf(method, 5, pair), projection, true))
      const rounding = roundingOf(real.mean)
      const error = Math.hypot(plane.standardError, real.standardError)
      expectNear('mean', plane.mean, real.mean, error, rounding)
      const spread = Math.hypot(plane.varianceError, real.varianceError)
      expectNear('variance', plane.variance, real.variance, spread, rounding)
    }
  })
})

describe('orthogonal rows drawn in the plane of the pair', () => {
  it.each([
    ['favor-pos', 1, (s: number) => Math.expm1(s)],
    ['favor-hyp', 1, (s: number) => 2 * Math.sinh(s / 2) ** 2],
    ['favor-trig', -1, (s: number) => 2 * Math.sinh(s / 2) ** 2],
  ] as const)('%s: have the variance of the exact series', (method, sign, single) => {
    for (const {norm, angle_deg} of PAIRS) {
      const cosine = Math.cos((angle_deg * Math.PI) / 180)
      const squaredNorm = 2 * norm ** 2 * (1 + sign * cosine)
      const wanted =
        Math.exp(norm ** 2 * cosine) ** 2 *
        orthogonalVariance(
          {single: single(squaredNorm), squaredNorm, sign},
          {dim: SIZE.head_dim, numFeatures: SIZE.num_features},
        )
      const found = moments(estimates(cellOf(method, 6, {norm, angle_deg}), 'orth', false))
      expectNear(method, found.variance, wanted, found.varianceError, roundingOf(1))
    }
  })
})
