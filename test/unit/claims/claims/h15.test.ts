import {describe, expect, it} from 'vitest'
import type {ClaimVerdict, TestedClaim} from '../../../../src/claims/claim.js'
import {claimNamed} from '../../../../src/claims/claims/index.js'
import {outcomes} from '../../../../src/claims/outcome.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import type {BenchPlan} from '../../../../src/experiments/bench/schema.js'
import {benchCells} from '../../../helpers/cells.js'
import {timedInTurns} from '../../../helpers/records/bench.js'

/** What is found where a layer with attention takes so many times as long at length L as one without. */
async function outcomeOf(ratio: (length: number) => number, noise = 0.02) {
  const claim = (await claimNamed('H15')) as TestedClaim
  const plan = (await claim.plans({effort: 'quick', seed: 0})).layers as BenchPlan
  const cells = await benchCells(plan)
  const records = cells.map(cell => {
    const own = cell.method === 'identity' ? 1 : ratio(cell.seq_len)
    return timedInTurns(cell, 1e3 * cell.seq_len * own, {}, noise)
  })
  const [found] = await outcomes([claim], new ClaimRuns(new Map([['layers', records]])), () => [])
  return found!
}

describe('H15', () => {
  it.each<[ClaimVerdict, (length: number) => number, number?]>([
    ['holds', () => 1.3],
    ['holds', length => 1.3 * length ** 0.05],
    ['refuted', length => 1.3 * length ** 0.4],
    ['refuted', length => 1.3 * length ** -0.4],
    ['inconclusive', () => 1.3, 0.6],
    ['inconclusive', length => length ** 0.3],
  ])('%s where the ratio is %o', async (verdict, ratio, noise) => {
    expect((await outcomeOf(ratio, noise)).verdict).toBe(verdict)
  })

  it('tells the ratio at each length', async () => {
    const {quantities} = await outcomeOf(() => 1.3, 1e-6)
    for (const {value} of quantities.slice(1)) expect(Math.abs(value! / 1.3 - 1)).toBeLessThan(1e-5)
    expect(quantities).toHaveLength(4)
  })
})
