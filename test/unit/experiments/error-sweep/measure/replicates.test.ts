import {describe, expect, it} from 'vitest'
import {replicatesTogether} from '../../../../../src/experiments/error-sweep/measure/batched-replicates.js'
import type {
  ErrorSweepPlan,
  ErrorSweepResult,
} from '../../../../../src/experiments/error-sweep/schema.js'
import {resolveMethod} from '../../../../../src/experiments/method.js'
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
    ] as const) {
      expect(together[metric], metric).toEqual(alone[metric])
    }
    expect(together.bias_squared).toBe(alone.bias_squared)
    expect(together.variance_standard_error).toBe(alone.variance_standard_error)
    expect(together.per_head).toEqual(alone.per_head)
    expect(together.row_kl_nats).toBeNull()
    expect(alone.row_kl_nats).not.toBeNull()
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
