import {describe, expect, it} from 'vitest'
import {comparisonFigures} from '../../../src/compare/figures.js'
import type {ComparedRow, ComparisonFacts} from '../../../src/compare/schema.js'

const row = (at: Record<string, string>, changes: Partial<ComparedRow> = {}): ComparedRow => ({
  ...{quantity: 'time', at, key_a: 'a', key_b: 'b', unit: 'ns', a: 2, b: 3},
  ...{ratio: 1.5, ratio_low: 1.25, ratio_high: 1.75, p_value: 0.01, effect: null, pairs: null},
  ...{basis: 'medians', answer: 'more', limit_percent: 10, judgement: 'regression'},
  ...changes,
})
const facts = (rows: ComparedRow[]) =>
  ({rows, limits: [{quantity: 'time', percent: 10}]}) as unknown as ComparisonFacts

describe('figures of a comparison', () => {
  it('have a line for each cell, named by what differs, with 1 and the limit', () => {
    const [time, error] = comparisonFigures(
      facts([
        row({method: 'elu', L: '128', B: '1'}),
        row({method: 'rfa', L: '256', B: '1'}, {ratio: 0.5, ratio_low: null, ratio_high: null}),
        row({method: 'rfa', L: '256', B: '1'}, {quantity: 'error'}),
      ]),
    )
    expect(time!.y.names).toEqual(['elu L=128', 'rfa L=256'])
    expect(time!.series).toMatchObject([
      {method: 'elu', points: [{x: 1.5, xLow: 1.25, xHigh: 1.75, y: 0}]},
      {method: 'rfa', points: [{x: 0.5, xLow: null, y: 1}]},
    ])
    expect(time!.guides.map(({points}) => points[0]![0])).toEqual([1, 1.1])
    expect(error!.guides.map(({points}) => points[0]![0])).toEqual([1])
  })

  it('are none where no ratio is known', () => {
    expect(comparisonFigures(facts([row({method: 'elu'}, {ratio: null})]))).toEqual([])
  })
})
