import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../src/claims/claim.js'
import type {ErrorSweepCell} from '../../../src/experiments/error-sweep/schema.js'
import type {VariancePlan} from '../../../src/experiments/variance/schema.js'
import {ratioToIid} from '../../../src/theory/dependent-rows.js'
import {claimOf, outcomeOf, type Plans} from '../../helpers/claims.js'
import {variance} from '../../helpers/records/variance.js'

describe('H11', async () => {
  const plans = (await claimOf('H11')).plans({effort: 'quick', seed: 0}) as Plans
  const kernel = (factor: number) => {
    const plan = plans['h11-kernel'] as VariancePlan
    return plan.num_features.flatMap(num_features =>
      plan.norms.map(norm => {
        const cell = {method: 'favor-pos', num_features, norm, angle_deg: 60, head_dim: 8}
        const record = variance(cell)
        const row = {...record.result.per_projection[0]!, variance_relative_standard_error: 0.02}
        const product = {shape: 'exp', squaredNorm: 3 * norm ** 2} as const
        const ratio = ratioToIid('orth', product, {headDim: 8, numFeatures: num_features})
        const own = {...row, projection: 'orth' as const, variance: factor * ratio}
        const per_projection = [row, own]
        return {...record, result: {...record.result, closed_form_variance: 1, per_projection}}
      }),
    )
  }
  const ratio =
    (of: (cell: ErrorSweepCell) => number, spread = 0.1) =>
    (cell: ErrorSweepCell) => ({
      mse: cell.projection === 'orth' ? of(cell) : 1,
      spread,
    })

  it.each<[ClaimVerdict, number, ReturnType<typeof ratio>]>([
    ['holds', 1, ratio(() => 0.5)],
    ['depends', 1, ratio(({scale}) => (scale < 1 ? 0.5 : 1))],
    ['depends', 1, ratio(() => 1.2)],
    ['refuted', 1.5, ratio(() => 1.2)],
    ['not_measurable', 1, ratio(() => 0.9, 2)],
  ])('%s', async (verdict, factor, truthOf) => {
    const found = await outcomeOf('H11', truthOf, {'h11-kernel': kernel(factor)})
    expect(found.verdict).toBe(verdict)
  })

  it('is not decided by fewer pairs than planned', async () => {
    const few = (cell: ErrorSweepCell) => ({...ratio(() => 0.5)(cell), replicates: 20})
    const found = await outcomeOf('H11', few, {'h11-kernel': kernel(1)})
    expect(found.verdict).toBe('not_measurable')
    expect(found.statement).toContain('of 20 pairs, where it takes 82')
  })
})
