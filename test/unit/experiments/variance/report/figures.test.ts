import {describe, expect, it} from 'vitest'
import {varianceFigures} from '../../../../../src/experiments/variance/report/figures.js'
import {variance} from '../../../../helpers/records/variance.js'

describe('figures of a variance experiment', () => {
  it('have measured ratios with intervals over the angle, of the largest M', () => {
    const records = [90, 0].flatMap(angle_deg => [
      variance({angle_deg}, 0.5),
      variance({angle_deg, num_features: 16}, 0.7),
    ])
    const [figure, ...others] = varianceFigures(records)
    expect(others).toEqual([])
    expect(figure!.title).toContain('M=32')
    expect(figure!.series.map(({label}) => label)).toEqual(['favor-pos orth'])
    expect(figure!.series[0]!.points.map(({x, y, low, high}) => [x, y, low, high])).toEqual([
      [0, 0.5, 0.375, 0.625],
      [90, 0.5, 0.375, 0.625],
    ])
  })

  it('have closed forms as lines of their own', () => {
    const exact = [0, 90].map(angle_deg => {
      const record = variance({angle_deg}, 0.5)
      const per_projection = record.result.per_projection.map(own => ({
        ...own,
        ...(own.projection === 'orth' && {exact_ratio: 0.45}),
      }))
      return {...record, result: {...record.result, per_projection}}
    })
    const [figure] = varianceFigures(exact)
    const [, line] = figure!.series
    expect(line).toMatchObject({label: 'favor-pos orth, closed form', computed: true})
    expect(line!.points.map(({y}) => y)).toEqual([0.45, 0.45])
  })

  it('are one for each norm, and none of one angle', () => {
    const norms = [0.5, 1].flatMap(norm => [0, 90].map(angle_deg => variance({norm, angle_deg})))
    expect(varianceFigures(norms)).toHaveLength(2)
    for (const {caption} of varianceFigures(norms)) expect(caption).not.toContain('not drawn')
    expect(varianceFigures([variance()])).toEqual([])
    expect(varianceFigures([])).toEqual([])
  })

  it.each([
    [7, '1 figure more like these is not drawn'],
    [9, '3 figures more like these are not drawn'],
  ])('of %i norms are six, the last of which says what is left out', (count, note) => {
    const norms = Array.from({length: count}, (_, at) => (at + 1) / 8)
    const figures = varianceFigures(
      norms.flatMap(norm => [0, 90].map(angle_deg => variance({norm, angle_deg}))),
    )
    // and one over the norm
    expect(figures).toHaveLength(7)
    expect(figures[5]!.caption).toContain(`${note}; the tables have all pairs.`)
    expect(figures.filter(({caption}) => caption.includes('not drawn'))).toHaveLength(1)
  })

  it('have ratios over three norms or more, at the least angle, one figure for each D', () => {
    const records = [16, 64].flatMap(head_dim =>
      [2, 0.5, 1].flatMap(norm =>
        [60, 0].map(angle_deg => variance({norm, angle_deg, head_dim}, norm / 4)),
      ),
    )
    const figures = varianceFigures(records).filter(({x}) => x.label.startsWith('norm'))
    expect(figures.map(({title}) => title)).toEqual(
      [16, 64].map(D => `Variance over that of i.i.d. rows, angle 0 degrees, D=${D}, M=32`),
    )
    expect(figures[0]!.series[0]!.points.map(({x, y}) => [x, y])).toEqual([
      [0.5, 0.125],
      [1, 0.25],
      [2, 0.5],
    ])
    const two = records.filter(({cell}) => cell.norm < 2)
    expect(varianceFigures(two).filter(({x}) => x.label.startsWith('norm'))).toEqual([])
    // of pairs of unequal norms there is no such line
    const unequal = records.map(record => ({...record, cell: {...record.cell, key_norm: 1}}))
    expect(varianceFigures(unequal).filter(({x}) => x.label.startsWith('norm'))).toEqual([])
  })
})
