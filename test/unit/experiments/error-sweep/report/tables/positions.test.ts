import {describe, expect, it} from 'vitest'
import {
  positionBlocks,
  positionFigures,
} from '../../../../../../src/experiments/error-sweep/report/tables/positions.js'
import type {ErrorSweepCell} from '../../../../../../src/experiments/error-sweep/schema.js'
import {renderTerminal} from '../../../../../../src/report/terminal.js'
import {deterministic, metric, sweep} from '../../../../../helpers/records/error-sweep.js'

const LOG = [0.8, 0.4, 0.2, 0.1, 0.08, 0.04, 0.02, 0.01]
const positioned = (factor: number, cell: Partial<ErrorSweepCell> = {}) =>
  sweep(cell, {
    query_errors_by_position: LOG.map((error, position) => ({
      position,
      query_error: metric(factor * error, 0.5 * factor * error, 2 * factor * error),
    })),
  })
const ROWS = [
  positioned(9, {num_features: 16}),
  positioned(1, {num_features: 64}),
  positioned(2, {method: 'rfa'}),
]

describe('errors by position', () => {
  it('are a table of the eighths of the sequence, at the largest M', () => {
    const text = renderTerminal(positionBlocks(ROWS), {width: 110, colour: false})
    expect(text).toMatchInlineSnapshot(`
      "Error by position of the query, at the largest M

      method     projection   M  0-12 %  12-25 %  25-37 %  37-50 %  50-62 %  62-75 %  75-87 %  87-100 %
      ---------  ----------  --  ------  -------  -------  -------  -------  -------  -------  --------
      favor-pos  orth        64   0.800    0.400    0.200    0.100   0.0800   0.0400   0.0200    0.0100
      rfa        orth        64    1.60    0.800    0.400    0.200    0.160   0.0800   0.0400    0.0200

      Columns: from where to where in the sequence; median over queries of |estimate - exact| / |exact|, median over
      draws."
    `)
  })

  it('are a line for each variant, at the middle of each eighth', () => {
    const [figure, ...others] = positionFigures([...ROWS, positioned(1, {layer: 3})])
    expect(others).toHaveLength(1)
    expect(figure!.title).toBe('Error by position of the query, tiny.safetensors, L=31')
    expect(others[0]!.title).toContain('layer 3')
    expect(figure!.series.map(({label}) => label)).toEqual(['favor-pos orth M=64', 'rfa orth M=64'])
    const [first] = figure!.series[0]!.points
    expect(first).toMatchObject({x: 31 / 16, y: 0.8, low: 0.4, high: 1.6})
    expect(first!.facts).toEqual(['queries: 0-12 % of the sequence', 'error: 0.800 [0.400, 1.60]'])
  })

  it('are none where attention is not causal, and exact forms have none', () => {
    const exact = deterministic('softmax', {
      rel_l2: metric(1e-7),
      query_errors_by_position: LOG.map((_, position) => ({position, query_error: metric(1e-7)})),
    })
    for (const rows of [[sweep()], [exact]]) {
      expect(positionBlocks(rows)).toEqual([])
      expect(positionFigures(rows)).toEqual([])
    }
  })
})
