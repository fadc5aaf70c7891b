/** Times and memory of candidates at any length: measured there, or predicted from what was measured. */
import type {DrawPoint, MethodSpec} from '../experiments/axes.js'
import {BASELINES} from '../experiments/bench/fields/baselines.js'
import type {TimedRecord} from '../experiments/bench/schema.js'
import {intervalOf, PairedTimes} from '../experiments/bench/times/paired-times.js'
import {medianOf, undisturbedTime} from '../experiments/bench/times/time-estimates.js'
import {variantLabel} from '../experiments/labels.js'
import {type Estimate, mapped, weightedSum} from '../stats/index.js'

export type Variant = MethodSpec & DrawPoint

/** What is counted of a call, by length L. */
export interface Counted {
  flops(variant: Variant, length: number): number
  /** Bytes that it holds, without inputs and output. */
  bytes(variant: Variant, length: number): number
}

/** A time, and where it comes from. */
export interface Timed {
  time: Estimate
  from: 'measured' | 'predicted'
  bytes: number
}

/** A counted and timed call. */
interface TimedWork {
  flops: number
  time: Estimate
}

/**
 * Time of a call by its operations, on the straight line through the two longest timed calls: a fixed part and one that
 * grows with the operations. The interval comes from the timings; caches that overflow in longer calls are not in it.
 *
 * @param timed - at least one, by rising operations
 */
export function timeOfWork(timed: readonly TimedWork[], flops: number): Estimate {
  const [before, last] = [timed.at(-2), timed.at(-1)!]
  const share = flops / last.flops
  const proportional = {
    value: last.time.value * share,
    low: last.time.low * share,
    high: last.time.high * share,
  }
  if (!before || before.time.value >= last.time.value) return proportional
  const weight = (flops - before.flops) / (last.flops - before.flops)
  const line = weightedSum([
    {weight, estimate: last.time},
    {weight: 1 - weight, estimate: before.time},
  ])
  // a line through noise may fall below what any call takes
  if (flops < last.flops) return line.value > 0 && line.low > 0 ? line : proportional
  return {...line, low: Math.max(line.low, last.time.low)}
}

/** The same of single numbers, as one process measured them. @param timed - times of one process */
function singleTimeOfWork(timed: readonly {flops: number; time: number}[], flops: number): number {
  const works = timed.map(({flops, time}) => ({flops, time: {value: time, low: time, high: time}}))
  const {value, low} = timeOfWork(works, flops)
  // in a process the longer call may take hardly longer than the shorter one
  return Math.max(value, low)
}

/** Longest length that is looked at. */
const LONGEST = 2 ** 22

/**
 * Whether a timed cell says how long a variant takes. Learned parameters cost nothing: maps fold into the weights, and learned random
 * vectors take the place of drawn ones; so a method with them takes as long as without.
 */
export function isTimeOf(cell: Variant, variant: Variant): boolean {
  const {method, num_features, tuned} = variant
  if (!tuned) return variantLabel(cell) === variantLabel(variant)
  return cell.method === method && cell.num_features === num_features
}

/** What a benchmark says of candidates. */
export class Times {
  /** The exact forms that were timed. */
  readonly exact: readonly Variant[]
  /** Shortest length that was timed. */
  readonly shortest: number
  readonly #paired: PairedTimes

  /** @param records - of one shape; at least one of an exact form */
  constructor(
    private readonly records: readonly TimedRecord[],
    private readonly counted: Counted,
  ) {
    const first = (name: string) => records.find(({cell}) => cell.method === name)
    this.exact = BASELINES.flatMap(name => first(name)?.cell ?? [])
    this.#paired = new PairedTimes(records)
    this.shortest = Math.min(...records.map(({cell}) => cell.seq_len))
  }

  /** `undefined` where the method was not timed at all. */
  at(variant: Variant, length: number): Timed | undefined {
    const found = this.timeAt(variant, length)
    if (!found) return undefined
    const {record, time, from} = found
    return {time, from, bytes: record?.result.live_bytes ?? this.counted.bytes(variant, length)}
  }

