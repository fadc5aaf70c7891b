/** What stands under the times of a benchmark: what columns mean, what is unsettled and what would help, what disturbed the runs. */

import {
  isSettled,
  isSettledSlope,
  SETTLED_FACTOR,
  SETTLED_SLOPE,
} from '../../../../answers/index.js'
import {percentText, plural, significant} from '../../../../report/numbers.js'
import {type Estimate, median} from '../../../../stats/index.js'
import {MOST_OF_PEAK, shareOfPeak} from '../../../../theory/peak.js'
import {variantLabel} from '../../../labels.js'
import {BASELINES} from '../../fields/baselines.js'
import type {BenchRecord, TimedRecord} from '../../schema.js'
import type {PairedTimes} from '../../times/paired-times.js'
import {processMedians} from '../../times/processes.js'
import {levelsOf, warmingOf} from '../../times/time-estimates.js'
import {backendGain, backendMarks} from '../lines/backends.js'
import {busyText, machineVerdictOf} from '../lines/machine-verdict.js'
import {type Growing, speedUp} from '../lines/trends.js'

const PERCENT = Math.round(100 * (SETTLED_FACTOR - 1))

/** What intervals are. */
export const LEGEND = `± and [ ]: 95 % intervals over fresh processes; ratios: of undisturbed calls (p10 of each process); on a shared host times of another run differ by more; ?: unsettled, an interval wider than ±${PERCENT} % (docs/statistics.md)`

/** What is unsettled, and what would settle it; nothing where nothing is. */
export function unsettledItems(
  rows: readonly TimedRecord[],
  found: readonly Growing[],
  times: PairedTimes,
): string[] {
  const ratios = rows.flatMap(row =>
    [
      backendGain(row, rows, times),
      ...BASELINES.map(baseline => speedUp(row, rows, baseline, times)),
    ].flatMap(gain => gain ?? []),
  )
  const slopes = found.map(({growth}) => growth.slope)
  const told = [
    shareText(ratios.filter(ratio => !isSettled(ratio)).length, ratios.length, 'speed-up'),
    shareText(slopes.filter(slope => !isSettledSlope(slope)).length, slopes.length, 'slope'),
  ].filter(text => text !== null)
  return [...bentItems(found), ...(told.length === 0 ? [] : [unsettledItem(told, rows)])]
}

/** Methods whose times no line describes. */
function bentItems(found: readonly Growing[]): string[] {
  const bent = found
    .filter(({growth: {bent, slope}}) => bent && isSettledSlope(slope))
    .map(({label}) => label)
  if (bent.length === 0) return []
  return [`bent: times of ${bent.join(', ')} leave the line by more than their intervals`]
}

/** What would settle it. @param told - how many of what */
export function unsettledItem(told: readonly string[], rows: readonly TimedRecord[]): string {
  return `unsettled (?): ${told.join(' and ')} (slopes: wider than ±${SETTLED_SLOPE}); ${remedyFor(rows)}`
}

/** What narrows intervals most, by the level that most of their width comes from. */
function remedyFor(rows: readonly TimedRecord[]): string {
  const processes = Math.min(...rows.map(({result}) => processMedians(result).length))
  if (processes < 2) return 'one process has no interval, use --processes 3 or more'
  const levels = rows.flatMap(({result}) => levelsOf(result) ?? [])
  if (levels.length === 0) return 'more --processes or a longer --min-time help'
  const of = (level: 'between' | 'within') => median(levels.map(one => one[level]))
  const [between, within] = [of('between'), of('within')]
  const apart = `processes differ by ${percentText(between)}, runs within one by ${percentText(within)}`
  return within > between
    ? `${apart}; longer calls (--batch, --seq-len) or a longer --min-time help most`
    : `${apart}; more --processes help most`
}

/** How many of a kind, in words; `null` for none. */
export function shareText(part: number, whole: number, noun: string): string | null {
  return part === 0 ? null : `${part} of ${plural(whole, noun)}`
}

