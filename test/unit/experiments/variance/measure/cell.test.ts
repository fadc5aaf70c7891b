import {describe, expect, it} from 'vitest'
import {
  type VarianceCell,
  type VariancePlan,
  type VarianceResult,
  varianceResult,
} from '../../../../../src/experiments/variance/schema.js'
import {bonferroniZ} from '../../../../../src/stats/index.js'
import {logSecondMoment, optimalExponent} from '../../../../../src/theory/exponential.js'
import {logDirectionMean} from '../../../../../src/theory/row-tilt.js'
import {firstOutcome} from '../../../../helpers/cells.js'
import {FULL, sample} from '../../../../helpers/effort.js'
import {UNMEASURED} from '../../../../helpers/records/variance.js'

/** The cell of a plan with one pair. */
async function run(method: string, changes: Partial<VarianceCell> = {}): Promise<VarianceResult> {
  const outcome = await firstOutcome<VariancePlan>({
    experiment: 'variance',
    methods: [{method, preset: 'exact', options: changes.options ?? {}}],
    projections: changes.projections ?? ['iid'],
    orth_sign: changes.orth_sign ?? 'haar',
    num_features: [changes.num_features ?? 64],
    head_dims: [changes.head_dim ?? 8],
    norms: [changes.norm ?? 0.5],
    angles_deg: [changes.angle_deg ?? 0],
    replicates: changes.replicates ?? 2000,
    seed: changes.seed ?? 5,
    backend: 'auto',
  })
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return varianceResult.parse(outcome.result)
}

describe('rows whose tail no such sample shows', () => {
  // with raw signs rows are drawn as they are
  const rows = {projections: ['orth' as const], orth_sign: 'raw' as const}

  it('say how many replicates they need, and no measured number', async () => {
    const {closed_form_variance, per_projection} = await run('favor-pos', {
      ...rows,
      norm: 1.5,
    })
    // s = |x+y|^2 = 9: kurtosis of one row e^36 + 2 e^27 + 3 e^18 - 6
    const kurtosis = (Math.exp(36) + 2 * Math.exp(27) + 3 * Math.exp(18) - 6) / 64
    expect(closed_form_variance! / ((Math.exp(4.5) * Math.expm1(9)) / 64)).toMatchReference(1, 12)
    const [row] = per_projection
    expect(row).toMatchObject({...UNMEASURED, withheld: expect.stringContaining('2000 replicates')})
    expect(row).toMatchObject({estimator: 'plain', row_draws: 0})
    expect(row!.needed_replicates! / (100 * (kurtosis + 2))).toMatchReference(1, 12)
    expect(row!.variance_relative_standard_error).toMatchReference(
      Math.sqrt((kurtosis + 2) / 2000),
      1,
    )
  })

  it('have neither where there is no fourth moment, or none that a double holds', async () => {
    const heavy = await run('oprf', {options: {a: 0.1}, ...rows})
    expect(heavy.closed_form_kurtosis).toBeNull()
    expect(heavy.closed_form_variance).toBeGreaterThan(0)
    expect(heavy.per_projection[0]).toMatchObject({...UNMEASURED, needed_replicates: null})
    const far = await run('favor-pos', {norm: 30})
    expect(far).toMatchObject({expectation: null, closed_form_variance: null})
    expect(far.per_projection[0]).toMatchObject({...UNMEASURED, needed_replicates: null})
    expect(far.per_projection[0]!.withheld).toMatch(/fourth moment/)
  })

  it('are measured from the needed replicates on, and not before', async () => {
    const size = {angle_deg: 90, norm: 0.4, num_features: 8, ...rows}
    const {closed_form_kurtosis: kurtosis} = await run('favor-pos', size)
    const needed = Math.ceil(100 * (kurtosis! + 2))
    const few = await run('favor-pos', {...size, replicates: needed - 1})
    expect(few.per_projection[0]).toMatchObject({...UNMEASURED, needed_replicates: needed})
    const more = await run('favor-pos', {...size, replicates: 10 * needed})
    expect(more.per_projection[0]).toMatchObject({withheld: null, needed_replicates: null})
    expect(more.per_projection[0]).toMatchObject({estimator: 'plain', row_draws: 10 * needed})
    expect(more.per_projection[0]!.variance).not.toBeNull()
  })
})