  /** The same without bytes, which take time to count. */
  private timeAt(variant: Variant, length: number) {
    const own = this.ownRecords(variant)
    const record = own.find(({cell}) => cell.seq_len === length)
    const flops = this.counted.flops(variant, length)
    if (record) {
      const works = [{record, flops, time: medianOf(record)}]
      return {time: works[0]!.time, from: 'measured' as const, record, works, flops}
    }
    const works = this.worksOf(own.length > 0 ? own : this.nearest(variant))
    if (works.length === 0) return undefined
    return {time: timeOfWork(works, flops), from: 'predicted' as const, works, flops}
  }

  private ownRecords(variant: Variant): readonly TimedRecord[] {
    return this.records.filter(({cell}) => isTimeOf(cell, variant))
  }

  /** The same method at the M nearest to one that was not timed. */
  private nearest({method, num_features}: Variant): readonly TimedRecord[] {
    if (num_features === null) return []
    const same = this.records.filter(
      ({cell}) => cell.method === method && cell.num_features !== null,
    )
    const distance = (count: number) => Math.abs(Math.log(count / num_features))
    const counts = same.map(({cell}) => cell.num_features!)
    const best = counts.reduce((a, b) => (distance(b) < distance(a) ? b : a), counts[0] ?? 1)
    return same.filter(({cell}) => cell.num_features === best)
  }

  private worksOf(records: readonly TimedRecord[]) {
    const works = records.map(record => ({
      record,
      flops: this.counted.flops(record.cell, record.cell.seq_len),
      time: medianOf(record),
    }))
    return works.sort((a, b) => a.flops - b.flops)
  }

  /** The faster exact form at a length. */
  fastestExact(length: number): {label: string; time: Estimate} {
    const {label, time} = this.fastest(length)
    return {label, time}
  }

  private fastest(length: number) {
    const all = this.exact.map(variant => {
      const found = this.timeAt(variant, length)!
      const works = found.works.map(({record, flops}) => ({flops, time: undisturbedTime(record)}))
      const undisturbed = singleTimeOfWork(works, found.flops)
      return {label: variantLabel(variant), ...found, undisturbed}
    })
    return all.reduce((a, b) => (b.undisturbed < a.undisturbed ? b : a))
  }

  /** How many times faster than the faster exact form, process by process. */
  gain(variant: Variant, length: number): Estimate | undefined {
    const own = this.timeAt(variant, length)
    if (!own) return undefined
    const exact = this.fastest(length)
    if (own.record && exact.record) return this.#paired.ratio(exact.record, own.record)
    // a prediction goes through the two longest calls
    const sides = [exact, own].map(({works, flops}) => ({works: works.slice(-2), flops}))
    const of = (logs: readonly number[]) => {
      const [above, below] = sides.map(({works, flops}, side) => {
        const from = side * sides[0]!.works.length
        const timed = works.map((work, at) => ({
          flops: work.flops,
          time: Math.exp(logs[from + at]!),
        }))
        return Math.log(singleTimeOfWork(timed, flops))
      })
      return above! - below!
    }
    const records = sides.flatMap(({works}) => works.map(({record}) => record))
    return mapped(intervalOf(this.#paired.made(records, of)), Math.exp)
  }

  /**
   * The length from which a candidate is faster than the faster exact form: the last place at which the ratio of their
   * times passes 1, to one per cent.
   *
   * @returns the shortest length that was timed where it is faster from there on; ends are infinite where the interval does not
   * pass 1 within {@link LONGEST}, and `undefined` where the ratio itself does not
   */
  crossover(variant: Variant): Estimate | undefined {
    const from = (end: keyof Estimate) => this.crossing(variant, end)
    const value = from('value')
    if (value === undefined || value === Number.POSITIVE_INFINITY) return undefined
    return {value, low: from('high')!, high: from('low')!}
  }

  private crossing(variant: Variant, end: keyof Estimate): number | undefined {
    if (this.timeAt(variant, this.shortest) === undefined) return undefined
    const ahead = (length: number) => this.gain(variant, Math.round(length))![end] > 1
    let [high, low] = [LONGEST, LONGEST]
    if (!ahead(high)) return Number.POSITIVE_INFINITY
    while (low > this.shortest && ahead(low)) [high, low] = [low, low / 2]
    if (low <= this.shortest) {
      if (ahead(this.shortest)) return this.shortest
      low = this.shortest
    }
    while (high / low > 1.01) {
      const middle = Math.sqrt(low * high)
      if (ahead(middle)) high = middle
      else low = middle
    }
    return Math.round(high)
  }
}
