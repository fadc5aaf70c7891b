import {describe, expect, it} from 'vitest'
import {headsFigures} from '../../../../../src/experiments/error-sweep/report/heads-figure.js'
import {metric, sweep} from '../../../../helpers/records/error-sweep.js'

const base = sweep().result.per_head[0]!
const ofHeads = (errors: readonly (number | null)[], cell = {}) =>
  sweep(cell, {
    rel_l2: metric(1),
    per_head: errors.map((rel_l2, head) => ({...base, head, rel_l2})),
  })

describe('tiles of heads', () => {
  it('have a row for each head and a column for each variant, at the most features', () => {
    const [figure, ...others] = headsFigures([
      ofHeads([0.1, 0.2], {num_features: 16}),
      ofHeads([0.3, null], {num_features: 64}),
      ofHeads([0.5, 0.6], {method: 'rfa', num_features: 64}),
    ])
    expect(others).toEqual([])
    expect(figure!.x.names).toEqual(['favor-pos orth M=64', 'rfa orth M=64'])
    expect(figure!.y.names).toEqual(['head 0', 'head 1'])
    expect(figure!.series[0]!.points.map(({x, y, value}) => [x, y, value])).toEqual([
      [0, 0, 0.3],
      [1, 0, 0.5],
      [1, 1, 0.6],
    ])
    expect(figure!.table.rows).toEqual([
      ['head 0', '0.300', '0.500'],
      ['head 1', '-', '0.600'],
    ])
  })

  it('have a row for each head of each layer of a file', () => {
    const [figure] = headsFigures([
      ofHeads([0.1, 0.2], {layer: 1}),
      ofHeads([0.3, 0.4], {layer: 0}),
    ])
    expect(figure!.y.names).toEqual([
      'layer 0 head 0',
      'layer 0 head 1',
      'layer 1 head 0',
      'layer 1 head 1',
    ])
    expect(figure!.series[0]!.points.map(({y, value}) => [y, value])).toEqual([
      [2, 0.1],
      [3, 0.2],
      [0, 0.3],
      [1, 0.4],
    ])
  })

  it('are not drawn of one head, of what is generated, or of more than one can read', () => {
    const generated = {input: {kind: 'generator' as const, name: 'gaussian'}}
    expect(headsFigures([ofHeads([0.1])])).toEqual([])
    expect(headsFigures([ofHeads([0.1, 0.2], generated as never)])).toEqual([])
    expect(headsFigures([ofHeads(new Array<number>(65).fill(1))])).toEqual([])
  })
})
