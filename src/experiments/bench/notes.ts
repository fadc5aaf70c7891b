/** What stands under the times of a benchmark: what columns mean, what is unsettled and why, what disturbed the runs. */

import {nanoseconds, plural, significant} from '../../report/numbers.js'
import {LEAST_FOR_INTERVAL, type Outliers, tukeyOutliers} from '../../stats/index.js'
import {variantLabel} from '../labels.js'
import {backendGain, backendMarks} from './backends.js'
import {BASELINES} from './baselines.js'
import {isSettled, isSettledSlope, odditiesOf, SETTLED_FACTOR, SETTLED_SLOPE} from './noise.js'
import type {TimedRecord} from './schema.js'
import {type Growing, speedUp} from './trends.js'

const PERCENT = Math.round(100 * (SETTLED_FACTOR - 1))

/** What the columns mean. */
export const LEGEND = [
  `±: reach of the 95 % interval of the median, in which runs that follow slow ones count for less, time spent waiting for a processor is not the method's, and other processes are taken to differ by 45 us and 3 % (one standard deviation).`,
  `Speed-ups: ratios of times at the same length, turn by turn where cells took turns, each with the reach of its 95 % interval; ?: unsettled, that is beyond ±${PERCENT} %.`,
  'RSS growth: of resident memory over what the process held before it had inputs; - where less than what is counted, as memory freed before is used again.',
  'live: counted, the most bytes of tensors that a call holds at once beside inputs and output.',
  'GFLOP/s: operations of the method, counted (a multiply-add two, an exponential and the like ten), over the median; % of peak: of the fastest run, over the multiply-add peak of all its threads, measured before and after it.',
].join(' ')

/** What is unsettled, and what would settle it; nothing where nothing is. */
export function unsettledItems(rows: readonly TimedRecord[], found: readonly Growing[]): string[] {
  const ratios = rows.flatMap(row =>
    [backendGain(row, rows), ...BASELINES.map(baseline => speedUp(row, rows, baseline))].flatMap(
      gain => gain ?? [],
    ),
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
  const few = rows.some(({result}) => result.runs < LEAST_FOR_INTERVAL)
  return `unsettled (?): ${told.join(' and ')}, whose 95 % intervals reach beyond ±${PERCENT} % (slopes: ±${SETTLED_SLOPE})${few ? `, or which rest on fewer than ${LEAST_FOR_INTERVAL} runs` : ''}: free the machine, or make calls longer with --seq-len or --batch${few ? ', and more with --min-runs' : ''}`
}

/** How many of a kind, in words; `null` for none. */
export function shareText(part: number, whole: number, noun: string): string | null {
  return part === 0 ? null : `${part} of ${plural(whole, noun)}`
}

/** Signs that times depend on more than the methods: one sentence each, with the worst cell as example. */
export function oddityItems(rows: readonly TimedRecord[]): string[] {
  const odd = rows.map(row => ({name: nameOf(row, rows), ...odditiesOf(row)}))
  const cells = (count: number) => `${count} of ${plural(rows.length, 'cell')}`
  const waiting = ranked(odd, ({waiting}) => waiting)
  const outliers = ranked(odd, ({outliers}) => outliers?.slowest ?? null)
  const drift = ranked(odd, ({drift}) => drift && Math.abs(Math.log(drift.first / drift.last)))
  const items = outlierItems(rows)
  if (waiting[0]) {
    items.push(
      `warning: the machine was busy: processes of ${cells(waiting.length)} waited for a processor, most in ${waiting[0].name}, for ${percentOf(waiting[0].waiting!)} of the time`,
    )
  }
  if (outliers[0]) {
    const {mild, severe, runs, slowest} = outliers[0].outliers!
    items.push(
      `warning: outliers are many in ${cells(outliers.length)}: in ${outliers[0].name} ${mild + severe} of ${plural(runs, 'run')} (${severe} severe), the slowest ${significant(slowest, 2)} times the median; medians withstand them, means do not`,
    )
  }
  if (drift[0]) {
    const {first, last} = drift[0].drift!
    items.push(
      `warning: times drift in ${cells(drift.length)}: in ${drift[0].name} from ${nanoseconds(first)} (first third of the runs) to ${nanoseconds(last)} (last third)${first > last ? '; --warmup leaves out more of the first ones' : ''}`,
    )
  }
  return items
}

/** How many runs lie far out, and on which side: slow ones were disturbed, fast ones are odd. */
function outlierItems(rows: readonly TimedRecord[]): string[] {
  const found = rows.map(({result}) => tukeyOutliers(result.samples_ns))
  const sum = (side: keyof Outliers) => found.reduce((all, one) => all + one[side], 0)
  const sides = {
    'low severe': sum('lowSevere'),
    'low mild': sum('lowMild'),
    'high mild': sum('highMild'),
    'high severe': sum('highSevere'),
  }
  const told = Object.entries(sides).filter(([, count]) => count > 0)
  if (told.length === 0) return []
  const runs = rows.reduce((all, {result}) => all + result.samples_ns.length, 0)
  const of = told.map(([side, count]) => `${count} ${side}`).join(', ')
  return [`outliers: ${sum('mild') + sum('severe')} of ${plural(runs, 'run')}: ${of}`]
}

/** Those with a number, the largest first. */
function ranked<T>(all: readonly T[], size: (one: T) => number | null): T[] {
  return all.filter(one => size(one) !== null).toSorted((a, b) => (size(b) ?? 0) - (size(a) ?? 0))
}

/** In whole percent; some of the waiting falls between runs, which are not timed. */
function percentOf(part: number): string {
  return `${Math.min(100, Math.round(100 * part))} %`
}

/** A row in a sentence. @param all - of its table */
export function nameOf(row: TimedRecord, all: readonly TimedRecord[]): string {
  const {cell} = row
  return [variantLabel(cell), ...backendMarks(row, all), `L=${cell.seq_len}`].join(' ')
}
