import {describe, expect, it} from 'vitest'
import figure from '../../../../src/claims/figures/performer-4.js'
import {ClaimRuns} from '../../../../src/claims/runs.js'
import {metric, sweep} from '../../../helpers/records/error-sweep.js'

describe('figure performer-4', () => {
  it('has a curve for each method, projection and scale, with the interval of the median', () => {
    const plan = figure.plans({effort: 'quick', seed: 0})['performer-4']
    const records = plan.methods.flatMap(({method}) =>
      plan.projections.flatMap(projection =>
        plan.num_features.flatMap(num_features =>
          plan.scales.map(scale =>
            sweep(
              {method, projection, num_features, scale},
              {mse: metric(scale / num_features, 0.5 * scale, 2 * scale)},
            ),
          ),
        ),
      ),
    )
    const {points} = figure.draw(new ClaimRuns(new Map([['performer-4', records]])))
    expect(new Set(points.map(({series}) => series)).size).toBe(8)
    expect(points).toHaveLength(records.length)
    expect(points.slice(0, 3)).toEqual(
      plan.num_features.map(x => ({
        series: 'positive iid, scale 0.5',
        x,
        y: 0.5 / x,
        low: 0.25,
        high: 1,
      })),
    )
    expect(points.at(-1)).toMatchObject({series: 'sin/cos orth, scale 1', y: 1 / 256})
  })
})
