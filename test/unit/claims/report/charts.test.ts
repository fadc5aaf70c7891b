import {describe, expect, it} from 'vitest'
import type {ClaimOutcome} from '../../../../src/claims/outcome.js'
import {claimsFigure, paperFigure} from '../../../../src/claims/report/charts.js'

const QUANTITY = {low: null, high: null, expected: null}

function outcome(id: string, quantities: Partial<ClaimOutcome['quantities'][number]>[]) {
  return {
    ...{id, sentence: 's', source: 's', paper: 'p', ours: null, statistic: null, rule: null},
    ...{
      verdict: 'holds',
      inconclusive_because: null,
      statement: 's',
      explanation: null,
      tests: [],
      runs: [],
    },
    quantities: quantities.map(own => ({name: 'ratio', value: 1, ...QUANTITY, ...own})),
  } as ClaimOutcome
}

describe('the figure of claims', () => {
  it('has what is expected of numbers as 1, with their intervals', () => {
    const [figure] = claimsFigure([
      outcome('H2', [{value: 6, low: 3, high: 9, expected: 12}, {value: 7}]),
      outcome('H3', [
        {name: 'state', value: 2, expected: 1},
        {value: -1, expected: 2},
      ]),
    ])
    expect(figure!.y.names).toEqual(['H2: ratio', 'H3: state'])
    expect(figure!.series[0]!.points).toMatchObject([
      {x: 0.5, xLow: 0.25, xHigh: 0.75, y: 0},
      {x: 2, xLow: null, y: 1},
    ])
  })

  it('is not drawn where nothing is expected', () => {
    expect(claimsFigure([outcome('H2', [{value: 6}])])).toEqual([])
  })
})

const POINT = {low: null, high: null, quoted: null}
const DRAWN = {
  ...{id: 'lara-mse', title: 'Errors', source: 'a paper', paper: 'its setting', ours: 'ours'},
  ...{x: 'samples', y: 'squared error', notes: []},
  points: [
    {...POINT, series: 'lara, noise', x: 64, y: 0.25, low: 0.2, high: 0.3, quoted: 0.125},
    {...POINT, series: 'lara, noise', x: 4, y: 4},
    {...POINT, series: 'favor-pos orth, scale 1', x: 4, y: null},
    {...POINT, series: 'favor-pos orth, scale 1', x: 64, y: 2},
  ],
}

describe('a figure of a paper', () => {
  it('has our curves in the look of their methods, and what the paper prints as open markers', () => {
    const [figure] = paperFigure(DRAWN)
    expect(figure).toMatchObject({name: 'paper-lara-mse', x: {scale: 'log'}, y: {scale: 'log'}})
    expect(figure!.series).toMatchObject([
      {label: 'lara, noise', method: 'lara', points: [{x: 4}, {x: 64, y: 0.25, low: 0.2}]},
      {label: 'favor-pos orth, scale 1', method: 'favor-pos', projection: 'orth'},
      {label: 'lara, noise, the paper', method: 'lara', open: true, joined: false},
    ])
    expect(figure!.series[1]!.points.map(({x}) => x)).toEqual([64])
    expect(figure!.table.rows[0]).toEqual(['lara, noise', '64', '0.250 [0.200, 0.300]', '0.125'])
  })

  it('is not drawn of points at one place', () => {
    const [first] = DRAWN.points
    expect(paperFigure({...DRAWN, points: [first!]})).toEqual([])
    expect(paperFigure({...DRAWN, points: []})).toEqual([])
  })
})
