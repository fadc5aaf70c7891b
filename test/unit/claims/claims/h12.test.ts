import {describe, expect, it} from 'vitest'
import type {ClaimVerdict} from '../../../../src/claims/claim.js'
import type {ErrorSweepCell} from '../../../../src/experiments/error-sweep/schema.js'
import {outcomeOf} from '../../../helpers/claims.js'

describe('H12', () => {
  const truth = (ratioOf: (norm: number) => number) => (cell: ErrorSweepCell) => {
    const norm = 2 * cell.scale
    return {mse: cell.method === 'favor-pos' ? ratioOf(norm) : 1, norm2: norm ** 2}
  }

  it.each<[ClaimVerdict, (norm: number) => number]>([
    ['holds', () => 0.1],
    ['refuted', () => 3],
    ['inconclusive', () => 1],
  ])('%s', async (verdict, ratioOf) => {
    expect((await outcomeOf('H12', truth(ratioOf))).verdict).toBe(verdict)
  })

  it('depends on the norm, and finds where', async () => {
    const found = await outcomeOf(
      'H12',
      truth(norm => (1.2 / norm) ** 4),
    )
    expect(found.verdict).toBe('depends')
    const crossing = found.quantities.find(({name}) => name.startsWith('norm from which'))
    // a power law is a line in logarithms; the ratios at both ends are known to some 3 %
    expect(Math.abs(crossing!.value! - 1.2)).toBeLessThan(0.05)
  })
})