/** Signs that times depend on more than the methods: one sentence each, with the worst cell as example. */
export function oddityItems(rows: readonly TimedRecord[]): string[] {
  const warming = rows
    .flatMap(row => {
      const found = warmingOf(row)
      return found ? [{name: nameOf(row, rows), factor: found.value}] : []
    })
    .sort((a, b) => b.factor - a.factor)
  const [worst] = warming
  if (!worst) return []
  const cells = `${warming.length} of ${plural(rows.length, 'cell')}`
  return [
    `warning: the first runs are slower than the last ones in ${cells}, by ${percentText(worst.factor - 1)} in ${worst.name}; a longer --warmup leaves them out`,
  ]
}

/** Share of the multiply-add peak of all threads that the fastest run reached; `null` where that is unknown. */
export function fastestShare({result}: TimedRecord): number | null {
  const {work_flops, min_ns, threads, fma_peak_gflops} = result
  return work_flops === 0
    ? null
    : shareOfPeak({flops: work_flops, ns: min_ns, threads}, fma_peak_gflops)
}

/** Rows that did more work than the processor can, one sentence each. */
export function impossibleItems(records: readonly TimedRecord[]): string[] {
  return records.flatMap(row => {
    const share = fastestShare(row)
    if (share === null || share <= MOST_OF_PEAK) return []
    const {result} = row
    const measured = `${significant(result.fma_peak_gflops)} GFLOP/s on each of ${plural(result.threads, 'thread')}`
    return [
      `warning: ${nameOf(row, records)} did ${(100 * share).toFixed(0)} % of the work of the measured peak (${measured}): either that peak or the work that is counted is wrong`,
    ]
  })
}

/** Cells that an interrupt cut short. */
export function interruptedItems(records: readonly BenchRecord[]): string[] {
  const part = records.filter(record => record.status === 'completed' && record.interrupted)
  if (part.length === 0) return []
  return [
    `warning: interrupted: fewer turns or processes than planned in ${part.length} of ${plural(records.length, 'cell')}`,
  ]
}

/** Whether the machine was fit for it. */
export function machineItems(records: readonly BenchRecord[]): string[] {
  const found = machineVerdictOf(records)
  if (!found) return []
  const {verdict, statement, unknown} = found
  const warning = verdict === 'disturbed' ? 'warning: ' : ''
  return [`${warning}${statement}${unknown === null ? '' : ` (unknown: ${unknown})`}`]
}

/**
 * What first screens say of the conditions: cells that an interrupt cut short, impossible rates, a busy machine, and what would
 * narrow wide intervals; nothing where times can be relied on.
 *
 * @param ratios - that the screen shows
 */
export function conditionSentences(
  records: readonly BenchRecord[],
  ratios: readonly Estimate[],
): string[] {
  const rows = records.filter(record => record.status === 'completed')
  const machine = machineVerdictOf(records)
  const interrupted = interruptedItems(records)
  const noise =
    machine?.verdict === 'disturbed'
      ? [`warning: ${busyText(machine)}`]
      : wideSentences(rows, ratios)
  // the rest of an interrupted run narrows intervals most
  return [...interrupted, ...impossibleItems(rows), ...(interrupted.length > 0 ? [] : noise)]
}

/** Where most ratios are not known well. */
function wideSentences(rows: readonly TimedRecord[], ratios: readonly Estimate[]): string[] {
  const wide = ratios.filter(ratio => !isSettled(ratio)).length
  return 2 * wide > ratios.length ? [`warning: intervals are wide: ${remedyFor(rows)}`] : []
}

/** A row in a sentence. @param all - of its table */
function nameOf(row: TimedRecord, all: readonly TimedRecord[]): string {
  const {cell} = row
  return [variantLabel(cell), ...backendMarks(row, all), `L=${cell.seq_len}`].join(' ')
}
