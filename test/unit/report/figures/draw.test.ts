import {parseHTML} from 'linkedom'
import {describe, expect, it} from 'vitest'
import {drawFigure} from '../../../../src/report/figures/draw.js'
import type {Figure} from '../../../../src/report/figures/figure.js'
import {FIGURE} from '../../../helpers/figures.js'

function drawn(figure: Figure, options = {}) {
  const {document} = parseHTML(`<html><body>${drawFigure(figure, options)}</body></html>`)
  return document
}

describe('a drawing', () => {
  it('has groups of each series: interval, line and markers; of a computed one line and markers', () => {
    const document = drawn(FIGURE)
    const groups = (place: number) => document.querySelectorAll(`g.series-${place}`).length
    expect([groups(0), groups(1), groups(2)]).toEqual([3, 3, 2])
  })

  it('has hollow markers where points are predicted, or joined by no line', () => {
    const [own, ...others] = FIGURE.series
    const alone = {...own!, joined: false}
    const document = drawn({...FIGURE, series: [own!, alone, ...others.slice(1)]})
    const fills = (place: number) =>
      [...document.querySelectorAll(`g.series-${place}`)].at(-1)!.getAttribute('fill')
    expect([fills(1), fills(2)]).toEqual(['none', 'none'])
    expect(fills(0)).not.toBe('none')
    expect(document.querySelectorAll('g.series-1')).toHaveLength(2)
  })

  it('has intervals along x, which do not decide on ticks', () => {
    const [own, ...others] = FIGURE.series
    const points = [{x: 100, y: 0.2, xLow: 90, xHigh: 111, facts: ['at 100']}]
    const document = drawn({...FIGURE, series: [own!, ...others, {...own!, joined: false, points}]})
    expect(document.querySelectorAll('g.series-3 line')).toHaveLength(1)
    expect(document.querySelector('g.series-3 title')!.textContent).toContain('at 100')
    const ticks = [...document.querySelectorAll('[aria-label^=x-axis] text')]
    expect(ticks.map(({textContent}) => textContent)).toContain('128')
  })

  it('has the facts of each point as its title', () => {
    const titles = [...drawn(FIGURE).querySelectorAll('g.series-0 title')].map(
      title => title.textContent,
    )
    expect(titles).toEqual([16, 64, 256].map(M => `favor-pos orth\nM = ${M}`))
  })

  it('has colours that the page can set, or those it is given', () => {
    const stroke = (options?: object) =>
      [...drawn(FIGURE, options).querySelectorAll('g.series-0')].map(group =>
        group.getAttribute('stroke'),
      )
    expect(stroke().join()).toContain('var(--series-1, #0072b2)')
    expect(stroke({colour: () => '#123456'}).join()).not.toContain('var(')
  })

  it('has powers of two where all values are, and numbers without spare digits', () => {
    const texts = [...drawn(FIGURE).querySelectorAll('[aria-label^=x-axis] text')].map(
      text => text.textContent,
    )
    expect(texts).toContain('16')
    expect(texts).toContain('128')
    expect(texts.join()).not.toContain('.0')
  })

  it('has texts as text', () => {
    const label = '</svg><script>alert(1)</script>'
    const hostile = {...FIGURE, title: label, series: FIGURE.series.map(line => ({...line, label}))}
    const document = drawn(hostile)
    expect(document.querySelectorAll('script')).toHaveLength(0)
    expect(document.querySelector('svg')!.getAttribute('aria-label')).toBe(label)
  })
})
