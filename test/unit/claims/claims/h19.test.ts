import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../../src/claims/claim.js'
import type {ErrorSweepCell} from '../../../../src/experiments/error-sweep/schema.js'
import {outcomeOf, type Truth} from '../../../helpers/claims.js'

describe('H19', () => {
  const truth =
    (exact: [number, number], released: [number, number], ratio: [number, number] = [10, 0.1]) =>
    ({method, preset}: ErrorSweepCell): Truth => ({
      bias: method === 'favor-pos' ? ratio : preset === 'exact' ? exact : released,
    })

  it.each<[ClaimVerdict, ReturnType<typeof truth>]>([
    ['holds', truth([0.01, 0.02], [1, 0.02])],
    ['refuted', truth([0.5, 0.02], [1, 0.02])],
    ['inconclusive', truth([0.01, 0.4], [1, 0.02])],
    ['inconclusive', truth([0.01, 0.02], [0.01, 0.02])],
    ['inconclusive', truth([0.01, 0.02], [1, 0.02], [0.1, 0.1])],
  ])('%s', async (verdict, truthOf) => {
    expect((await outcomeOf('H19', truthOf)).verdict).toBe(verdict)
  })
})
