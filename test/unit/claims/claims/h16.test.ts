import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../../src/claims/claim.js'
import type {ErrorSweepCell} from '../../../../src/experiments/error-sweep/schema.js'
import {dimOf, outcomeOf} from '../../../helpers/claims.js'

describe('H16', () => {
  const truth = (stays: number, grows: number) => (cell: ErrorSweepCell) => ({
    mse: (dimOf(cell) / 16) ** (2 * (cell.scale === 0.5 ? grows : stays)),
  })

  it.each<[ClaimVerdict, number, number]>([
    ['holds', -0.6, -0.3],
    ['depends', -0.6, 0.6],
    ['refuted', 0.4, 0.6],
    ['inconclusive', -0.6, 0],
  ])('%s', async (verdict, stays, grows) => {
    expect((await outcomeOf('H16', truth(stays, grows))).verdict).toBe(verdict)
  })

  it('gives the exponent of the relative error, not of its square', async () => {
    const [stays] = (await outcomeOf('H16', truth(-0.6, 0.6))).quantities
    expect(stays!.low).toBeLessThan(-0.6)
    expect(stays!.high).toBeGreaterThan(-0.6)
  })
})
