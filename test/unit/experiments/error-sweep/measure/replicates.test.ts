import {describe, expect, it} from 'vitest'
import {replicatesTogether} from '../../../../../src/experiments/error-sweep/measure/batched-replicates.js'
import {endOf, nextCount} from '../../../../../src/experiments/error-sweep/measure/replicates.js'
import type {
  ErrorSweepPlan,
  ErrorSweepResult,
} from '../../../../../src/experiments/error-sweep/schema.js'
import {resolveMethod} from '../../../../../src/experiments/method.js'
import {mostReplicates} from '../../../../../src/experiments/until-ci.js'
import {exactBackends} from '../../../../helpers/backends.js'
import {firstOutcome} from '../../../../helpers/cells.js'
import {method, sweep} from '../../../../helpers/plans.js'

/** How many replicates of {@link resultOf} make one call. */
async function callsTogether(): Promise<number> {
  const shape = {batch: 1, heads: 3, queryLen: 17, keyLen: 17, headDim: 7, valueDim: 5}
  const cell = {num_features: 11, causal: false, row_metrics: false, replicates: 9}
  return replicatesTogether(cell, await resolveMethod(method('favor-pos')), shape)
}

async function resultOf(changes: Partial<ErrorSweepPlan>): Promise<ErrorSweepResult> {
  const plan = sweep({
    ...{methods: [method('favor-pos')], projections: ['orth'], num_features: [11]},
    ...{scales: [1], targets: ['raw'], replicates: 9, ...changes},
  })
  const outcome = await firstOutcome(plan)
  if (outcome.status !== 'completed') throw new Error(outcome.reason)
  return outcome.result as ErrorSweepResult
}

// elsewhere they are the same to rounding, which test/conformance/heads.test.ts holds
describe.each(await exactBackends())('replicates on %s', backend => {
  it('are the same in one call as in a call each', async () => {
    expect(await callsTogether()).toBe(9)
    const together = await resultOf({backend})
    const alone = await resultOf({backend, row_metrics: true}) // weights of rows take a call each
    for (const metric of [
      'mse',
      'rel_l2',
      'rel_l1',
      'max_abs',
      'cosine',
      'row_sum_deviation',
      'token_mean_rel_l2',
      'token_mean_split',
    ] as const) {
      expect(together[metric], metric).toEqual(alone[metric])
    }
    expect(together.bias_squared).toBe(alone.bias_squared)
    expect(together.variance_standard_error).toBe(alone.variance_standard_error)
    expect(together.per_head).toEqual(alone.per_head)
    expect(together.row_kl_nats).toBeNull()
    expect(alone.row_kl_nats).not.toBeNull()
  })

  it('have the same rows of sampled queries in one call as in a call each, of the first three', async () => {
    const sampled = {backend, row_queries: 12}
    const together = await resultOf({...sampled, replicates: 9})
    const alone = await resultOf({...sampled, replicates: 1})
    const {row_total_variation: variations, row_kl_nats: divergences} = together.replicate_metrics!
    expect(variations).toHaveLength(9)
    expect(variations!.map(own => own === null)).toEqual(
      Array.from({length: 9}, (_, at) => at >= 3),
    )
    expect(variations![0]).toBe(alone.replicate_metrics!.row_total_variation![0])
    expect(new Set(divergences!.slice(0, 3)).size).toBe(3)
    expect(together.row_sample).toMatchObject({rows: 12, of: 3 * 17, draws: 3})
    expect(together.rows_unknown).toBeNull()
    // the rows are in addition: nothing else is another number
    expect(together.mse).toEqual((await resultOf({backend})).mse)
  })

  it('begin with those of a shorter run', async () => {
    const [one, two] = [
      await resultOf({backend, replicates: 1}),
      await resultOf({backend, replicates: 2}),
    ]
    const {min, max} = two.mse
    expect([min, max]).toContain(one.mse.mean)
  })
})

describe('rows of sampled queries', () => {
  it.each([
    ['softmax', 'exact'],
    ['nystrom', 'no_weights'],
  ])('are missing for %s, and the record says why: %s', async (name, why) => {
    const {rows_unknown, row_sample, row_total_variation} = await resultOf({
      methods: [method(name)],
      row_queries: 12,
    })
    expect([rows_unknown, row_sample, row_total_variation]).toEqual([why, null, null])
  })

  it('are not looked at where all rows are, or none', async () => {
    const whole = await resultOf({row_metrics: true, row_queries: 12, replicates: 1})
    expect([whole.row_sample, whole.rows_unknown]).toEqual([null, null])
    expect(whole.row_total_variation).not.toBeNull()
    const none = await resultOf({replicates: 1})
    expect([none.row_sample, none.row_total_variation]).toEqual([null, null])
  })

  it.each(['favor-pos', 'softmax', 'nystrom'])(
    'are missing where they were not asked for, and the record says so: %s',
    async name => {
      const {rows_unknown} = await resultOf({methods: [method(name)], replicates: 1})
      expect(rows_unknown).toBe('not_asked')
    },
  )

  it('are within the reach of float32 of the rows that attention makes of the identity', async () => {
    const sampled = await resultOf({row_queries: 3 * 17, replicates: 1})
    const whole = await resultOf({row_metrics: true, replicates: 1})
    expect(sampled.row_sample).toMatchObject({rows: 51, of: 51})
    // 17 weights of a row, each of a sum of 11 products of exponentials: 2 x (17 + 11 + 8) roundings of 2^-24 of its size
    const allowed = 2 * 36 * 2 ** -24
    const [a, b] = [sampled.row_total_variation!.median!, whole.row_total_variation!.median!]
    expect(Math.abs(a - b)).toBeLessThan(allowed)
    expect(sampled.row_top1_agreement!.median).toBe(whole.row_top1_agreement!.median)
  })
})

