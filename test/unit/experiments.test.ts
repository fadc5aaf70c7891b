import {describe, expect, it} from 'vitest'
import type {DrawPoint} from '../../src/experiments/axes.js'
import bench from '../../src/experiments/bench/index.js'
import {type BenchCell, type BenchPlan, benchResult} from '../../src/experiments/bench/schema.js'
import {type ErrorSweepPlan, errorSweepResult} from '../../src/experiments/error-sweep/schema.js'
import {planRun} from '../../src/experiments/planned-run.js'
import {type VariancePlan, varianceResult} from '../../src/experiments/variance/schema.js'
import type {Plan} from '../../src/results/record.js'
import {bonferroniZ} from '../../src/stats/index.js'
import {attentionRoundingBound, FLOAT32_ROUNDOFF} from '../../src/theory/rounding.js'
import {firstOutcome} from '../helpers/cells.js'
import {bench as benchOf, method, sweep as sweepPlan} from '../helpers/plans.js'
import {VARIANCE_PLAN} from '../helpers/records/variance.js'

const CELL = {heads: 2, head_dim: 7, value_dim: 5, causal: true}
const benchPlan = benchOf({
  ...{methods: [method('favor-pos')], num_features: [19], seq_lens: [41], ...CELL},
  ...{timing: {warmup_runs: 1, min_runs: 3, max_runs: 3, min_time_ns: 0}, backend: 'wasm'},
})

interface Changes {
  causal?: boolean
  target?: 'raw' | 'matched'
  projection?: DrawPoint['projection']
  orthSign?: 'haar' | 'raw'
  replicates?: number
  scale?: number
}

async function sweepOf(name: string, changes: Changes = {}) {
  const outcome = await sweepOutcome(name, changes)
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return errorSweepResult.parse(outcome.result)
}

async function sweepOutcome(name: string, changes: Changes) {
  const {input} = sweepPlan()
  return firstOutcome<ErrorSweepPlan>(
    sweepPlan({
      input: {...input, batch: 2} as typeof input,
      methods: [method(name)],
      projections: [changes.projection ?? 'orth'],
      ...{orth_sign: changes.orthSign ?? 'haar', num_features: [31], seq_lens: [37]},
      ...{scales: [changes.scale ?? 0.5], targets: [changes.target ?? 'raw']},
      ...{replicates: changes.replicates ?? 4, causal: changes.causal ?? false},
      ...{row_metrics: true, seed: 3},
    }),
  )
}

/** What the first cell of a variance experiment comes to. */
const varianceOutcome = (changes: Partial<VariancePlan>) =>
  firstOutcome<VariancePlan>({
    ...VARIANCE_PLAN,
    ...{num_features: [8], head_dims: [8], norms: [0.5], seed: 5, backend: 'cpu'},
    ...changes,
  })

async function varianceOf(changes: Partial<VariancePlan>) {
  const outcome = await varianceOutcome(changes)
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return varianceResult.parse(outcome.result)
}

