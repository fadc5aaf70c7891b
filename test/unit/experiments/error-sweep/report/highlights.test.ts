import {describe, expect, it} from 'vitest'
import {errorSweepHighlights} from '../../../../../src/experiments/error-sweep/report/highlights.js'
import {metric, sweep} from '../../../../helpers/records/error-sweep.js'

const at = (
  projection: 'iid' | 'orth',
  num_features: number,
  error: number,
  needed: number | null,
) =>
  sweep(
    {projection, num_features},
    {rel_l2: metric(error, error / 2, 2 * error), num_features_for_5_percent: needed},
  )

describe('errorSweepHighlights', () => {
  it('tells the least error, and how many features 5 % takes by the largest M of each variant', () => {
    const records = [
      at('iid', 64, 0.4, 9999),
      at('iid', 256, 0.2, 4000),
      at('orth', 64, 0.3, 8888),
      at('orth', 256, 0.1, 1234),
    ]
    expect(errorSweepHighlights(records)).toEqual([
      'On tiny.safetensors at 31 tokens the lowest relative error is 0.100 [0.0500, 0.200], of favor-pos orth M=256, not distinguishable from 3 other rows.',
      'On tiny.safetensors at 31 tokens a relative error of 5 % takes so many features: favor-pos orth about 1,200 and favor-pos iid about 4,000.',
    ])
  })

  it('takes inputs and scales each by itself, errors against softmax alone, and few of them', () => {
    const scaled = [0.5, 1, 2, 4, 8].map(scale => sweep({scale}, {num_features_for_5_percent: 64}))
    const told = errorSweepHighlights([...scaled, sweep({target: 'matched'})])
    expect(told).toHaveLength(4)
    expect(told[0]).toContain('31 tokens, q and k times 0.5 a relative error')
  })

  it('says nothing where nothing is known', () => {
    expect(errorSweepHighlights([])).toEqual([])
    expect(errorSweepHighlights([at('orth', 64, 0.3, null)])).toEqual([])
  })
})
