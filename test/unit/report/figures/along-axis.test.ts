import {describe, expect, it} from 'vitest'
import {pointsIn, thinned} from '../../../../src/report/figures/along-axis.js'
import {FIGURE} from '../../../helpers/figures.js'

const line = (count: number, scale: 'log' | 'linear') => ({
  ...FIGURE,
  x: {...FIGURE.x, scale},
  series: FIGURE.series.map(own => ({
    ...own,
    points: Array.from({length: count}, (_, at) => ({x: at + 1, y: 1, facts: []})),
  })),
})

describe('thinned', () => {
  it('leaves a figure of few points as it is', () => {
    const figure = line(10, 'log')
    expect(thinned(figure, 30)).toBe(figure)
  })

  it.each(['log', 'linear'] as const)(
    'keeps points evenly along a %s axis, with both ends',
    scale => {
      const figure = thinned(line(10_000, scale), 300)
      expect(pointsIn(figure)).toBeLessThanOrEqual(300)
      const places = figure.series[0]!.points.map(({x}) => (scale === 'log' ? Math.log10(x) : x))
      expect(places[0]).toBe(scale === 'log' ? 0 : 1)
      expect(places.at(-1)).toBe(scale === 'log' ? 4 : 10_000)
      const widths = places.slice(1).map((place, at) => place - places[at]!)
      const stretch = (places.at(-1)! - places[0]!) / 99
      // a step is at most a stretch and what lies between two points; of a log axis those are far apart at its start
      const gap = scale === 'log' ? Math.log10(2) : 1
      expect(Math.max(...widths)).toBeLessThanOrEqual(stretch + gap)
    },
  )

  it('keeps two points of each series in any case', () => {
    expect(thinned(line(10_000, 'log'), 1).series.map(({points}) => points.length)).toEqual([
      2, 2, 2,
    ])
  })
})