describe('rows that are drawn where estimates have their moments', () => {
  const projections = [
    'iid',
    'orth',
    'orth-sqrt-d',
    'simplex',
    'simplex-plus',
    'antithetic',
  ] as const

  it('are measured at any norm, and the record says how', async () => {
    const methods = [
      ['favor-pos', 3],
      ['favor-exp', 2],
      ['favor-hyp', 3],
      ['smreg', 3],
      ['oprf', 3],
      ['hrf', 2],
    ] as const
    for (const [at, [method, norm]] of sample(methods, 3, 0).entries()) {
      const angle_deg = method === 'hrf' ? 60 : 0 // equal vectors leave it no spread
      // of matched moments, lengths are tilted to products alone, not to squares of lengths
      const others = method === 'oprf' ? projections : ([...projections, 'moment'] as const)
      const names = ['iid' as const, ...sample(others.slice(1), 2, at)]
      const size = {projections: names, replicates: 1500}
      const found = await run(method, {...size, norm, angle_deg})
      const z = bonferroniZ(6 * names.length * 2, 1e-4)
      for (const row of found.per_projection) {
        const label = `${method} ${row.projection}`
        expect(row, label).toMatchObject({estimator: 'tilted', row_draws: 500, withheld: null})
        expect(row.variance_relative_standard_error, label).toBeLessThan(0.1)
        if (row.exact_z !== null) expect(Math.abs(row.exact_z), label).toBeLessThan(z)
        // rows that are not normal are biased; those of one length not for the kernel of such rows
        const biased = ['orth-sqrt-d', 'moment'].includes(row.projection)
        if (!biased || (row.projection === 'orth-sqrt-d' && method === 'smreg')) {
          expect(Math.abs(row.bias_z!), label).toBeLessThan(z)
        }
      }
      expect(found.per_projection[0]!.exact_z, method).not.toBeNull()
    }
  })

  it('have the mean that coordinates on a sphere give, where rows are matched to their moments', async () => {
    const size = {num_features: 12, head_dim: 5, norm: 2, angle_deg: 0, replicates: 6000}
    const {expectation, per_projection} = await run('favor-pos', {
      ...size,
      projections: ['moment'],
    })
    const {mean, bias_z} = per_projection[0]!
    const error = (mean! - expectation!) / bias_z!
    const sphere = Math.exp(logDirectionMean(11, 4 * Math.sqrt(11)) - 8)
    expect(Math.abs(mean! - sphere * expectation!) / error).toBeLessThan(5)
    expect(Math.abs(bias_z!)).toBeGreaterThan(20)
  })

  it('have a variance where products of rows have no fourth moment', async () => {
    const {closed_form_kurtosis, per_projection} = await run('oprf', {options: {a: 0.1}})
    expect(closed_form_kurtosis).toBeNull()
    expect(Math.abs(per_projection[0]!.exact_z!)).toBeLessThan(5)
  })

  it('are not those of bounded products, few draws, or a tail that is not stated', async () => {
    const estimatorOf = async (method: string, changes: Partial<VarianceCell>) =>
      (await run(method, {replicates: 100, ...changes})).per_projection[0]!.estimator
    expect(await estimatorOf('favor-trig', {angle_deg: 90})).toBe('plain')
    expect(await estimatorOf('favor-pos', {replicates: 87})).toBe('plain')
    expect(await estimatorOf('favor-pos', {replicates: 88})).toBe('tilted')
    const options = {stabilizer: 'none', featureEpsilon: 0.1}
    expect(await estimatorOf('favor-pos', {options, norm: 0.3})).toBe('plain')
    const raw = {projections: ['orth' as const], orth_sign: 'raw' as const}
    expect(await estimatorOf('favor-pos', raw)).toBe('plain')
  })

  it('are whole matrices where no plane does: few dimensions, dense exponents, rows that know directions', async () => {
    const methods = [
      ['favor-pos', {head_dim: 1}],
      ['favor-hyp', {head_dim: 2}],
      ['oprf', {head_dim: 3}],
      ['sderf', {head_dim: 4}],
      ['aderf', {head_dim: 4}],
      ['saderf', {head_dim: 4}],
      ['favor-pos', {head_dim: 8}],
    ] as const
    for (const [method, changes] of sample(methods, 3, 0)) {
      const names = ['iid', 'sobol', 'halton', 'givens', 'sorf-chi'] as const
      const size = {norm: 2, num_features: 12, replicates: 900, projections: [...names], ...changes}
      const {per_projection} = await run(method, size)
      for (const row of per_projection) {
        const label = `${method} ${row.projection}`
        expect(row, label).toMatchObject({estimator: 'tilted', withheld: null})
        expect(row.variance_relative_standard_error, label).toBeLessThan(0.1)
        const z = bonferroniZ(7 * names.length, 1e-4)
        if (row.exact_z !== null) expect(Math.abs(row.exact_z), label).toBeLessThan(z)
      }
      expect(per_projection[0]!.exact_z, method).not.toBeNull()
    }
  })
})

