/**
 * Ratios of times of one run. Its cells took turns, so that what disturbs the machine falls on all of them; on long calls more
 * than on short ones, so that ratios are those of undisturbed calls.
 */
import {groupBy} from '../../../report/groups.js'
import {
  type Estimate,
  leaning,
  mapped,
  mean,
  pseudomedian,
  quantile,
  type SharedVariance,
  sharedVariance,
  studentQuantile,
  studentTail,
  variance,
  welchTest,
} from '../../../stats/index.js'
import type {TimedRecord} from '../schema.js'
import {undisturbedTimes, undisturbedTurns, usualTimes} from './processes.js'
import {FLOOR, MOST_APART, waitingShare} from './time-estimates.js'

/** A record in a sum of logarithms of times. */
export interface Weighted {
  record: TimedRecord
  weight: number
}

/** A sum of logarithms of times, as processes measured it. */
export interface LogTime {
  value: number
  /** Standard error; `NaN` of one process, infinite where the machine was too busy to tell. */
  error: number
  /** Of freedom, of that error. */
  degrees: number
}

/** Of a logarithm, to either side, for a slope. */
const STEP = 1e-3

/** Processes that know their own spread: leaning makes an interval of five a fifth narrower, and of cells that differ too narrow. */
const KNOWING = 5

const NOTHING: SharedVariance = {value: 0, degrees: 0}

/** More make no difference. */
const MOST_DEGREES = 10_000

/** Logarithms by processes and their turns. */
type TurnLogs = readonly Float64Array[]

/**
 * Ratios of the times of a run. A ratio is taken process by process, the first ones of both, then the second ones,
 * and so on; within a process turn by turn where each run is known without its waiting. Fewer than five processes say little of its
 * spread, so it is shrunk towards the spread of other cells with the same number of threads, as far as these agree. What the
 * processes of a run have in common they do not show: a measured {@link FLOOR} stands for it.
 */
export class PairedTimes {
  readonly #shared = new Map<string, SharedVariance>()
  readonly #logs = new Map<TimedRecord, Float64Array>()
  readonly #turns = new Map<TimedRecord, TurnLogs>()
  readonly #usual = new Map<TimedRecord, Float64Array>()

