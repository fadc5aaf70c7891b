/** Ratios of times of one run. Its cells took turns: a disturbance of the machine is in all of them, and cancels. */
import {groupBy} from '../../../report/groups.js'
import {
  type Estimate,
  leaning,
  mapped,
  mean,
  type SharedVariance,
  sharedVariance,
  studentQuantile,
  studentTail,
  variance,
} from '../../../stats/index.js'
import type {TimedRecord} from '../schema.js'
import {processMedians} from './processes.js'

/** A record in a sum of logarithms of times. */
export interface Weighted {
  record: TimedRecord
  weight: number
}

/** A sum of logarithms of times, as processes measured it. */
export interface LogTime {
  value: number
  /** Standard error; `NaN` of one process. */
  error: number
  /** Of freedom, of that error. */
  degrees: number
}

/** Of a logarithm, to either side, for a slope. */
const STEP = 1e-3

/** Processes that know their own spread: leaning makes an interval of five a fifth narrower, and of cells that differ too narrow. */
const KNOWING = 5

const NOTHING: SharedVariance = {value: 0, degrees: 0}

/**
 * Ratios of the times of a run. A ratio is taken process by process, the first ones of both, then the second ones,
 * and so on. Fewer than five processes say little of its spread, so it is shrunk towards the spread of other cells
 * with the same number of threads, as far as these agree.
 */
export class PairedTimes {
  readonly #shared = new Map<string, SharedVariance>()
  readonly #logs = new Map<TimedRecord, Float64Array>()

  /** @param records - of one run, all that there are */
  constructor(records: readonly TimedRecord[]) {
    for (const group of groupBy(records, record => this.#kindOf(record))) {
      this.#shared.set(this.#kindOf(group[0]!), spreadOf(group.map(record => this.logsOf(record))))
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
    const logs = parts.map(({record}) => this.logsOf(record))
    const count = Math.min(...logs.map(({length}) => length))
    const values = Float64Array.from({length: count}, (_, process) =>
      of(logs.map(own => own[process]!)),
    )
    if (count < 2) return {value: mean(values), error: Number.NaN, degrees: 0}
    const own = {value: variance(values), degrees: count - 1}
    const found = count < KNOWING ? leaning(own, this.#sharedOf(parts)) : own
    return {value: mean(values), error: Math.sqrt(found.value / count), degrees: found.degrees}
  }

  /** Logarithms of the medians of the processes of a record; a decode up to one of its tokens has its own. */
  logsOf(record: TimedRecord): Float64Array {
    const known = this.#logs.get(record)
    if (known) return known
    const logs = Float64Array.from(processMedians(record.result), Math.log)
    this.#logs.set(record, logs)
    return logs
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
    return `${record.result.threads} ${this.logsOf(record).length}`
  }
}

/**
 * The variance of single cells around what all of them had in common. @param logs - by cell, the same number of
 * processes in each
 */
function spreadOf(logs: readonly Float64Array[]): SharedVariance {
  const [count, processes] = [logs.length, logs[0]!.length]
  if (count < 2 || processes < 2) return NOTHING
  const own = logs.map(values => {
    const center = mean(values)
    return values.map(value => value - center)
  })
  const common = Float64Array.from({length: processes}, (_, process) =>
    mean(own.map(values => values[process]!)),
  )
  // a cell is itself a part of what all have in common
  const whole = count / (count - 1)
  return sharedVariance(
    own.map(values => variance(values.map((value, at) => value - common[at]!)) * whole),
    processes - 1,
  )
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
