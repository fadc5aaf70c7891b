import {describe, expect, it} from 'vitest'
import {pointsIn, thinned} from '../../../src/report/figures/along-axis.js'
import {logTicks} from '../../../src/report/figures/ticks.js'
import {groupBy, inOrder, spanOf} from '../../../src/report/groups.js'
import {scaleOf} from '../../../src/report/plot/scale.js'
import {FIGURE} from '../../helpers/figures.js'

describe('grouping and sorting', () => {
  const words = ['pear', 'apple', 'plum', 'avocado']

  it('groups in the order in which keys appear', () => {
    expect(groupBy(words, word => word[0] ?? '')).toEqual([
      ['pear', 'plum'],
      ['apple', 'avocado'],
    ])
  })

  it('sorts by first appearance, then by number, and leaves its input alone', () => {
    const sorted = inOrder(words, [word => word[0] ?? ''], [word => -word.length])
    expect(sorted).toEqual(['pear', 'plum', 'avocado', 'apple'])
    expect(words[1]).toBe('apple')
  })
})

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
