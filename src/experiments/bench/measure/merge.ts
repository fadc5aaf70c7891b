/** One result of a cell from those of its processes. */

import {finiteOrNull, median} from '../../../stats/index.js'
import type {Breakdown, BreakdownPart} from '../fields/breakdown.js'
import type {Conditions} from '../fields/conditions.js'
import type {DecodeMark} from '../fields/token-marks.js'
import type {BenchResult} from '../schema.js'
import {ofProcesses} from '../times/processes.js'
import {markOf} from './decoding.js'
import {bestPeak} from './peak.js'
import {quoted} from './timing.js'

/**
 * @param results - of processes that ran the same, in their order; at least one
 * @param trial - what was judged, and took memory, in a separate process
 */
export function mergeProcesses(
  results: readonly BenchResult[],
  trial?: Pick<BenchResult, 'gate' | 'peak_rss_over_baseline_bytes'>,
): BenchResult {
  const merged = results.length === 1 ? results[0]! : mergedTimes(results)
  if (!trial) return merged
  const {gate, peak_rss_over_baseline_bytes} = trial
  return {...merged, gate, peak_rss_over_baseline_bytes}
}

function mergedTimes(results: readonly BenchResult[]): BenchResult {
  const [first] = results
  const times = {
    samples_ns: results.flatMap(({samples_ns}) => samples_ns),
    run_waits_ns: mergedWaits(results),
    turn_runs: results.flatMap(({turn_runs}) => turn_runs),
    process_turns: results.map(({turn_runs}) => turn_runs.length),
  }
  const firsts = results.flatMap(({first_token_ns}) => first_token_ns ?? [])
  const marks = results.flatMap(result => (result.marks ? [result.marks] : []))
  const broken = results.flatMap(({breakdown}) => breakdown ?? [])
  return {
    ...first!,
    gate: results.find(({gate}) => gate)?.gate ?? null,
    ...quoted(times, sumOrNull(results.map(({waited_ns}) => waited_ns))),
    conditions: mergedConditions(results.map(({conditions}) => conditions)),
    fma_peak_gflops: bestPeak(results.map(({fma_peak_gflops}) => fma_peak_gflops)),
    peak_rss_over_baseline_bytes: mostOf(
      results.map(({peak_rss_over_baseline_bytes: bytes}) => bytes),
    ),
    ...(firsts.length > 0 && {first_token_ns: median(firsts)}),
    ...(marks.length > 0 && {marks: mergedMarks(marks, times)}),
    ...(broken.length > 0 && {breakdown: mergedBreakdowns(broken)}),
  }
}

/** Of all runs, or of none. */
function mergedWaits(results: readonly BenchResult[]): number[] {
  if (results.every(({run_waits_ns}) => run_waits_ns.length === 0)) return []
  return results.flatMap(({samples_ns, run_waits_ns}) =>
    run_waits_ns.length > 0 ? run_waits_ns : samples_ns.map(() => 0),
  )
}

type Turns = Pick<BenchResult, 'turn_runs' | 'process_turns'>

function mergedMarks(each: readonly DecodeMark[][], turns: Turns): DecodeMark[] {
  return each[0]!.map(({tokens, state_bytes}, at) => {
    const own = each.map(marks => marks[at]!)
    const totals = own.flatMap(({total_samples_ns}) => total_samples_ns)
    const latencies = own.flatMap(({token_samples_ns}) => token_samples_ns)
    return markOf({tokens, state_bytes, totals, latencies}, turns)
  })
}

function mergedBreakdowns(each: readonly Breakdown[]): Breakdown {
  const [first] = each
  const {value, low, high} = estimateOf(each.map(({sum_over_whole}) => sum_over_whole))
  return {
    none: first!.none,
    ...{sum_over_whole: value, sum_over_whole_low: low, sum_over_whole_high: high},
    parts: first!.parts.map((_, at) => mergedParts(each.map(({parts}) => parts[at]!))),
  }
}

function mergedParts(each: readonly BreakdownPart[]): BreakdownPart {
  const [first] = each
  const time = estimateOf(each.map(({median_ns}) => median_ns))
  const share = estimateOf(each.map(part => part.share))
  return {
    ...first!,
    ...{median_ns: time.value!, median_low_ns: time.low, median_high_ns: time.high},
    ...{share: share.value, share_low: share.low, share_high: share.high},
    samples_ns: each.flatMap(({samples_ns}) => samples_ns),
    turn_runs: each.flatMap(({turn_runs}) => turn_runs),
  }
}

/** Of what each process says, all `null` where one says nothing. */
function estimateOf(values: readonly (number | null)[]) {
  const known = values.filter(value => value !== null)
  if (known.length < values.length) return {value: null, low: null, high: null}
  const {value, low, high} = ofProcesses(known)
  return {value, low: finiteOrNull(low), high: finiteOrNull(high)}
}

/** The extremes of what was seen. */
function mergedConditions(all: readonly (Conditions | null)[]): Conditions | null {
  const known = all.filter(one => one !== null)
  if (known.length === 0) return null
  const of = (name: Exclude<keyof Conditions, 'unknown'>, pick: (...all: number[]) => number) => {
    const values = known.map(one => one[name]).filter(value => value !== null)
    return values.length > 0 ? pick(...values) : null
  }
  return {
    load_before: of('load_before', Math.min),
    load_after: of('load_after', Math.max),
    steal_share: of('steal_share', Math.max),
    lowest_mhz: of('lowest_mhz', Math.min),
    highest_mhz: of('highest_mhz', Math.max),
    unknown: known[0]!.unknown,
  }
}

function mostOf(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null)
  return known.length > 0 ? Math.max(...known) : null
}

function sumOrNull(values: readonly (number | null)[]): number | null {
  return values.reduce((sum, value) => (sum === null || value === null ? null : sum + value), 0)
}
