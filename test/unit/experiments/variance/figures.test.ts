import {describe, expect, it} from 'vitest'
import {varianceFigures} from '../../../../src/experiments/variance/figures.js'
import {drawFigure} from '../../../../src/report/figures/draw.js'
import {drawable} from '../../../../src/report/figures/figure.js'
import {variance} from '../../../helpers/records/variance.js'

describe('figures of a variance experiment', () => {
  /** Ratios 0.5 and 0.9, of which theory says 0.45 and 0.95. */
  const records = [variance({angle_deg: 180}, 0.9), variance()].map((record, at) => {
    const per_projection = record.result.per_projection.map(row =>
      row.projection === 'orth' ? {...row, exact_ratio: [0.95, 0.45][at]!} : row,
    )
    return {...record, result: {...record.result, per_projection}}
  })

  it('have the measured ratio with its interval beside the closed form, over the angle', () => {
    const [figure, ...others] = varianceFigures(records)
    expect(others).toEqual([])
    expect(figure!.name).toBe('ratio-over-angle')
    const [measured, known] = figure!.series
    expect(measured!.points.map(({x, y}) => [x, y])).toEqual([
      [0, 0.5],
      [180, 0.9],
    ])
    expect(measured!.points[0]).toMatchObject({low: 0.375, high: 0.625})
    expect(known).toMatchObject({label: 'favor-pos orth, closed form', computed: true})
    expect(known!.points.map(({y}) => y)).toEqual([0.45, 0.95])
    expect(figure!.guides[0]!.points.map(([, y]) => y)).toEqual([1, 1])
    expect(figure!.table.rows).toHaveLength(2)
    expect(drawFigure(drawable(figure!)!)).not.toContain('NaN')
  })

  it('have no line of a closed form that is not known', () => {
    const [figure] = varianceFigures([variance({angle_deg: 180}, 0.9), variance()])
    expect(figure!.series.map(({label}) => label)).toEqual(['favor-pos orth'])
    expect(figure!.caption).not.toContain('closed form')
  })

  it('are not drawn of one pair, of pairs of an input, or where there is no ratio', () => {
    expect(varianceFigures([variance()])).toEqual([])
    const sampled = [0, 90].map(angle_deg => variance({angle_deg, batch: 0, head: 0}))
    expect(varianceFigures(sampled)).toEqual([])
    const alone = records.map(record => {
      const per_projection = record.result.per_projection.filter(row => row.projection === 'iid')
      return {...record, result: {...record.result, per_projection}}
    })
    expect(varianceFigures(alone)).toEqual([])
  })
})
