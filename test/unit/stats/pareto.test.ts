import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {paretoFront} from '../../../src/stats/pareto.js'

const front = (points: number[][]) => paretoFront(points, point => point)

describe('paretoFront', () => {
  it('keeps what nothing beats, equal ones together', () => {
    const points = [
      [1, 3],
      [2, 2],
      [3, 1],
      [2, 3], // beaten by [2, 2] and [1, 3]
      [2, 2],
    ]
    expect(front(points)).toEqual([points[0], points[1], points[2], points[4]])
  })

  it('leaves out what has no number', () => {
    expect(
      front([
        [Number.NaN, 0],
        [5, 5],
      ]),
    ).toEqual([[5, 5]])
  })

  it('leaves out nothing but what a member of it beats', () => {
    const point = fc.array(fc.integer({min: 0, max: 4}), {minLength: 3, maxLength: 3})
    fc.assert(
      fc.property(fc.array(point, {minLength: 1, maxLength: 12}), points => {
        const kept = front(points)
        const beats = (a: number[], b: number[]) =>
          a.every((x, at) => x <= b[at]!) && a.some((x, at) => x < b[at]!)
        expect(kept.some(a => kept.some(b => beats(a, b)))).toBe(false)
        const others = points.filter(one => !kept.includes(one))
        for (const one of others) expect(kept.some(a => beats(a, one))).toBe(true)
      }),
    )
  })
})
