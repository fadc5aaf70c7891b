import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../../src/claims/claim.js'
import type {ErrorSweepCell} from '../../../../src/experiments/error-sweep/schema.js'
import {outcomeOf, type Truth} from '../../../helpers/claims.js'

describe('H7', () => {
  const truth =
    (errors: {raw?: number; matched?: number; trig?: number}, bias: [number, number] = [1, 0.01]) =>
    ({method, target}: ErrorSweepCell): Truth => {
      const {raw = 0.1, matched = 1e-4, trig = 100} = errors
      return {mse: method === 'favor-trig' ? trig : target === 'raw' ? raw : matched, bias}
    }

  it.each<[ClaimVerdict, ReturnType<typeof truth>]>([
    ['holds', truth({})],
    ['refuted', truth({trig: 0.01})],
    ['refuted', truth({matched: 0.05})],
    ['inconclusive', truth({matched: 0.01})],
    ['inconclusive', truth({}, [1, 1])],
  ])('%s', async (verdict, truthOf) => {
    expect((await outcomeOf('H7', truthOf)).verdict).toBe(verdict)
  })
})
