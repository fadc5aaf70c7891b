import {describe, expect, it} from 'vitest'
import {claimsFigure} from '../../../src/claims/figure.js'
import type {ClaimOutcome} from '../../../src/claims/outcome.js'

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
