import {describe, expect, it} from 'vitest'
import {logSummary} from '../../../../../src/experiments/variance/measure/logarithms.js'
import {isPrecise} from '../../../../../src/experiments/variance/measure/sequential.js'
import {isSurprising} from '../../../../../src/experiments/variance/measure/spread.js'
import {type VariancePlan, variancePlan} from '../../../../../src/experiments/variance/schema.js'
import {firstOutcome} from '../../../../helpers/cells.js'
import {VARIANCE_PLAN, variance} from '../../../../helpers/records/variance.js'

async function run(changes: Partial<VariancePlan>) {
  const outcome = await firstOutcome<VariancePlan>({
    ...VARIANCE_PLAN,
    ...{num_features: [8], head_dims: [4], norms: [0.5], angles_deg: [90], backend: 'cpu'},
    ...changes,
  })
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return outcome.result as (typeof record)['result']
}
const record = variance()
/** Rows that are drawn as they are. */
const PLAIN = {projections: ['orth' as const], orth_sign: 'raw' as const}
const until = (relative_half_width: number, max_replicates = 1000) => ({
  relative_half_width,
  max_replicates,
})

describe('draws until intervals are narrow', () => {
  it('go on until it is reached, and are those of as many draws asked for at once', async () => {
    const found = await run({replicates: 100, until_ci: until(0.15, 50_000)})
    const draws = found.draws!
    expect(draws).toBeGreaterThan(100)
    expect(draws).toBeLessThan(50_000)
    const [iid, orth] = found.per_projection
    expect(isPrecise(iid!, until(0.15)) && isPrecise(orth!, until(0.15))).toBe(true)
    const {draws: none, ...once} = await run({replicates: draws})
    expect(none).toBeNull()
    expect(once.per_projection).toEqual(found.per_projection)
  })

  it('stop at the most of them, also where that is no double of the first', async () => {
    const found = await run({replicates: 100, until_ci: until(0.001, 1430)})
    expect(found.draws).toBe(1430)
    const {per_projection} = await run({replicates: 1430})
    expect(found.per_projection).toEqual(per_projection)
  })

  it('are none where no row could be measured with the most of them', async () => {
    const heavy = {norms: [2], angles_deg: [0], ...PLAIN}
    const found = await run({...heavy, until_ci: until(0.1, 500)})
    expect(found.draws).toBe(0)
    expect(found.per_projection[0]!.withheld).toBe('500 replicates are too few for this tail')
  })
})

describe('draws with weights', () => {
  it('are all made, of every row of a cell, where a third leaves one too wide', async () => {
    // orthogonal rows cancel nearly all of hyperbolic features
    const size = {head_dims: [32], num_features: [32], norms: [0.4], angles_deg: [90]}
    const found = await run({
      ...{...size, replicates: 600},
      methods: [{method: 'favor-hyp', preset: 'exact', options: {}}],
    })
    for (const row of found.per_projection) {
      expect(row).toMatchObject({estimator: 'tilted', row_draws: 600})
    }
    const [, orth] = found.per_projection
    expect(orth).toMatchObject({ratio_low: expect.any(Number), ratio_high: expect.any(Number)})
  })

  const theory = {
    moments: {mean: 2, variance: 0.5, kurtosis: 1},
    bounded: false,
    featureDim: 8,
  }
  const moments = {
    ...{mean: 2, meanError: 0.1, variance: 0.5, error: 0.05, meanSquare: 0.5},
    ...{rounding: 0, shares: new Float64Array()},
  }

  it('are looked at again where mean or variance is far from what is exact, and only there', () => {
    const off = (changes: Partial<typeof moments>, exact: number | undefined = 0.5) =>
      isSurprising({...moments, ...changes}, theory, exact)
    expect(off({})).toBe(false)
    expect(off({mean: 2.29})).toBe(false)
    expect(off({mean: 2.31})).toBe(true)
    expect(off({variance: 0.5 * Math.exp(0.149)})).toBe(false)
    expect(off({variance: 0.5 * Math.exp(-0.151)})).toBe(true)
    // rows of which nothing is known may be biased
    expect(isSurprising({...moments, mean: 9}, theory, undefined)).toBe(false)
  })
})

describe('a row is precise', () => {
  const [iid, orth] = record.result.per_projection
  it('by its ratio, or by its variance where there is none', () => {
    expect(isPrecise(iid!, until(0.126))).toBe(true) // [0.07, 0.09] about 0.08
    expect(isPrecise(iid!, until(0.124))).toBe(false)
    expect(isPrecise(orth!, until(0.251))).toBe(true) // [0.75, 1.25] of the ratio
    expect(isPrecise(orth!, until(0.249))).toBe(false)
  })

  it('where it does not vary, and never where its tail was not seen', () => {
    expect(isPrecise({...iid!, withheld: 'no spread'}, until(0.01))).toBe(true)
    expect(isPrecise({...iid!, withheld: 'too few', variance: null}, until(10))).toBe(false)
  })
})

describe('logarithms of estimates', () => {
  it('are those of their quantiles over the expectation', () => {
    const estimates = Float64Array.from({length: 101}, (_, at) => Math.exp(at / 100)).reverse()
    const found = logSummary(estimates, Math.E)
    expect(found).toMatchObject({draws: 101})
    expect(found.low).toMatchReference(0.05 - 1, 12)
    expect(found.median).toMatchReference(0.5 - 1, 12)
    expect(found.high).toMatchReference(0.95 - 1, 12)
    expect(found.mean).toMatchReference(-0.5, 12)
  })

  it('are none of numbers that are not positive', () => {
    const found = logSummary(Float64Array.of(-1, 1, 2, 4), 1)
    expect(found).toMatchObject({mean: null, low: null})
    expect(found.high).toBeGreaterThan(0)
  })

  it('stand in records of rows that are withheld for their tail, and in no other', async () => {
    const tail = {norms: [2], angles_deg: [0], ...PLAIN}
    const heavy = await run({...tail, replicates: 100})
    const {logarithms} = heavy.per_projection[0]!
    expect(logarithms).toMatchObject({draws: 100})
    // nearly all draws fall short of the mean
    expect(logarithms!.median).toBeLessThan(-1)
    const light = await run({replicates: 1500})
    expect(light.per_projection.map(row => row.logarithms)).toEqual([null, null])
  })
})

describe('plans of earlier versions', () => {
  it('are of the same draws by their names', async () => {
    const now = await run({replicates: 100, until_ci: until(0.001, 200)})
    const before = await run({replicates: 100, precision: 0.001, max_draws: 200})
    expect(before).toEqual(now)
    expect(Object.keys(variancePlan.parse(VARIANCE_PLAN))).not.toContain('until_ci')
  })
})
