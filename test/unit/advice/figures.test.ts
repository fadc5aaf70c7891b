import {describe, expect, it} from 'vitest'
import {adviceFigures} from '../../../src/advice/figures.js'
import type {Advice, AdviceCandidate} from '../../../src/advice/schema.js'

const ERROR = {error: 0.03, error_low: 0.02, error_high: 0.04}
const COST = {
  ...{time_ns: 2e6, time_low_ns: 1e6, time_high_ns: 3e6, live_bytes: 1024},
  time_from: 'measured' as const,
}

function candidate(label: string, error: number | null, ms: number, on_front = true) {
  return {
    ...{label, method: label, projection: null, num_features: null, feature_dim: 16},
    parameters: null,
    ...{...ERROR, error, ...COST, time_ns: ms * 1e6},
    ...{over_mean: 0.5, over_mean_low: 0.4, over_mean_high: 0.6},
    ...{gain: 2, gain_low: 1, gain_high: 3, unfit: null, on_front},
    ...{crossover_len: null, crossover_low_len: null, crossover_high_len: null},
    heads: [ERROR, {...ERROR, error: 0.5}],
  } satisfies AdviceCandidate
}

const advice = (candidates: AdviceCandidate[]) =>
  ({
    ...{input: 'qkv.npz', metric: 'rel_l2', tolerance: 0.05, seq_len: 1024},
    exact: [{form: 'softmax', ...COST, time_ns: 8e6}],
    layers: [{layer: null, candidates, heads: [], mixed: null, changes: []}],
  }) as unknown as Advice

describe('figures of advice', () => {
  const [front, heads] = adviceFigures(
    advice([
      candidate('elu', 0.9, 1),
      candidate('favor-pos', 0.1, 4),
      candidate('rfa', 0.2, 6, false),
      candidate('lara', null, 1),
    ]),
  )

  it('have error and time of each candidate, and what no other one beats joined', () => {
    expect(front!.series.map(({method, points: [point]}) => [method, point!.x, point!.y])).toEqual([
      ['elu', 1, 0.9],
      ['favor-pos', 4, 0.1],
      ['rfa', 6, 0.2],
    ])
    expect(front!.guides[0]).toEqual({
      label: 'front',
      points: [
        [1, 0.9],
        [4, 0.1],
      ],
    })
  })

  it('have speed-ups with their intervals', () => {
    expect(front!.series[0]!.points[0]!.facts).toContain('speed-up: 1.00-3.00x')
  })

  it('have the tolerance and the exact forms for comparison', () => {
    expect(front!.guides.slice(1)).toEqual([
      {
        label: 'tolerance',
        points: [
          [1, 0.05],
          [8, 0.05],
        ],
      },
      {
        label: 'softmax',
        points: [
          [8, 0.05],
          [8, 0.9],
        ],
      },
    ])
  })

  it('compare with averaging V, which is no point', () => {
    const [figure] = adviceFigures(
      advice([
        candidate('elu', 0.9, 1),
        candidate('favor-pos', 0.1, 4),
        candidate('mean-value', 1, 0.5),
      ]),
    )
    expect(figure!.series.map(({method}) => method)).toEqual(['elu', 'favor-pos'])
    expect(figure!.guides.find(({label}) => label === 'averaging V')!.points[0]).toEqual([1, 1])
  })

  it('have the error of each head, of what is on the front', () => {
    expect(heads!.x.names).toEqual(['elu', 'favor-pos', 'lara'])
    expect(heads!.y.names).toEqual(['head 0', 'head 1'])
    expect(heads!.series[0]!.points.map(({value}) => value)).toEqual([
      0.03, 0.5, 0.03, 0.5, 0.03, 0.5,
    ])
  })

  it('are none where nothing was measured', () => {
    expect(adviceFigures(advice([]))).toEqual([])
  })
})