const UNTIL = {metric: 'rel_l2', relative_half_width: 0.1, max_replicates: 40} as const
const cell = {replicates: 10, until_ci: UNTIL}

/** Replicates of these errors. */
const of = (errors: number[]) =>
  errors.map(rel_l2 => ({
    all: {rel_l2, mse: rel_l2 ** 2, rel_l1: 1, max_abs: 1, cosine: 1, not_finite_pct: 0},
  }))
const wide = (count: number) => of(Array.from({length: count}, (_, i) => 1 + (i % 2)))
const narrow = (count: number) => of(Array.from({length: count}, (_, i) => 1 + (i % 2) / 100))

describe('the number of replicates', () => {
  it('is that of the cell where no precision is asked for', () => {
    expect(nextCount({replicates: 7}, [])).toBe(7)
    expect(nextCount({replicates: 7}, wide(7))).toBeUndefined()
    expect(endOf({}, wide(7))).toEqual({replicates_run: null, stopped_by: null})
    expect(mostReplicates({replicates: 7})).toBe(7)
  })

  it('grows by half until the median is known, or to the most', () => {
    const counts: number[] = []
    for (let next: number | undefined = 0; next !== undefined; ) {
      next = nextCount(cell, wide(next))
      if (next !== undefined) counts.push(next)
    }
    expect(counts).toEqual([10, 15, 23, 35, 40])
    expect(endOf(cell, wide(40))).toEqual({replicates_run: 40, stopped_by: 'max_replicates'})
    expect(nextCount(cell, narrow(10))).toBeUndefined()
    expect(endOf(cell, narrow(10))).toEqual({replicates_run: 10, stopped_by: 'precision'})
    expect(mostReplicates(cell)).toBe(40)
  })

  it('takes no interval for known where there is none', () => {
    expect(nextCount({...cell, replicates: 3}, narrow(3))).toBe(5)
    expect(nextCount(cell, of(new Array(10).fill(Number.NaN)))).toBe(15)
  })

  it('judges the metric that is named', () => {
    const mse = {...cell, until_ci: {...UNTIL, metric: 'mse', relative_half_width: 0.01}} as const
    // errors of 1 and 1.01: half widths 0.005 of rel_l2, 0.01005 of mse over medians of 1.005 and 1.01005
    expect(
      nextCount({...mse, until_ci: {...mse.until_ci, metric: 'rel_l2'}}, narrow(10)),
    ).toBeUndefined()
    expect(nextCount(mse, narrow(10))).toBeUndefined()
    const finer = {...mse, until_ci: {...mse.until_ci, relative_half_width: 0.007}}
    expect(nextCount(finer, narrow(10))).toBe(15)
  })

  it('goes on in a cell with the draws of a longer run', async () => {
    const run = async (changes: Partial<ErrorSweepPlan>) => {
      const plan = sweep({methods: [method('favor-pos')], targets: ['raw'], ...changes})
      const outcome = await firstOutcome(plan)
      if (outcome.status !== 'completed') throw new Error(outcome.reason)
      return outcome.result as ErrorSweepResult
    }
    const until = {metric: 'rel_l2', relative_half_width: 1e-9, max_replicates: 10} as const
    const grown = await run({replicates: 4, until_ci: until})
    const whole = await run({replicates: 10})
    expect(grown).toMatchObject({replicates_run: 10, stopped_by: 'max_replicates'})
    expect(grown.replicate_metrics).toEqual(whole.replicate_metrics)
    expect(grown.mse).toEqual(whole.mse)
    expect(grown.bias_squared).toBe(whole.bias_squared)
    const loose = {...until, relative_half_width: 100}
    expect(await run({replicates: 6, until_ci: loose})).toMatchObject({
      replicates_run: 6,
      stopped_by: 'precision',
    })
    const drawsNothing = await run({methods: [method('elu')], until_ci: until})
    expect(drawsNothing).toMatchObject({replicates_run: null, stopped_by: null})
  })
})
