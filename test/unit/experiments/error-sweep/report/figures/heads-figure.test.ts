import {describe, expect, it} from 'vitest'
import {
  headsFigures,
  layersFigures,
} from '../../../../../../src/experiments/error-sweep/report/figures/heads-figure.js'
import {metric, sweep} from '../../../../../helpers/records/error-sweep.js'

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

describe('tiles of layers', () => {
  const ofLayer = (layer: number, error: number, cell = {}) =>
    sweep({layer, ...cell}, {rel_l2: metric(error)})
  const inFile = (path: string) => ({
    input: {kind: 'file' as const, paths: [path], names: {query: 'q', key: 'k', value: 'v'}},
  })

  it('have a row for each layer and a column for each variant, also of files of their own', () => {
    const [figure, ...others] = layersFigures([
      ofLayer(11, 0.5, inFile('layer11.npz')),
      ofLayer(11, 0.7, {...inFile('layer11.npz'), method: 'rfa'}),
      ofLayer(2, 0.25, inFile('layer2.npz')),
      ofLayer(2, 0.9, {...inFile('layer2.npz'), num_features: 16}),
    ])
    expect(others).toEqual([])
    expect(figure!.title).toBe('Error of each layer, 2 files, L=31, causal')
    expect(figure!.y.names).toEqual(['layer 2', 'layer 11'])
    expect(figure!.table.rows).toEqual([
      ['layer 2', '0.250', '-'],
      ['layer 11', '0.500', '0.700'],
    ])
    expect(figure!.series[0]!.points.map(({x, y, value}) => [x, y, value])).toEqual([
      [0, 1, 0.5],
      [1, 1, 0.7],
      [0, 0, 0.25],
    ])
  })

  it('are not drawn of one layer, and by themselves for each scale', () => {
    expect(layersFigures([ofLayer(0, 1), ofLayer(0, 2, {method: 'rfa'})])).toEqual([])
    const scales = [1, 2].flatMap(scale => [0, 1].map(layer => ofLayer(layer, scale, {scale})))
    expect(layersFigures(scales)).toHaveLength(2)
  })
})
