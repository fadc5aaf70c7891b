import {describe, expect, it} from 'vitest'
import figure from '../../../../src/claims/figures/lara-mse.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import {metric, sweep} from '../../../helpers/records/error-sweep.js'

describe('figure lara-mse', () => {
  it('counts vectors, proposals or samples on one axis', () => {
    const plans = Object.entries(figure.plans({effort: 'quick', seed: 0}))
    const records = [
      sweep({method: 'favor-pos', num_features: 16}, {mse: metric(0.4)}),
      sweep({method: 'lara', num_features: 49}, {mse: metric(0.2)}),
      sweep({method: 'ra', num_features: null, options: {samples: 4}}, {mse: metric(0.1)}),
    ]
    const runs = new ClaimRuns(new Map(plans.map(([name]) => [name, records])))
    const {points} = figure.draw(runs)
    expect(points.map(({series, x, y}) => [series, x, y])).toEqual(
      ['ar1', 'grid2d'].flatMap(generator => [
        [`positive features, ${generator}`, 16, 0.4],
        [`LARA, ${generator}`, 49, 0.2],
        [`RA, ${generator}`, 4, 0.1],
      ]),
    )
  })
})