describe('a cell of an error sweep', () => {
  it.each([false, true])('finds exact softmax exact, causal %s', async causal => {
    const result = await sweepOf('softmax', {causal})
    // |x.y| <= |x||y|: canonical norms of 7 entries at scale 0.5 stay far below 8
    const bound = attentionRoundingBound({terms: 7 + 37, argument: 8, condition: 1, magnitude: 6})
    expect(result.max_abs.median).toBeLessThanOrEqual(bound)
    expect(result.mean_value_mse).toBeGreaterThan(0)
    expect(result.row_kl_infinite_pct).toBe(0)
  })

  it('gives the yardstick exactly its own error', async () => {
    const result = await sweepOf('mean-value', {causal: true})
    const {mse_over_mean_value: ratio} = result
    // the same mean in float32 and float64; its square differs by twice the rounding of 37 terms
    expect(Math.abs(ratio! - 1)).toBeLessThanOrEqual(4 * 37 * 2 ** -24)
  })

  it('splits the error of a random method and predicts its kernel variance', async () => {
    const result = await sweepOf('favor-pos')
    expect(result.mse.mean).not.toBeNull()
    const split = result.bias_squared! + result.variance!
    // bias^2 + var = mean of squared errors, but for the mean difference, which each replicate updates in single precision
    const largest = result.max_abs.max!
    const meanError = 4 * FLOAT32_ROUNDOFF * largest
    expect(Math.abs(split - result.mse.mean!)).toBeLessThanOrEqual(2 * meanError * largest)
  })

  it('predicts what the worst head and the best need, not a head of mean norm', async () => {
    const result = await sweepOf('favor-pos')
    const needs = result.per_head.map(({statistics}) => Math.ceil(Math.expm1(statistics.sum_norm2)))
    expect(result.per_head.map(head => head.needed_num_features)).toEqual(needs)
    expect(result.needed_num_features).toBe(Math.max(...needs))
    expect(result.needed_num_features_log10).toBe(Math.log10(Math.max(...needs)))
    expect(result.least_needed_num_features).toBe(Math.min(...needs))
    const worst = Math.max(...result.per_head.map(({statistics}) => statistics.sum_norm2))
    expect(result.predicted_relative_variance).toBe(Math.expm1(worst) / 31)
  })

  it('knows the power of ten of what no double can hold', async () => {
    const result = await sweepOf('favor-pos', {scale: 40})
    const norms = result.per_head.map(({statistics}) => statistics.sum_norm2)
    expect(Math.min(...norms)).toBeGreaterThan(710)
    expect(result.per_head.map(head => head.needed_num_features)).toEqual([null, null, null])
    expect(result.per_head.map(head => head.needed_num_features_log10)).toEqual(
      norms.map(norm2 => norm2 / Math.LN10),
    )
    expect(result.needed_num_features).toBeNull()
    expect(result.needed_num_features_log10).toBe(Math.max(...norms) / Math.LN10)
  })

  it('has standard errors from six replicates on', async () => {
    const [few, six] = [await sweepOf('favor-pos'), await sweepOf('favor-pos', {replicates: 6})]
    expect(few).toMatchObject({bias_squared_standard_error: null, means_unknown: 'few_replicates'})
    expect(six.means_unknown).toBeNull()
    for (const error of ['mse', 'bias_squared', 'variance'] as const) {
      expect(six[`${error}_standard_error`]).toBeGreaterThan(0)
      expect(six[`${error}_standard_error`]).toBeLessThan(six.mse.mean!)
    }
  })

  it('has none where denominators change sign', async () => {
    const result = await sweepOf('favor-trig', {replicates: 6, scale: 2})
    expect(result.negative_denominators_pct.max).toBeGreaterThan(0)
    expect(result).toMatchObject({
      mse_standard_error: null,
      bias_squared_standard_error: null,
      variance_standard_error: null,
      means_unknown: 'sign_changes',
    })
  })

  it('calls the whole error of a method that draws nothing bias', async () => {
    const result = await sweepOf('elu')
    expect(result).toMatchObject({
      bias_squared: result.mse.mean,
      bias_squared_standard_error: 0,
      variance: 0,
      means_unknown: null,
    })
  })

  it('predicts rfa from unit vectors, whatever it is compared with', async () => {
    const [raw, matched] = await Promise.all([sweepOf('rfa'), sweepOf('rfa', {target: 'matched'})])
    expect(raw.needed_num_features).toBe(matched.needed_num_features)
    expect(raw.target_label).toBe('softmax')
    expect(matched.target_label).toContain('unit')
  })

  it('reports every head, and the heads average to the whole', async () => {
    const result = await sweepOf('elu')
    expect(result.per_head.map(head => head.head)).toEqual([0, 1, 2])
    const mean = result.per_head.reduce((sum, head) => sum + head.mse!, 0) / 3
    expect(Math.abs(mean - result.mse.median!)).toBeLessThanOrEqual(100 * 2 ** -53 * mean)
  })

  it('gives the same record twice', async () => {
    expect(await sweepOf('favor-trig')).toEqual(await sweepOf('favor-trig'))
  })

  it('states the reason where a method has no number', async () => {
    const {input} = sweepPlan()
    const crossed = {...input, key_len: 11} as typeof input
    expect(await firstOutcome(sweepPlan({methods: [method('identity')], input: crossed}))).toEqual({
      status: 'skipped',
      reason: 'needs equal numbers of queries and keys',
    })
  })
})

it('results of every experiment name backend, instruction set and threads', async () => {
  const common = {methods: [method('favor-pos')], num_features: [5], backend: 'wasm' as const}
  const computed = {backend: 'wasm', instruction_set: 'wasm-simd128', threads: 1}
  for (const plan of [
    sweepPlan({...common, seq_lens: [11], scales: [1], targets: ['raw'], replicates: 1}),
    {...VARIANCE_PLAN, ...common, projections: ['iid'], head_dims: [3], replicates: 2} as Plan,
    benchPlan,
  ]) {
    expect(await firstOutcome<Plan>(plan)).toMatchObject({result: computed})
  }
})

