/** From which length on a method is faster than an exact form, as far as noise lets one say. */

import {significant} from '../../report/numbers.js'
import type {Estimate} from '../../stats/index.js'
import {isSettled} from './noise.js'

/** Speed-up over an exact form at one length. */
export interface Point {
  length: number
  gain: Estimate
}

/** Which of two is faster; `open` where the interval of their ratio holds 1, or there is none. */
type Order = 'faster' | 'slower' | 'open'

/**
 * A sentence that continues the name of a method. Where lengths say for certain which is faster their order counts, however
 * wide their intervals are; a length is named as crossover where it has an interval, and is withheld where that is wide.
 *
 * @param points - at least one, by length
 * @param baseline - name of the exact form
 */
export function crossover(points: readonly Point[], baseline: string): string {
  const orders = points.map(orderOf)
  const from = orders.findLastIndex(order => order !== 'faster') + 1
  if (from === 0) return `is faster than ${baseline} at every length from ${points[0]!.length}`
  if (from === points.length) return notInTheEnd(points, orders, baseline)
  const [before, after] = [points[from - 1]!, points[from]!]
  if (orders[from - 1] === 'open') {
    const shorter = `unsettled at ${lengthsOf(points, orders, 'open')}`
    return `is faster than ${baseline} from L=${after.length} on; ${shorter}`
  }
  const length = crossing(before, after)
  const between = `between ${before.length} and ${after.length}`
  if (!isSettled(length)) {
    return `is faster than ${baseline} from a length ${between} on; which one is unsettled`
  }
  const [value, low, high] = [length.value, length.low, length.high].map(x => significant(x))
  const span =
    low === high ? between : `${low} - ${high}, measured at ${before.length} and ${after.length}`
  return `is faster than ${baseline} from about L=${value} on (${span})`
}

/** The sentence for a method that is not faster, or not for certain, at the longest length. */
function notInTheEnd(points: readonly Point[], orders: readonly Order[], baseline: string): string {
  const last = points.at(-1)!.length
  const place = orders.length === 1 ? `at L=${last}` : `up to L=${last}`
  if (orders.every(order => order === 'slower')) return `is slower than ${baseline} ${place}`
  if (orders.every(order => order === 'open')) {
    return `is neither faster nor slower than ${baseline} for certain ${place}: unsettled`
  }
  const told = (['faster', 'slower', 'open'] as const).flatMap(order => {
    const lengths = lengthsOf(points, orders, order)
    return lengths === '' ? [] : [`${order === 'open' ? 'unsettled' : order} at ${lengths}`]
  })
  return `against ${baseline}: ${told.join(', ')}`
}

function lengthsOf(points: readonly Point[], orders: readonly Order[], order: Order): string {
  return points
    .filter((_, at) => orders[at] === order)
    .map(({length}) => length)
    .join(', ')
}

function orderOf({gain: {low, high}}: Point): Order {
  if (low > 1) return 'faster'
  return high < 1 ? 'slower' : 'open'
}

/**
 * Where the speed-up passes 1, on the straight line between two points in log-log axes. The ends are those of the lines
 * through the upper and through the lower ends of both: they cover it at least as often as those cover the points.
 */
function crossing(below: Point, above: Point): Estimate {
  const at = (end: keyof Estimate) => {
    const [first, second] = [Math.log(below.gain[end]), Math.log(above.gain[end])]
    return below.length * (above.length / below.length) ** (-first / (second - first))
  }
  return {value: at('value'), low: at('high'), high: at('low')}
}
