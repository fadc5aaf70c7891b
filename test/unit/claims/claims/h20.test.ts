import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../../src/claims/claim.js'
import type {ErrorSweepCell} from '../../../../src/experiments/error-sweep/schema.js'
import {dataOf, outcomeOf, type Truth} from '../../../helpers/claims.js'

describe('H20', () => {
  const truth =
    (
      of: (data: string) => {
        ra?: number
        lara?: number
        positive?: number
        slope?: number
        spread?: number
      },
    ) =>
    (cell: ErrorSweepCell): Truth => {
      const {ra = 0.01, lara = 0.1, positive = 1, slope = -0.1, spread = 0.1} = of(dataOf(cell))
      const share = (cell.num_features ?? 49) / 49
      if (cell.method === 'ra') return {mse: ra, spread}
      if (cell.method === 'lara') return {mse: lara / share}
      return {mse: positive * share ** slope}
    }

  it.each<[ClaimVerdict, ReturnType<typeof truth>]>([
    ['holds', truth(() => ({}))],
    ['depends', truth(data => (data === 'gaussian' ? {lara: 1} : {}))],
    ['refuted', truth(() => ({slope: -1}))],
    ['refuted', truth(() => ({ra: 0.2}))],
    ['inconclusive', truth(data => (data === 'ar1' ? {ra: 0.1, spread: 2} : {}))],
  ])('%s', async (verdict, truthOf) => {
    const found = await outcomeOf('H20', truthOf)
    expect(found.verdict).toBe(verdict)
  })
})
