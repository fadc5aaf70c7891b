import {describe, expect, it} from 'vitest'
import type {Breakdown} from '../../../../../src/experiments/bench/fields/breakdown.js'
import type {Conditions} from '../../../../../src/experiments/bench/fields/conditions.js'
import {mergeProcesses} from '../../../../../src/experiments/bench/measure/merge.js'
import {quoted} from '../../../../../src/experiments/bench/measure/timing.js'
import {type BenchResult, benchResult} from '../../../../../src/experiments/bench/schema.js'
import {ofProcesses} from '../../../../../src/experiments/bench/times/processes.js'
import {decoded, oneProcess, timed} from '../../../../helpers/records/bench.js'

/** What a process has of some turns. */
const processOf = (turns: readonly number[][], result: Partial<BenchResult> = {}) => {
  const turn_runs = turns.map(({length}) => length)
  return timed({}, 1, {samples_ns: turns.flat(), turn_runs, ...result}).result
}

describe('mergeProcesses', () => {
  const parts = [processOf([[10, 12], [11]]), processOf([[20], [22], [21, 27]]), processOf([[15]])]
  const joined = mergeProcesses(parts)

  it('has all runs in order, with their turns and processes', () => {
    expect(benchResult.parse(joined)).toEqual(joined)
    expect(joined).toMatchObject({
      runs: 8,
      samples_ns: [10, 12, 11, 20, 22, 21, 27, 15],
      turn_runs: [2, 1, 1, 1, 2, 1],
      process_turns: [2, 3, 1],
    })
  })

  it('quotes what processes say together', () => {
    const {value, low, high} = ofProcesses([11, 21.5, 15])
    expect(joined).toMatchObject({median_ns: value, median_low_ns: low, median_high_ns: high})
    const {samples_ns, turn_runs, process_turns} = joined
    expect(joined).toMatchObject(quoted({samples_ns, turn_runs, process_turns}, 0))
  })

  it('is the result itself of one process', () => {
    expect(mergeProcesses(parts.slice(0, 1))).toBe(parts[0])
  })

  it('has the gate and the memory of a trial, also where a single process was timed', () => {
    const gate = {max_abs_error: 1e-8, bound: 1e-5, rows: 3}
    const trial = {gate, peak_rss_over_baseline_bytes: 5}
    expect(mergeProcesses(parts, trial)).toEqual({...joined, ...trial})
    expect(mergeProcesses(parts.slice(0, 1), trial)).toEqual({...parts[0], ...trial})
  })

  it('sums what was waited for, which is unknown where one part of it is', () => {
    const waited = (...each: (number | null)[]) =>
      mergeProcesses(each.map(waited_ns => processOf([[10]], {waited_ns}))).waited_ns
    expect(waited(3, 0, 4)).toBe(7)
    expect(waited(3, null, 4)).toBeNull()
  })

  it('has the gate of the process that checked, and none where that was interrupted', () => {
    const gate = {max_abs_error: 1e-8, bound: 1e-5, rows: 3}
    const of = (...gates: BenchResult['gate'][]) =>
      mergeProcesses(gates.map(one => processOf([[10]], {gate: one}))).gate
    expect(of(gate, null, null)).toEqual(gate)
    expect(of(null, null)).toBeNull()
  })

  it('has the best peak, and the most memory, of those that are known', () => {
    const of = (...each: [number | null, number | null][]) => {
      const {fma_peak_gflops, peak_rss_over_baseline_bytes} = mergeProcesses(
        each.map(([peak, bytes]) =>
          processOf([[10]], {fma_peak_gflops: peak, peak_rss_over_baseline_bytes: bytes}),
        ),
      )
      return [fma_peak_gflops, peak_rss_over_baseline_bytes]
    }
    expect(of([90, 100], [null, 300], [95, null])).toEqual([95, 300])
    expect(of([null, null], [null, null])).toEqual([null, null])
  })

  it('has the extremes of the conditions', () => {
    const conditions = (changes: Partial<Conditions> = {}): Conditions => ({
      ...{load_before: 1, load_after: 2, steal_share: 0.1, lowest_mhz: 3000, highest_mhz: 3100},
      unknown: null,
      ...changes,
    })
    const of = (...each: (Conditions | null)[]) =>
      mergeProcesses(each.map(one => processOf([[10]], {conditions: one}))).conditions
    const other = {load_before: 0.5, load_after: 3, steal_share: 0, lowest_mhz: 2000}
    expect(of(conditions(), conditions({...other, highest_mhz: 3500}), null)).toEqual({
      ...{load_before: 0.5, load_after: 3, steal_share: 0.1, lowest_mhz: 2000, highest_mhz: 3500},
      unknown: null,
    })
    const lacking = conditions({steal_share: null, unknown: 'steal: none'})
    expect(of(lacking, lacking)).toMatchObject({steal_share: null, unknown: 'steal: none'})
    expect(of(null, null)).toBeNull()
  })

  it('has the marks of a decode by processes, and the median of their first tokens', () => {
    const one = (samples: number[], first_token_ns: number) => ({
      ...decoded({}, {token: 10}, oneProcess(samples), [25, 100]).result,
      first_token_ns,
    })
    const {marks = [], first_token_ns} = mergeProcesses([
      one([1, 2], 7),
      one([4, 4, 4], 9),
      one([2], 20),
    ])
    expect(first_token_ns).toBe(9)
    expect(marks.map(({tokens}) => tokens)).toEqual([25, 100])
    const [mark] = marks
    expect(mark!.total_samples_ns).toEqual([1, 2, 4, 4, 4, 2].map(x => 240 * x))
    expect(mark!.token_samples_ns).toEqual([10, 20, 40, 40, 40, 20])
    const total = ofProcesses([360, 960, 480])
    expect(mark).toMatchObject({
      ...{total_ns: total.value, total_low_ns: total.low, total_high_ns: total.high},
      state_bytes: 12288,
    })
    const token = ofProcesses([15, 40, 20])
    expect(mark).toMatchObject({token_ns: token.value, token_high_ns: token.high})
    expect(mark!.tokens_per_second).toMatchReference((24 / total.value) * 1e9, 9)
  })

  it('has the parts of a breakdown by processes', () => {
    const breakdown = (ns: number): Breakdown => ({
      parts: [
        {
          ...{part: 'features', in_whole: true, median_ns: ns},
          ...{median_low_ns: null, median_high_ns: null},
          ...{share: ns / 100, share_low: null, share_high: null},
          ...{samples_ns: [ns, ns], turn_runs: [2]},
        },
      ],
      ...{sum_over_whole: ns / 200, sum_over_whole_low: null, sum_over_whole_high: null},
      none: null,
    })
    const found = mergeProcesses(
      [40, 50, 45].map(ns => processOf([[100]], {breakdown: breakdown(ns)})),
    ).breakdown!
    const {value, low, high} = ofProcesses([40, 50, 45])
    const share = ofProcesses([0.4, 0.5, 0.45])
    const sum = ofProcesses([0.2, 0.25, 0.225])
    expect(found).toEqual({
      parts: [
        {
          ...{part: 'features', in_whole: true, median_ns: value},
          ...{median_low_ns: low, median_high_ns: high},
          ...{share: share.value, share_low: share.low, share_high: share.high},
          ...{samples_ns: [40, 40, 50, 50, 45, 45], turn_runs: [2, 2, 2]},
        },
      ],
      ...{sum_over_whole: sum.value, sum_over_whole_low: sum.low, sum_over_whole_high: sum.high},
      none: null,
    })
  })

  it('has a breakdown without parts as one', () => {
    const none = {
      ...{parts: [], sum_over_whole: null, sum_over_whole_low: null, sum_over_whole_high: null},
      none: 'one whole',
    }
    const {breakdown} = mergeProcesses([10, 11].map(ns => processOf([[ns]], {breakdown: none})))
    expect(breakdown).toEqual(none)
  })
})
