import {describe, expect, it} from 'vitest'
import {errorsOverTimes} from '../../../src/experiments/error-over-time.js'
import type {ReportedRun} from '../../../src/experiments/run-report.js'
import {sweep as sweepPlan} from '../../helpers/plans.js'
import {BENCH_MANIFEST, exactForm, timed} from '../../helpers/records/bench.js'
import {metric, sweep} from '../../helpers/records/error-sweep.js'

const [L, D] = [128, 17]

const runOf = (
  manifest: ReportedRun['manifest'],
  records: ReportedRun['records'],
): ReportedRun => ({
  ...{directory: 'run', manifest, records},
  ...{foreign: 0, cells: records.length, resumeCommand: null},
})

/** Errors of 2 / sqrt(M), where averaging V errs by 3. */
const errorAt = (num_features: number, changes = {}) =>
  sweep(
    {num_features, causal: false, ...changes},
    {
      ...{query_len: L, head_dim: D, mean_value_mse: 9},
      ...{rel_l2: metric(2 / Math.sqrt(num_features)), mse: metric(4 / num_features)},
    },
  )
const timeAt = (num_features: number, ms: number, changes = {}) =>
  timed({num_features, seq_len: L, head_dim: D, ...changes}, ms * 1e6)

/** Times are means of logarithms. */
const rounded = (value: number) => Number(value.toPrecision(12))

const figuresOf = (sweeps: ReportedRun['records'], benches: ReportedRun['records']) =>
  errorsOverTimes([
    runOf({...BENCH_MANIFEST, plan: sweepPlan()}, sweeps),
    runOf(BENCH_MANIFEST, benches),
  ])

describe('errors of a sweep over times of a benchmark', () => {
  const errors = [errorAt(16), errorAt(64), errorAt(256)]

  it('are matched by method, M, length and head size', async () => {
    const times = [timeAt(16, 1), timeAt(64, 2), timeAt(256, 4, {seq_len: 2 * L}), timeAt(1024, 8)]
    const [figure, ...others] = (await figuresOf(errors, times))!
    expect(others).toEqual([])
    expect(figure!.series.flatMap(({points}) => points.map(({x, y}) => [rounded(x), y]))).toEqual([
      [1, 0.5],
      [2, 0.25],
    ])
    expect(figure!.table.rows).toHaveLength(2)
  })

  it('are compared with averaging V and with exact forms of that length', async () => {
    const exact = [exactForm('softmax-online', L, 5e6), exactForm('softmax-online', 2 * L, 9e6)]
    const [figure] = (await figuresOf(errors, [timeAt(16, 1), timeAt(64, 2), ...exact]))!
    const guide = (name: string) => figure!.guides.filter(({label}) => label === name)
    expect(guide('softmax-online').map(({points}) => points.map(([x]) => rounded(x)))).toEqual([
      [5, 5],
    ])
    expect(guide('averaging V')[0]!.points.map(([, y]) => y)).toEqual([3, 3])
    expect(guide('front')[0]!.points.map(([x, y]) => [rounded(x), y])).toEqual([
      [1, 0.5],
      [2, 0.25],
    ])
  })

  it('have no figure where fewer than two cells are in both, or one kind of run is missing', async () => {
    expect(await figuresOf(errors, [timeAt(16, 1), timeAt(64, 2, {head_dim: 2 * D})])).toEqual([])
    expect(
      await errorsOverTimes([runOf({...BENCH_MANIFEST, plan: sweepPlan()}, errors)]),
    ).toBeUndefined()
  })
})
