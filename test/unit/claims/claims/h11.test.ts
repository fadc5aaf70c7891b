import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../../src/claims/claim.js'
import type {ErrorSweepCell} from '../../../../src/experiments/error-sweep/schema.js'
import type {VariancePlan} from '../../../../src/experiments/variance/schema.js'
import {ratioToIid} from '../../../../src/theory/dependent-rows.js'
import {claimOf, outcomeOf, type Plans} from '../../../helpers/claims.js'
import {variance} from '../../../helpers/records/variance.js'

describe('H11', async () => {
  const plans = (await (await claimOf('H11')).plans({effort: 'quick', seed: 0})) as Plans
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
    // sines and cosines vary more at large |x - y|, whatever outputs do
    ['depends', 1, ratio(() => 0.5)],
    ['depends', 1, ratio(({scale}) => (scale < 1 ? 0.5 : 1))],
    ['depends', 1, ratio(() => 1.2)],
    ['refuted', 1.5, ratio(() => 1.2)],
    ['depends', 1, ratio(() => 0.9, 2)],
    ['inconclusive', 1.5, ratio(() => 0.9, 2)],
  ])('%s', async (verdict, factor, truthOf) => {
    const found = await outcomeOf('H11', truthOf, {'h11-kernel': kernel(factor)})
    expect(found.verdict).toBe(verdict)
  })

  it('says of the kernel what the series does: sines and cosines vary more at large |x - y|', async () => {
    const found = await outcomeOf(
      'H11',
      ratio(() => 0.5),
      {'h11-kernel': kernel(1)},
    )
    expect(found.statement).toContain(
      'lower with positive and hyperbolic features always, with sines and cosines but for large |x - y|: there up to 1.5 % higher (D = 4, |x - y|^2 = 12)',
    )
    const value = (name: string) => found.quantities.find(one => one.name.startsWith(name))!.value!
    expect(value('largest exact ratio')).toBeLessThan(1)
    expect(value('the same, hyperbolic')).toBeLessThan(1)
    // 1 + 3 (e^6 (1 - 6 + 6) - 1) / (cosh 12 - 1)
    const sines = 1 + (3 * Math.expm1(6)) / (Math.cosh(12) - 1)
    expect(value('the same, sines')).toMatchReference(sines, 12)
  })

  it('is not decided by fewer pairs than planned', async () => {
    const few = (cell: ErrorSweepCell) => ({...ratio(() => 0.5)(cell), replicates: 20})
    const found = await outcomeOf('H11', few, {'h11-kernel': kernel(1)})
    expect(found).toMatchObject({verdict: 'inconclusive', inconclusive_because: 'draws'})
    expect(found.statement).toContain('of 20 pairs, where it takes 82')
  })
})
