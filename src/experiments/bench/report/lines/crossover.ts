/** From which length on a method is faster than an exact form, as far as noise lets one say. */
import {type Answer, byInterval, isSettled, isTold} from '../../../../answers/index.js'
import {significant} from '../../../../report/numbers.js'
import {listed} from '../../../../report/words.js'
import type {CrossoverAnswer} from '../../../../results/findings.js'
import {type Estimate, type Interval, passesOne} from '../../../../stats/index.js'

/** Speed-up over an exact form at one length. */
export interface Point {
  length: number
  gain: Estimate
}

export interface Crossover {
  answer: CrossoverAnswer
  /** From which length on it is faster; `null` for every other answer than `overtakes`. */
  length: Estimate | null
  /** A sentence that continues the name of the method. */
  statement: string
}

/** Which of two is faster; `open` where the interval of their ratio holds 1, or there is none. */
type Order = (typeof ORDERS)[Answer]

/**
 * Where lengths say for certain which is faster their order counts, however wide their intervals are; a length is named as
 * crossover where it has an interval, and is withheld where that is wide.
 *
 * @param points - at least one, by length
 * @param baseline - name of the exact form
 */
export function crossover(points: readonly Point[], baseline: string): Crossover {
  const orders = points.map(({gain}) => orderOf(gain))
  if (orders.every(order => order === 'faster')) {
    return without('faster', `is faster than ${baseline} at ${everywhere(points)}`)
  }
  if (orders.at(-1) !== 'faster') return notInTheEnd(points, orders, baseline)
  const length = crossing(points)
  // it was ahead before: from where on it stays so is another question than where it overtakes
  const passes =
    orders.lastIndexOf('slower') > orders.indexOf('faster') ? 'stays faster than' : 'overtakes'
  if (length && isSettled(length)) {
    const [value, low, high] = [length.value, length.low, length.high].map(x => significant(x))
    const statement = `${passes} ${baseline} at L=${value} [${low}, ${high}]`
    return {answer: 'overtakes', length, statement}
  }
  return without('unsettled', wideText(points, orders, baseline))
}

function without(answer: CrossoverAnswer, statement: string): Crossover {
  return {answer, length: null, statement}
}

/** The sentence where a method is faster in the end, but from a length that is not known well enough. */
function wideText(points: readonly Point[], orders: readonly Order[], baseline: string): string {
  const from = orders.findLastIndex(order => order !== 'faster') + 1
  const after = points[from]!.length
  const slower = orders.lastIndexOf('slower')
  if (slower < 0) {
    const open = lengthsOf(points, orders, 'open')
    return `is faster than ${baseline} from L=${after} on, inconclusive at L=${open}`
  }
  return `overtakes ${baseline} between L=${points[slower]!.length} and ${after}`
}

/** The answer for a method that is not faster, or not for certain, at the longest length. */
function notInTheEnd(
  points: readonly Point[],
  orders: readonly Order[],
  baseline: string,
): Crossover {
  if (orders.every(order => order === 'slower')) {
    return without('slower', `is slower than ${baseline} at ${everywhere(points)}`)
  }
  if (points.every(({gain}) => !isTold(gain))) {
    const statement = `is not compared with ${baseline} at any length, as the machine was too busy`
    return without('unsettled', statement)
  }
  if (orders.every(order => order === 'open')) {
    return without('unsettled', `is not distinguishable from ${baseline} at ${everywhere(points)}`)
  }
  const found = (['faster', 'slower', 'open'] as const).flatMap(order => {
    const lengths = lengthsOf(points, orders, order)
    return lengths === '' ? [] : [{order, lengths}]
  })
  const parts = found.map(({order, lengths}, at) => {
    const word = order === 'open' ? 'inconclusive' : order
    return `${word}${at === 0 ? ` than ${baseline}` : ''} at L=${lengths}`
  })
  const statement = `is ${listed(parts)}`
  return without(orders.includes('faster') ? 'mixed' : 'unsettled', statement)
}

/** The lengths of an answer that all of them give. */
function everywhere(points: readonly Point[]): string {
  const [first, last] = [points[0]!.length, points.at(-1)!.length]
  return first === last ? `L=${first}` : `every length measured, from L=${first} to ${last}`
}

function lengthsOf(points: readonly Point[], orders: readonly Order[], order: Order): string {
  return points
    .filter((_, at) => orders[at] === order)
    .map(({length}) => length)
    .join(', ')
}

/** The order of two times. @param gain - one over the other, by its ends */
export function orderOf(gain: Interval): Order {
  return ORDERS[byInterval(gain)]
}

const ORDERS = {more: 'faster', less: 'slower', same: 'open', cannot_be_told: 'open'} as const

/**
 * Where the speed-up passes 1 for the last time, on straight lines between points in log-log axes. The ends come
 * from the lines through the upper and through the lower ends of all points: they cover it at least as often as the
 * intervals cover the points.
 *
 * @returns `undefined` where one of these lines does not pass 1 within the lengths
 */
function crossing(points: readonly Point[]): Estimate | undefined {
  const [value, low, high] = (['value', 'high', 'low'] as const).map(end => passing(points, end))
  if (value === undefined || low === undefined || high === undefined) return undefined
  return {value, low, high}
}

/** The last length at which the line through one end of all points passes 1 from below. */
function passing(points: readonly Point[], end: keyof Estimate): number | undefined {
  const before = points.findLastIndex(({gain}) => !(gain[end] > 1))
  const [below, above] = [points[before], points[before + 1]]
  if (!below || !above) return undefined
  const [from, to] = [below, above].map(({length, gain}) => ({x: length, y: gain[end]}))
  const length = passesOne([from!, to!])
  return Number.isNaN(length) ? undefined : length
}
