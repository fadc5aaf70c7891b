import {describe, expect, it} from 'vitest'
import {turningPoints} from '../../../../../src/experiments/error-sweep/report/turning-points.js'
import type {Series} from '../../../../../src/report/figures/figure.js'

/** A line x^power / factor at 1, 4 and 16. */
function line(method: string, power: number, factor: number, xs = [1, 4, 16]): Series {
  const points = xs.map(x => ({x, y: x ** power / factor, facts: []}))
  return {label: `${method}, predicted`, method, projection: 'iid', points, computed: true}
}

describe('turning points of predicted lines', () => {
  it('are where the lowest line changes, exact for power laws', () => {
    // x^2 / 64 and x / 8 meet at 8
    const [mark, ...others] = turningPoints([line('low', 2, 64), line('high', 1, 8)])
    expect(others).toEqual([])
    expect(mark!.line.method).toBe('high')
    expect(mark!.point.facts).toEqual(['high overtakes low at 8.00, by theory'])
    expect(mark!.point.x).toBeCloseTo(8, 12)
    expect(mark!.point.y).toBeCloseTo(1, 12)
  })

  it('are not told where lines do not change places, or above a third line', () => {
    expect(turningPoints([line('low', 1, 64), line('high', 1, 8)])).toEqual([])
    expect(turningPoints([line('low', 2, 64)])).toEqual([])
    const below = line('lowest', 1, 1000)
    expect(turningPoints([line('low', 2, 64), line('high', 1, 8), below])).toEqual([])
  })

  it('are told between places that lines share alone', () => {
    expect(turningPoints([line('low', 2, 64), line('high', 1, 8, [1, 4])])).toEqual([])
  })
})
