import {describe, expect, it} from 'vitest'
import {drawable, figureWithTexts} from '../../../../src/report/figures/figure.js'
import {FIGURE} from '../../../helpers/figures.js'

describe('what can be drawn', () => {
  it('is what logarithms have', () => {
    const [line] = FIGURE.series
    const points = [
      {x: 0, y: 1, facts: []},
      {x: 2, y: -1, facts: []},
      {x: 4, y: Number.NaN, facts: []},
      {x: 8, y: 1, low: -1, high: 2, facts: []},
    ]
    const shown = drawable({...FIGURE, series: [{...line!, points}]})!
    expect(shown.series[0]!.points).toEqual([points[3]])
    const linear = drawable({
      ...FIGURE,
      y: {label: 'y', scale: 'linear'},
      series: [{...line!, points}],
    })!
    expect(linear.series[0]!.points).toEqual([points[1], points[3]])
  })

  it('is nothing where no point is left', () => {
    const series = FIGURE.series.map(line => ({...line, points: [{x: 1, y: 0, facts: []}]}))
    expect(drawable({...FIGURE, series})).toBeUndefined()
  })

  it('has no guide that leaves the axes', () => {
    const guides = [
      {
        label: 'zero',
        points: [
          [1, 0],
          [2, 0],
        ] as const,
      },
    ]
    expect(drawable({...FIGURE, guides})!.guides).toEqual([])
  })
})

it('has every text of a figure changed but for its name', () => {
  const changed = figureWithTexts(FIGURE, text => text.toUpperCase())
  expect(changed.name).toBe(FIGURE.name)
  const texts = JSON.stringify({
    ...changed,
    name: '',
    series: [],
    x: changed.x.label,
    y: changed.y.label,
  })
  expect(texts).toContain('TITLE OF IT')
  expect(changed.series[0]!.label).toBe('FAVOR-POS ORTH')
  expect(changed.series[0]!.points[0]!.facts).toEqual(['M = 16'])
  expect(changed.guides[0]!.label).toBe('SLOPE -1/2')
  expect(changed.table.rows[0]![0]).toBe('FAVOR-POS')
})
