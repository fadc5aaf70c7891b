import {describe, expect, it} from 'vitest'
import {spanOf} from '../../../../src/report/figures/span.js'
import {logTicks} from '../../../../src/report/figures/ticks.js'
import {pointsIn, thinned} from '../../../../src/report/html/thinned.js'
import {scaleOf} from '../../../../src/report/plot/scale.js'
import {FIGURE} from '../../../helpers/figures.js'

/** More than a call takes as arguments. */
const MANY = 300_000

describe('spanOf', () => {
  it('gives both ends', () => {
    expect(spanOf([3, 1, 2])).toEqual([1, 3])
    expect(spanOf([])).toEqual([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
  })

  it('lets figures have any number of points', () => {
    const values = Array.from({length: MANY}, (_, at) => at + 1)
    expect(spanOf(values)).toEqual([1, MANY])
    expect(logTicks(values, 9).ticks.at(-1)).toBe(1e5)
    expect(scaleOf({label: 'x', scale: 'log'}, values, 9).share(MANY)).toBe(1)
    const points = values.map(x => ({x, y: 1, facts: []}))
    const series = FIGURE.series.map(own => ({...own, points}))
    expect(pointsIn(thinned({...FIGURE, series}, 300))).toBeLessThanOrEqual(300)
  })
})