describe('projections of a cell', () => {
  it('keep LAPACK signs where asked, and only where there are signs', async () => {
    const [haar, raw] = [await sweepOf('favor-pos'), await sweepOf('favor-pos', {orthSign: 'raw'})]
    expect(raw.mse.mean).not.toBe(haar.mse.mean)
    const iid = await sweepOf('favor-pos', {projection: 'iid'})
    const ignored = await sweepOf('favor-pos', {projection: 'iid', orthSign: 'raw'})
    expect(ignored.mse).toEqual(iid.mse)
  })

  it('are skipped at sizes that they do not have', async () => {
    expect(await sweepOutcome('favor-pos', {projection: 'moment'})).toMatchObject({
      status: 'completed',
    })
    const small = {...benchPlan, projections: ['moment'], num_features: [7]} as BenchPlan
    expect(await firstOutcome(small)).toEqual({
      status: 'skipped',
      reason: 'needs more than the head dimension 7 for moment, has 7',
    })
  })
})

describe('a cell of a benchmark', () => {
  it('passes the gate and reports time, work and how it ran', async () => {
    const outcome = await firstOutcome(benchPlan)
    if (outcome.status !== 'completed') throw new Error(outcome.reason)
    const result = benchResult.parse(outcome.result)
    expect(result.backend).toBe('wasm')
    expect(result.operations).toMatchObject({CausalFeatureAttention: 'composite'})
    expect(result.gate!.max_abs_error).toBeLessThanOrEqual(result.gate!.bound)
    expect(result.samples_ns).toHaveLength(3)
    expect(result.min_ns).toBeGreaterThan(0)
  })

  it('is checked in its trial alone', async () => {
    const [job] = (await planRun(benchPlan)).jobs
    const gateOf = async (part: 'trial' | 'rest') => {
      const outcome = await bench.run(job!.cell as BenchCell, {part})
      return outcome.status === 'completed' ? outcome.result.gate : expect.unreachable()
    }
    expect(await gateOf('trial')).toMatchObject({rows: 41})
    expect(await gateOf('rest')).toBeNull()
  })

  it.each(['call', 'every:2', 'pool:5'])('draws projections anew as told: %s', async redraw => {
    const plan = {...benchPlan, redraw}
    expect((await planRun(plan)).jobs[0]!.cell).toMatchObject({redraw})
    expect(await firstOutcome(plan)).toMatchObject({status: 'completed'})
  })

  it('knows no redraw policy where nothing is drawn', async () => {
    const plan = {...benchPlan, methods: [method('elu')], redraw: 'call'}
    const [job] = (await planRun(plan)).jobs
    expect(job!.cell).toMatchObject({projection: null, redraw: 'fixed', orth_sign: 'haar'})
  })
})

describe('a cell of a variance experiment', () => {
  it('measures the closed form of iid rows, and less variance with orthogonal sin/cos rows', async () => {
    const result = await varianceOf({
      ...{methods: [method('favor-trig')], angles_deg: [90], replicates: 3000},
    })
    const [iid, orth] = result.per_projection
    const z = bonferroniZ(3, 1e-4)
    expect(Math.abs(iid!.bias_z!)).toBeLessThanOrEqual(z)
    expect(Math.abs(orth!.bias_z!)).toBeLessThanOrEqual(z)
    // 1 - cos u of a small normal u is nearly u^2/2, of kurtosis 15; a mean of 8 has 3 + 12/8; and a
    // sample variance of R values has relative sd sqrt((kurtosis - 1) / R)
    const deviation = Math.abs(iid!.variance! / result.closed_form_variance! - 1)
    expect(deviation).toBeLessThanOrEqual(z * Math.sqrt((2 + 12 / 8) / 3000))
    expect(orth!.ratio_high).toBeLessThan(1)
  })

  it('measures features without a projection against their closed form', async () => {
    const result = await varianceOf({
      ...{methods: [method('maclaurin')], num_features: [64], replicates: 3000},
    })
    const [only, ...rest] = result.per_projection
    expect(rest).toEqual([])
    expect(only).toMatchObject({projection: 'none', ratio_to_iid: null})
    const z = bonferroniZ(2, 1e-4)
    expect(Math.abs(only!.bias_z!)).toBeLessThanOrEqual(z)
    // the degree decides most of a product: its kurtosis is below 3 here, so that of a mean is too
    const deviation = Math.abs(only!.variance! / result.closed_form_variance! - 1)
    expect(deviation).toBeLessThanOrEqual(z * Math.sqrt(2 / 3000))
  })

  it('skips a method without random features, with the reason', async () => {
    expect(await varianceOutcome({methods: [method('elu')]})).toEqual({
      status: 'skipped',
      reason: 'has no random features',
    })
  })
})
