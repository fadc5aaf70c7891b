import {describe, expect, it} from 'vitest'
import figure from '../../../../src/claims/figures/performer-3.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import {timedInTurns} from '../../../helpers/records/bench.js'

describe('figure performer-3', () => {
  const plan = figure.plans({effort: 'quick', seed: 0})['performer-3']

  it('times whole layers, a line each, in seconds with intervals', () => {
    expect(plan.mode).toBe('layer')
    const records = plan.methods.flatMap(({method}) =>
      plan.seq_lens.map(seq_len =>
        timedInTurns({method, seq_len}, seq_len * (method === 'identity' ? 1e3 : 2e3), {}, 1e-6),
      ),
    )
    const {points} = figure.draw(new ClaimRuns(new Map([['performer-3', records]])))
    const line = points.filter(({series}) => series.startsWith('X'))
    expect(line.map(({x}) => x)).toEqual(plan.seq_lens)
    for (const {x, y, low, high} of line) {
      expect(y / (x * 1e-6)).toMatchReference(1, 5)
      expect(low).toBeLessThan(y)
      expect(high).toBeGreaterThan(y)
    }
    expect(new Set(points.map(({series}) => series)).size).toBe(4)
  })
})
