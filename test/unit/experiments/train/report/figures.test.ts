import {describe, expect, it} from 'vitest'
import {trainFigures} from '../../../../../src/experiments/train/report/figures.js'
import {drawable} from '../../../../../src/report/figures/figure.js'
import {trainCellOf, trainRecordOf} from '../../../../helpers/train-records.js'

/** Three runs of elu and of favor-pos at two M. @param pairs - of recall */
function records(pairs: number) {
  const task = {...trainCellOf().task, pairs} as never
  const variants = [
    {method: 'elu', cell: {task}, state: 100},
    ...[8, 16].map(num_features => ({
      method: 'favor-pos',
      cell: {task, projection: 'orth' as const, num_features},
      state: 10 * num_features,
    })),
  ]
  return variants.flatMap(({method, cell, state}) =>
    [0, 1, 2].map(run =>
      trainRecordOf({
        ...{method, run, rate: 1e-3, accuracy: 0.8 + run / 100, cell},
        result: {state_floats: state},
      }),
    ),
  )
}

describe('figures of a training', () => {
  it('show scores over the state, a line for each method, and losses', () => {
    const figures = trainFigures(records(2))
    expect(figures.map(({name}) => name)).toEqual([
      ...['score-over-state', 'loss-over-steps', 'loss-over-time'],
      ...['score-over-steps', 'score-over-time'],
    ])
    for (const figure of figures) expect(drawable(figure)).toBeTruthy()
    const [state, steps, time, scores] = figures
    expect(state!.series.map(({label, points}) => [label, points.map(({x}) => x)])).toEqual([
      ['elu', [100]],
      ['favor-pos orth', [80, 160]],
    ])
    expect(steps!.series[0]!.points.map(({x, y}) => [x, y])).toEqual([
      [300, 3],
      [600, 1],
    ])
    expect(time!.series[0]!.points.map(({x}) => x)).toEqual([6, 12])
    expect(scores!.series[0]!.points.map(({y}) => y)).toEqual([0.81, 0.81])
  })

  it('show accuracy over pairs where there are several', () => {
    const [figure] = trainFigures([...records(2), ...records(4)])
    expect(figure!.name).toBe('accuracy-over-pairs')
    expect(figure!.series).toHaveLength(3)
    expect(figure!.series[0]!.points.map(({x}) => x)).toEqual([2, 4])
    expect(trainFigures([])).toEqual([])
  })
})
