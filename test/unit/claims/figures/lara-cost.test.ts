import {describe, expect, it} from 'vitest'
import figure from '../../../../src/claims/figures/lara-cost.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import {timedInTurns} from '../../../helpers/records/bench.js'

/** Of times, as a share: so little that ratios are known to five digits. */
const NOISE = 1e-6

describe('figure lara-cost', () => {
  it('holds times and bytes against those of softmax attention at the same length', () => {
    const plan = figure.plans({effort: 'quick', seed: 0})['lara-cost']
    const records = plan.methods.flatMap(({method}) =>
      plan.seq_lens.map(seq_len =>
        method === 'softmax'
          ? timedInTurns({method, seq_len}, 8e6, {live_bytes: seq_len ** 2}, NOISE)
          : timedInTurns({method, seq_len}, 2e6, {live_bytes: 7 * seq_len}, NOISE),
      ),
    )
    const {points} = figure.draw(new ClaimRuns(new Map([['lara-cost', records]])))
    const of = (series: string) => points.filter(point => point.series === series)
    for (const {y} of of('time, LARA')) expect(y).toMatchReference(0.25, 5)
    expect(of('time, LARA').map(({x}) => x)).toEqual(plan.seq_lens)
    expect(of('time, LARA')[0]!.low).toBeLessThan(0.25)
    expect(of('time, LARA')[0]!.high).toBeGreaterThan(0.25)
    expect(of('memory, RA').map(({x, y}) => [x, y])).toEqual(
      plan.seq_lens.map(length => [length, 7 / length]),
    )
    expect(of('time, RA').every(({quoted}) => quoted === 2)).toBe(true)
    expect(points.filter(({quoted}) => quoted !== undefined)).toHaveLength(plan.seq_lens.length)
  })
})
