import {parseHTML} from 'linkedom'
import {describe, expect, it} from 'vitest'
import {heightOf} from '../../../../src/report/figures/axes.js'
import {drawFigure} from '../../../../src/report/figures/draw.js'
import {surroundings} from '../../../../src/report/figures/ends.js'
import type {Figure} from '../../../../src/report/figures/figure.js'
import {drawLegend, legendEntries} from '../../../../src/report/figures/legend.js'
import {FIGURE, TILES} from '../../../helpers/figures.js'

function drawn(figure: Figure, options = {}) {
  const {document} = parseHTML(`<html><body>${drawFigure(figure, options).svg}</body></html>`)
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

const textsOf = (figure: Figure, options = {}) =>
  [...drawn(figure, options).querySelectorAll('text')].map(one => one.textContent)

/** The same figure with other lines, each to M = 256. */
const withErrors = (
  errors: Readonly<Record<string, readonly [number, number, number]>>,
): Figure => ({
  ...FIGURE,
  guides: [],
  series: Object.entries(errors).map(([label, values]) => ({
    ...{label, method: label, projection: null},
    points: [16, 64, 256].map((x, at) => ({x, y: values[at]!, facts: []})),
  })),
})

describe('names at the ends of lines', () => {
  const [first, second] = FIGURE.series
  const measured = {...FIGURE, series: [first!, second!]}

  it('stand there where all fit, on demand alone', () => {
    expect(drawFigure(measured, {width: 691, ends: true}).named).toBe(true)
    expect(textsOf(measured, {width: 691, ends: true})).toContain('rfa iid')
    expect(drawFigure(measured, {width: 691}).named).toBe(false)
    expect(textsOf(measured, {width: 691})).not.toContain('rfa iid')
  })

  it.each([
    ['a name is too long', {...first!, label: 'a'.repeat(60)}],
    ['a line ends before the others', {...first!, points: first!.points.slice(0, 2)}],
    ['points are not joined', {...first!, joined: false}],
  ])('are left to a legend where %s', (_, series) => {
    expect(drawFigure({...measured, series: [series, second!]}, {ends: true}).named).toBe(false)
  })

  it('are left to a legend where there are more than lines of text beside the frame', () => {
    const many = Array.from({length: 40}, (_, at) => ({...first!, label: `line ${at}`}))
    const options = {width: 336, height: 252, fontSize: 10, ends: true}
    expect(drawFigure({...measured, series: many}, options).named).toBe(false)
    expect(drawFigure({...measured, series: many.slice(0, 8)}, options).named).toBe(true)
  })

  it('do not overlap, in the order of the lines, and have a note below them', () => {
    const errors = {a: [1, 1, 0.5], b: [1, 1, 0.501], c: [1, 1, 0.502], d: [1, 1, 0.1]} as const
    const figure = withErrors(errors)
    const series = figure.series.map(own => (own.label === 'b' ? {...own, note: 'L^2'} : own))
    const size = {width: 500, height: 300, fontSize: 10, letters: 20}
    const {labels} = surroundings({...figure, series}, size, true)
    expect(labels.map(({lines}) => lines)).toEqual([['c'], ['b', 'L^2'], ['a'], ['d']])
    for (const [before, {at, lines}] of labels.slice(1).entries()) {
      const apart = ((labels[before]!.lines.length + lines.length) / 2) * 11.5
      expect(at - labels[before]!.at).toBeGreaterThanOrEqual(apart - 1e-9)
    }
    // where there is room a name stands beside its line
    expect(labels[3]!.at).toBe(labels[3]!.from)
  })

  it('stand right of the frame for guides, but not for upright and short ones', () => {
    const [guide] = FIGURE.guides
    const marginOf = (figure: Figure) =>
      surroundings(figure, {width: 500, height: 300, fontSize: 10, letters: 20}, false)
    expect(marginOf(FIGURE).labels.map(({lines}) => lines)).toEqual([['slope -1/2']])
    const upright = {
      label: 'tolerance',
      points: [
        [256, 0.1],
        [256, 1],
      ] as [number, number][],
    }
    const short = {
      ...guide!,
      points: [
        [16, 0.4],
        [64, 0.2],
      ] as [number, number][],
    }
    expect(marginOf({...FIGURE, guides: [upright, short]}).labels).toEqual([])
    expect(textsOf({...FIGURE, guides: [upright, short]})).toContain('tolerance')
  })
})

describe('values beyond an axis', () => {
  const plain = withErrors({near: [0.9, 0.8, 0.7], far: [100, 0.9, 116]})
  const figure: Figure = {...plain, y: {...plain.y, percent: true, limit: 1}}

  it('are printed above the frame, and lines are cut there', () => {
    const document = drawn(figure)
    const texts = [...document.querySelectorAll('g.series-1 text')].map(one => one.textContent)
    expect(texts).toEqual(['100x', '116x'])
    const [line] = [...document.querySelectorAll('g.series-1 path')].map(one =>
      one.getAttribute('d'),
    )
    // from the edge down to the point, and up to the edge
    expect(line!.match(/[ML]/g)).toEqual(['M', 'L', 'L'])
    expect(document.querySelectorAll('g.series-0 text')).toHaveLength(0)
  })

  it('do not stretch the axis', () => {
    const ticks = [...drawn(figure).querySelectorAll('[aria-label="y-axis tick label"] text')]
    const numbers = ticks.map(({textContent}) => Number.parseFloat(textContent!))
    expect(ticks.length).toBeGreaterThan(1)
    expect(ticks.map(({textContent}) => textContent)).toEqual(
      [70, 75, 80, 85, 90, 95, 100].map(tick => `${tick} %`),
    )
    expect(Math.max(...numbers)).toBeLessThanOrEqual(100)
  })
})

const look = {fontSize: 10, colour: () => '#000000'}

describe('a legend', () => {
  it('has a label of each measured series and one of all pale lines on them, in fewer rows where there is room', () => {
    const labels = ['favor-pos orth', 'rfa iid', 'predicted']
    const entries = legendEntries(FIGURE)
    expect(entries.map(({label, places}) => [label, places])).toEqual(
      labels.map((label, at) => [label, [at]]),
    )
    const wide = drawLegend(entries, {...look, width: 700})
    const narrow = drawLegend(entries, {...look, width: 100})
    for (const label of labels) {
      expect(wide.svg).toContain(`>${label}<`)
      expect(narrow.svg).toContain(`>${label}<`)
    }
    expect(wide.height).toBe(15)
    expect(narrow.height).toBe(45)
  })

  it('names a pale line that lies on none', () => {
    const alone = {...FIGURE, series: FIGURE.series.slice(1)}
    expect(legendEntries(alone).map(({label}) => label)).toEqual([
      'rfa iid',
      'favor-pos orth, predicted',
    ])
  })
})
