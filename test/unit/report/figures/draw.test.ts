import {parseHTML} from 'linkedom'
import {describe, expect, it} from 'vitest'
import {heightOf} from '../../../../src/report/figures/axes.js'
import {drawFigure, drawLegend} from '../../../../src/report/figures/draw.js'
import type {Figure} from '../../../../src/report/figures/figure.js'
import {FIGURE, TILES} from '../../../helpers/figures.js'

function drawn(figure: Figure, options = {}) {
  const {document} = parseHTML(`<html><body>${drawFigure(figure, options)}</body></html>`)
  return document
}

describe('a drawing', () => {
  it('has groups of each series: interval, line and markers; of a computed one its line', () => {
    const document = drawn(FIGURE)
    const groups = (place: number) => document.querySelectorAll(`g.series-${place}`).length
    expect([groups(0), groups(1), groups(2)]).toEqual([3, 3, 1])
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

  it('has rings where lines pass others, with what they say, and intervals of x', () => {
    const [first, ...others] = FIGURE.series
    const ring = {x: 40, y: 0.3, xLow: 32, xHigh: 50, facts: ['overtakes it']}
    const document = drawn({...FIGURE, series: [{...first!, crossings: [ring]}, ...others]})
    const titles = [...document.querySelectorAll('g.series-0 title')].map(one => one.textContent)
    expect(titles).toContain('favor-pos orth\novertakes it')
    expect(document.querySelectorAll('g.series-0')).toHaveLength(5)
  })

  it('has tiles with numbers between names, as high as there are names', () => {
    const document = drawn(TILES)
    expect(document.querySelectorAll('g.series-0 rect')).toHaveLength(2)
    const texts = [...document.querySelectorAll('text')].map(one => one.textContent)
    for (const wanted of ['0.012', '0.90', 'head 2', 'rfa']) expect(texts).toContain(wanted)
    expect(heightOf(TILES, {height: 999, fontSize: 10})).toBeLessThan(200)
    expect(heightOf(FIGURE, {height: 999, fontSize: 10})).toBe(999)
  })
})

const look = {fontSize: 10, colour: () => '#000000'}

it('a legend has a label of each series, in fewer rows where there is room', () => {
  const wide = drawLegend(FIGURE, {...look, width: 700})
  const narrow = drawLegend(FIGURE, {...look, width: 200})
  for (const {label} of FIGURE.series) {
    expect(wide.svg).toContain(`>${label}<`)
    expect(narrow.svg).toContain(`>${label}<`)
  }
  expect(wide.height).toBe(15)
  expect(narrow.height).toBe(45)
})
