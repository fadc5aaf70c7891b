/** Coverage of the intervals of `rfa variance --until-ci`, whose draws stop when they are narrow enough. */
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../src/attention/index.js'
import {estimatorNamed, resolveOptions} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {estimateRequest} from '../../src/experiments/variance/measure/estimates.js'
import {exactOf} from '../../src/experiments/variance/measure/exact.js'
import {drawRows} from '../../src/experiments/variance/measure/sequential.js'
import type {Theory} from '../../src/experiments/variance/measure/spread.js'
import {bonferroniZ} from '../../src/stats/index.js'
import {varianceCell} from '../helpers/records/variance.js'
import {EFFORT} from '../helpers/statistics.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const RUNS = EFFORT === 1 ? 60 : 240
/** Of rows that stop by what they have seen themselves. */
const LEAST_COVERAGE = 0.93
const CASES = [
  {method: 'favor-pos', angle_deg: 90, precision: 0.15},
  {method: 'favor-hyp', angle_deg: 90, precision: 0.2},
  {method: 'favor-trig', angle_deg: 180, precision: 0.1},
]
const Z = bonferroniZ(3 * CASES.length, 1e-4)

function runOf({method, angle_deg, precision}: (typeof CASES)[number], seed: number) {
  const size = {head_dim: 4, num_features: 8, norm: 0.5, backend: 'cpu'} as const
  const until_ci = {relative_half_width: precision, max_replicates: 12_800}
  const cell = varianceCell({method, angle_deg, seed, ...size, replicates: 100, until_ci})
  const estimator = estimatorNamed(method)
  const options = resolveOptions(estimator, 'exact', {})
  const request = estimateRequest(cell, estimator, options)
  const {x, y, calibration} = request
  const kernel = estimator.kernel!
  const theory: Theory = {
    moments: kernel.moments(x, y, {numFeatures: 8, options, calibration}),
    bounded: kernel.bounded ?? false,
    featureDim: estimator.featureDim(8, 4, options),
  }
  const {rows, replicates} = drawRows(request, theory, ['iid', 'orth'])
  return {rows, replicates, theory, ratio: exactOf(request, 'orth').ratio!}
}

describe('intervals of draws that stop when those are narrow enough', () => {
  it.each(CASES)('$method: cover nearly as often as they say', given => {
    const misses = {iid: 0, orth: 0, ratio: 0}
    const sizes = new Set<number>()
    for (let seed = 0; seed < RUNS; seed++) {
      const {rows, replicates, theory, ratio} = runOf(given, seed)
      const [iid, orth] = rows as [(typeof rows)[number], (typeof rows)[number]]
      const {variance} = theory.moments
      const outside = (low: number | null, high: number | null, truth: number) =>
        low! <= truth && truth <= high! ? 0 : 1
      misses.iid += outside(iid.variance_low, iid.variance_high, variance)
      misses.orth += outside(orth.variance_low, orth.variance_high, ratio * variance)
      misses.ratio += outside(orth.ratio_low, orth.ratio_high, ratio)
      const half = (orth.ratio_high! - orth.ratio_low!) / 2
      if (replicates < 12_800)
        expect(half / orth.ratio_to_iid!).toBeLessThanOrEqual(given.precision)
      sizes.add(replicates)
    }
    const share = (count: number) => ((100 * (RUNS - count)) / RUNS).toFixed(1)
    process.stdout.write(
      `| ${given.method} | R ${[...sizes].join(', ')} | ${share(misses.iid)} | ${share(misses.orth)} | ${share(misses.ratio)} |\n`,
    )
    for (const count of Object.values(misses)) {
      const rate = 1 - LEAST_COVERAGE
      const allowed = rate + Z * Math.sqrt((rate * (1 - rate)) / RUNS)
      expect(count / RUNS).toBeLessThan(allowed)
    }
  })
})