describe('a cell without spread', () => {
  const ROUNDING = 'theory leaves no spread: what varies is rounding'

  it('asks for no more replicates: its variance is 0, not a tail', async () => {
    for (const replicates of [2, 100, 1000]) {
      const found = await run('favor-pos', {norm: 1, angle_deg: 180, replicates})
      // |x+y|^2 of opposite vectors is what the rounding of their squared norms leaves
      expect(Math.abs(found.closed_form_variance!)).toBeLessThan(2 ** -50)
      const row = found.per_projection[0]!
      expect(row).toMatchObject({...UNMEASURED, ...pick(row), withheld: ROUNDING})
      expect(row.needed_replicates).toBeNull()
      expect(Math.abs(row.mean! / Math.exp(-1) - 1)).toBeLessThan(64 * 2 ** -23)
    }
  })

  it('is one of the angular hybrid with opposite vectors, whatever their plane', async () => {
    for (let seed = 0; seed < (FULL ? 24 : 6); seed++) {
      for (const norm of [1, 1.5]) {
        const size = {norm, angle_deg: 180, head_dim: 2, num_features: 8, replicates: 2, seed}
        const found = await run('hrf', size)
        expect(found.closed_form_kurtosis, `seed ${seed}`).toBe(0)
        expect(found.per_projection[0]!.withheld, `seed ${seed}`).toBe(ROUNDING)
      }
    }
  })

  it('has no kurtosis either where nothing varies', async () => {
    for (const method of ['favor-trig', 'rfa']) {
      const {closed_form_variance, closed_form_kurtosis} = await run(method, {replicates: 2})
      expect({closed_form_variance, closed_form_kurtosis}).toEqual({
        closed_form_variance: 0,
        closed_form_kurtosis: 0,
      })
    }
  })

  it('says that rows which leave none are at fault where i.i.d. ones vary', async () => {
    // a cosine is even: in one dimension rows of length 1 give one estimate
    const {closed_form_variance, per_projection} = await run('favor-trig', {
      projections: ['iid', 'orth-sqrt-d', 'sorf', 'householder'],
      head_dim: 1,
      angle_deg: 180,
      num_features: 8,
    })
    const [iid, ...others] = per_projection
    expect(iid!.withheld).toBeNull()
    for (const row of others) {
      expect(row).toMatchObject({...UNMEASURED, ...pick(row), needed_replicates: null})
      expect(row.withheld).toBe('these rows leave no spread: what varies is rounding')
      // |x-y| = 1: e^(1/4) cos 1 at every draw; 16 terms, and sines and cosines of a few roundings
      expect(Math.abs(row.mean! / (Math.exp(0.25) * Math.cos(1)) - 1)).toBeLessThan(64 * 2 ** -24)
      expect(row.variance).toBeLessThan(closed_form_variance! * 1e-9)
    }
  })
})

/** What is told of a row without spread. */
function pick({mean, variance, relative_mse}: VarianceResult['per_projection'][number]) {
  expect([mean, variance, relative_mse]).not.toContain(null)
  return {mean, variance, relative_mse}
}

