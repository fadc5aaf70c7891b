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
  it('has groups of each series: interval, line and markers; of a computed one its line', () => {
    const document = drawn(FIGURE)
    const groups = (place: number) => document.querySelectorAll(`g.series-${place}`).length
    expect([groups(0), groups(1), groups(2)]).toEqual([3, 3, 1])
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
