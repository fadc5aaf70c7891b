import {describe, expect, it} from 'vitest'
import {savedPoints} from '../../../../src/claims/figures/figure.js'
import {figureReport} from '../../../../src/claims/figures/report.js'
import {renderTerminal} from '../../../../src/report/terminal.js'

const FIGURE = {
  id: 'some-1',
  title: 'What it shows',
  source: 'A paper',
  paper: 'a curve',
  ours: 'another',
  x: 'length',
  y: 'ratio',
  notes: ['one point is missing'],
  points: savedPoints([
    {series: 'time, RA', x: 20, y: 2, low: 1.8, high: 2.1, quoted: 3},
    {series: 'time, RA', x: 3, y: 0.5},
    {series: 'memory', x: 20, y: Number.POSITIVE_INFINITY},
  ]),
}

describe('a figure', () => {
  it('is a table of its curves, with intervals and what the paper gives', () => {
    expect(renderTerminal(figureReport(FIGURE), {width: 80, colour: false})).toMatchInlineSnapshot(`
      "Figure some-1

      What it shows.

      - the paper: a curve (A paper)
      - here: another

      length        3                20
      --------  -----  ----------------
      time, RA  0.500  2.00 ±11% (3.00)
      memory        -                 -

      - values: ratio
      - ± and [ ]: 95 % intervals
      - in brackets: what the paper gives
      - one point is missing"
    `)
  })

  it('fits into 60 columns, every value in it', () => {
    const points = savedPoints(
      Array.from({length: 12}, (_, at) => ({series: `curve ${at}, long name`, x: 1, y: at + 0.5})),
    )
    const text = renderTerminal(figureReport({...FIGURE, points}), {width: 60, colour: false})
    expect(text.split('\n').filter(line => line.length > 60)).toEqual([])
    for (const {y} of points) expect(text).toContain(y!.toPrecision(3))
  })

  it('without points has no table', () => {
    const text = renderTerminal(figureReport({...FIGURE, points: []}), {width: 80, colour: false})
    expect(text).toContain('one point is missing')
    expect(text).not.toContain('---')
  })
})