describe('a cell that is measured', () => {
  it('has intervals of the width that kurtosis gives, and a ratio to iid', async () => {
    const {closed_form_kurtosis, closed_form_variance, per_projection} = await run('favor-trig', {
      projections: ['iid', 'orth'],
      angle_deg: 90,
      replicates: 500,
    })
    const [iid, orth] = per_projection
    const error = Math.sqrt((closed_form_kurtosis! + 2) / 500)
    expect(iid!.variance_relative_standard_error).toBe(error)
    expect(Math.log(iid!.variance_high! / iid!.variance!)).toMatchReference(1.959964 * error, 6)
    const z = bonferroniZ(3, 1e-4)
    expect(Math.abs(Math.log(iid!.variance! / closed_form_variance!))).toBeLessThan(z * error)
    expect(Math.abs(iid!.bias_z!)).toBeLessThan(z)
    expect(iid!.ratio_to_iid).toBeNull()
    expect(orth!.ratio_high).toBeLessThan(1)
    expect(orth!.ratio_to_iid).toBe(orth!.variance! / iid!.variance!)
  })

  it('draws other matrices for other norms and angles', async () => {
    const near = await run('favor-trig', {angle_deg: 90, replicates: 250})
    const other = await run('favor-trig', {angle_deg: 90.0001, replicates: 250})
    const [a, b] = [near, other].map(({per_projection}) => per_projection[0]!.bias_z!)
    // with common draws the two would agree to about 1e-5
    expect(Math.abs(a! - b!)).toBeGreaterThan(1e-3)
  })

  it('keeps what is left of no spread, as rounding', async () => {
    const {per_projection} = await run('favor-trig', {replicates: 64})
    expect(per_projection[0]).toMatchObject({
      withheld: expect.stringContaining('rounding'),
      bias_z: null,
      variance_low: null,
      needed_replicates: null,
    })
    // float32: a sum of M cosines and sines squared
    expect(per_projection[0]!.variance).toBeLessThan((2 * 64 * 2 ** -24) ** 2 * Math.exp(0.5))
  })

  it('never calibrates on the pair itself: the exponent is that of all pairs in the mean', async () => {
    // |x+y|^2 is 4 norm^2 for the pair, 2 norm^2 in the mean over pairs in independent planes
    const size = {norm: 1, head_dim: 16, replicates: 2}
    const a = optimalExponent(2 / 16)
    for (const [angle_deg, squared] of [
      [0, 4],
      [180, 0], // the pair by itself would ask for a = 0, with which nothing varies
    ] as const) {
      const found = await run('oprf', {...size, angle_deg})
      expect(found.calibration_pairs).toBe(256)
      const kernel = Math.exp(2 * Math.cos((angle_deg * Math.PI) / 180))
      const wanted = (kernel * Math.expm1(logSecondMoment(a, 16, squared))) / 64
      // the mean of 256 unit vectors in 16 dimensions has a square of about 1/256: 0.4 % of 2, and the
      // variance grows no faster than the square of what it is taken of
      expect(Math.abs(found.closed_form_variance! / wanted - 1)).toBeLessThan(0.03)
    }
    expect((await run('favor-pos', size)).calibration_pairs).toBeNull()
  })
})

describe('closed forms of dependent rows', () => {
  const size = {angle_deg: 90, num_features: 10, head_dim: 6, replicates: 600}
  const projections = ['iid', 'orth', 'simplex', 'antithetic', 'sobol'] as const

  it.each(['favor-pos', 'favor-hyp', 'favor-trig', 'rfa', 'smreg', 'favor-exp'])(
    '%s: measured variances agree with them',
    async method => {
      const found = await run(method, {...size, projections: [...projections]})
      const [iid, ...others] = found.per_projection
      expect(iid).toMatchObject({exact_variance: found.closed_form_variance, exact_ratio: null})
      // five rows of six methods
      const z = bonferroniZ(30, 1e-4)
      for (const row of [iid!, ...others.slice(0, 3)]) {
        expect(row.exact_variance, row.projection).not.toBeNull()
        expect(row.theorem_bound === null, row.projection).toBe(
          row.projection !== 'orth' || !['favor-pos', 'favor-exp'].includes(method),
        )
        if (row.exact_z !== null) expect(Math.abs(row.exact_z), row.projection).toBeLessThan(z)
      }
      const ratio = others[0]!.exact_variance! / found.closed_form_variance!
      expect(others[0]!.exact_ratio! / ratio).toMatchReference(1, 14)
      expect(others[3]).toMatchObject({exact_variance: null, exact_ratio: null, exact_z: null})
    },
  )

  it('are not stated of raw signs, epsilons or rows that leave no spread', async () => {
    const nothing = {exact_variance: null, exact_ratio: null, theorem_bound: null}
    const raw = await run('favor-pos', {...size, projections: ['orth'], orth_sign: 'raw'})
    expect(raw.per_projection[0]).toMatchObject(nothing)
    const options = {stabilizer: 'none', featureEpsilon: 0.1}
    const shifted = await run('favor-pos', {...size, projections: ['orth'], options})
    expect(shifted.per_projection[0]).toMatchObject(nothing)
    const flat = await run('favor-pos', {...size, angle_deg: 180, projections: ['orth']})
    expect(flat.per_projection[0]).toMatchObject(nothing)
  })
})

describe('rows that treat directions differently', () => {
  it('are distinguished in the record, raw signs and rows of any direction are not', async () => {
    const names = ['iid', 'orth', 'sobol', 'givens', 'simplex-plus'] as const
    const told = async (orth_sign: 'haar' | 'raw') => {
      const {per_projection} = await run('favor-pos', {
        ...{projections: [...names], orth_sign, replicates: 100, num_features: 8},
      })
      return per_projection.map(row => row.all_directions)
    }
    expect(await told('haar')).toEqual([false, false, true, true, false])
    expect(await told('raw')).toEqual([false, false, true, true, false])
  })
})