  /** @param records - of one run, all that there are */
  constructor(records: readonly TimedRecord[]) {
    for (const group of groupBy(records, record => this.#kindOf(record))) {
      this.#shared.set(this.#kindOf(group[0]!), this.#spreadOf(group))
    }
  }

  /** Time of one record over that of another. */
  ratio(above: TimedRecord, below: TimedRecord): Estimate {
    return mapped(intervalOf(this.logRatio(above, below)), Math.exp)
  }

  /** Logarithm of that ratio. */
  logRatio(above: TimedRecord, below: TimedRecord): LogTime {
    return this.sum([
      {record: above, weight: 1},
      {record: below, weight: -1},
    ])
  }

  /**
   * Logarithm of the time of a record over that of one of another run, whose processes are not the same.
   *
   * @param shift - what the runs differ by as a whole, as a logarithm. Default: nothing
   */
  logRatioOfRuns(above: TimedRecord, below: TimedRecord, shift = 0): LogTime {
    const [own, other] = [this.logsOf(above), this.logsOf(below)]
    const {standardError, degrees, estimate} = welchTest(own, other)
    const usual = mean(this.#usualOf(above)) - mean(this.#usualOf(below))
    const {value} = estimate
    if (Number.isNaN(standardError)) return {value, error: Number.NaN, degrees: 0}
    if (isTooBusy(value, usual, [above, below])) return untold(value)
    return withKnown({value: standardError ** 2, degrees}, 2 * FLOOR ** 2 + shift ** 2, value)
  }

  /** Exponent of time in length. @param records - at least two lengths */
  exponent(records: readonly TimedRecord[]): Estimate {
    return intervalOf(this.sum(exponentParts(records)))
  }

  /** Weighted sum of the logarithms of times. */
  sum(parts: readonly Weighted[]): LogTime {
    const of = (logs: readonly number[]) =>
      parts.reduce((sum, {weight}, at) => sum + weight * logs[at]!, 0)
    return this.#by(parts, of)
  }

  /**
   * A logarithm that is made of times otherwise, as of one that is predicted from others.
   *
   * @param of - smooth; given the logarithms of the times of the records, in their order
   */
  made(records: readonly TimedRecord[], of: (logs: readonly number[]) => number): LogTime {
    const centers = records.map(record => mean(this.logsOf(record)))
    const parts = records.map((record, at) => {
      const moved = (by: number) => of(centers.map((log, other) => (other === at ? log + by : log)))
      return {record, weight: (moved(STEP) - moved(-STEP)) / (2 * STEP)}
    })
    return this.#by(parts, of)
  }

  /** @param parts - how much of each is in it */
  #by(parts: readonly Weighted[], of: (logs: readonly number[]) => number): LogTime {
    const records = parts.map(({record}) => record)
    const values = byTurns(this.#turnsOf(records), of)
    const count = values.length
    const value = mean(values)
    if (count < 2) return {value, error: Number.NaN, degrees: 0}
    const undisturbed = byProcess(
      records.map(record => this.logsOf(record)),
      of,
    )
    const usual = byProcess(
      records.map(record => this.#usualOf(record)),
      of,
    )
    if (isTooBusy(mean(undisturbed), mean(usual), records)) return untold(value)
    const own = {value: variance(values), degrees: count - 1}
    const found = count < KNOWING ? leaning(own, this.#sharedOf(parts)) : own
    const floor = parts.reduce((sum, {weight}) => sum + (weight * FLOOR) ** 2, 0)
    return withKnown({value: found.value / count, degrees: found.degrees}, floor, value)
  }

  /**
   * By turns, which follow each other in a round, so that what is slow for a second is slow in all records. A turn may have a single run,
   * though: where some may have waited, a process is taken as one turn.
   */
  #turnsOf(records: readonly TimedRecord[]): TurnLogs[] {
    if (records.every(knowsWaits)) return records.map(record => this.#everyTurnOf(record))
    return records.map(record => Array.from(this.logsOf(record), log => Float64Array.of(log)))
  }

  /** The variance of single records around what all of them had in common; they have as many processes. */
  #spreadOf(records: readonly TimedRecord[]): SharedVariance {
    const [count, processes] = [records.length, this.logsOf(records[0]!).length]
    if (count < 2 || processes < 2) return NOTHING
    // a record is itself a part of what all have in common
    const whole = count / (count - 1)
    const turns = this.#turnsOf(records)
    const common = Array.from({length: processes}, (_, process) =>
      byProcess(
        turns.map(own => own[process]!),
        mean,
      ),
    )
    return sharedVariance(
      turns.map(own => variance(byTurns([own, common], ([log, all]) => log! - all!)) * whole),
      processes - 1,
    )
  }

  /** Logarithms of what undisturbed calls take in the processes of a record; a decode up to one of its tokens has its own. */
  logsOf(record: TimedRecord): Float64Array {
    return logsIn(this.#logs, record, undisturbedTimes)
  }

  #everyTurnOf(record: TimedRecord): TurnLogs {
    const logs =
      this.#turns.get(record) ??
      undisturbedTurns(record.result).map(turns => Float64Array.from(turns, Math.log))
    this.#turns.set(record, logs)
    return logs
  }

  /** The same of usual calls. */
  #usualOf(record: TimedRecord): Float64Array {
    return logsIn(this.#usual, record, usualTimes)
  }

  /** What the parts differ by from process to process, as far as all of their kinds know. */
  #sharedOf(parts: readonly Weighted[]): SharedVariance {
    const each = parts.map(({record}) => this.#shared.get(this.#kindOf(record)) ?? NOTHING)
    return {
      value: parts.reduce((sum, {weight}, at) => sum + weight ** 2 * each[at]!.value, 0),
      degrees: Math.min(...each.map(({degrees}) => degrees)),
    }
  }

  #kindOf(record: TimedRecord): string {
    return `${record.result.threads} ${knowsWaits(record)} ${this.logsOf(record).length}`
  }
}

/** Kept once it was made. */
function logsIn(
  known: Map<TimedRecord, Float64Array>,
  record: TimedRecord,
  times: (of: TimedRecord['result']) => number[],
): Float64Array {
  const logs = known.get(record) ?? Float64Array.from(times(record.result), Math.log)
  known.set(record, logs)
  return logs
}

/** Of each process that all records have. */
function byProcess(
  logs: readonly Float64Array[],
  of: (logs: readonly number[]) => number,
): Float64Array {
  const count = Math.min(...logs.map(({length}) => length))
  return Float64Array.from({length: count}, (_, process) => of(logs.map(own => own[process]!)))
}

/** Whether each run that may have waited was looked at. */
function knowsWaits({result: {threads, waited_ns}}: TimedRecord): boolean {
  return threads === 1 && waited_ns !== null
}

/** The same of each process, from its turns. */
function byTurns(logs: readonly TurnLogs[], of: (logs: readonly number[]) => number): Float64Array {
  const count = Math.min(...logs.map(({length}) => length))
  return Float64Array.from({length: count}, (_, process) =>
    pseudomedian(
      byProcess(
        logs.map(own => own[process]!),
        of,
      ),
    ),
  )
}

/** Whether usual calls say something else than undisturbed ones, or none of some record was undisturbed. */
function isTooBusy(value: number, usual: number, records: readonly TimedRecord[]): boolean {
  return Math.abs(usual - value) > MOST_APART || records.some(isAlwaysDisturbed)
}

function untold(value: number): LogTime {
  return {value, error: Number.POSITIVE_INFINITY, degrees: 1}
}

/**
 * Most that the fastest tenth of the runs takes over what a run computes on average, where runs are not looked at one by one; it
 * takes less where the tenth is undisturbed.
 */
const MOST_OF_MEAN = 1.1

/**
 * Share of the time in which a thread waited, from which on no call of several threads is undisturbed: others take over its work, so
 * that nothing can be taken off. Without other programs it was 24 % at most, with two busy loops on two processors 54 % at least.
 */
const MOST_WAITED = 1 / 3

/** Whether even the fastest tenth of the runs waited for a processor. */
function isAlwaysDisturbed(record: TimedRecord): boolean {
  const {samples_ns, run_waits_ns, waited_ns, threads} = record.result
  if (threads > 1 && (waitingShare(record) ?? 0) > MOST_WAITED) return true
  if (waited_ns === null || run_waits_ns.length > 0) return false
  const computing = mean(samples_ns) - waited_ns / samples_ns.length
  return quantile(samples_ns, 0.1) > MOST_OF_MEAN * computing
}

/**
 * A variance that was estimated and one that is known, together.
 *
 * Source: Satterthwaite 1946, Biometrics Bulletin 2, 110-114, for the degrees of freedom.
 */
function withKnown({value: own, degrees}: SharedVariance, known: number, value: number): LogTime {
  const all = own + known
  const error = Math.sqrt(all)
  return {
    value,
    error,
    degrees: own === 0 ? MOST_DEGREES : Math.min(MOST_DEGREES, degrees * (all / own) ** 2),
  }
}

/** The weights of a least-squares slope: the exponent of time in length. @param weight - of all */
export function exponentParts(records: readonly TimedRecord[], weight = 1): Weighted[] {
  const logs = records.map(({cell}) => Math.log(cell.seq_len))
  const center = mean(logs)
  const spread = logs.reduce((sum, log) => sum + (log - center) ** 2, 0)
  return records.map((record, at) => ({record, weight: (weight * (logs[at]! - center)) / spread}))
}

/** With its 95 % interval. */
export function intervalOf({value, error, degrees}: LogTime): Estimate {
  if (Number.isNaN(error)) return {value, low: Number.NaN, high: Number.NaN}
  const reach = -studentQuantile(0.025, degrees) * error
  return {value, low: value - reach, high: value + reach}
}

/** Two-sided p against "it is 0"; `NaN` of one process. */
export function pDiffers(time: LogTime): number {
  return Math.min(1, 2 * pAbove({...time, value: Math.abs(time.value)}, 0))
}

/** p against "it is `bound` or less"; `NaN` of one process. */
export function pAbove({value, error, degrees}: LogTime, bound: number): number {
  if (Number.isNaN(error)) return Number.NaN
  if (error === 0) return value > bound ? 0 : 1
  return studentTail((value - bound) / error, degrees)
}

/** p against "it is `bound` or more". */
export function pBelow({value, ...rest}: LogTime, bound: number): number {
  return pAbove({value: -value, ...rest}, -bound)
}
