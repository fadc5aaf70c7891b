/** Estimates with their intervals, and what is computed of several independent ones. */

/** Both ends of an interval. */
export interface Interval {
  low: number
  high: number
}

/** A number with the interval that covers what it estimates; ends are `NaN` where there is none. */
export interface Estimate extends Interval {
  value: number
}

/** Part of a sum of estimates. */
export interface Part {
  weight: number
  estimate: Estimate
}

/**
 * Sum of independent estimates times their weights. Its interval has the coverage of theirs: each end is as far from
 * the sum as the root of the summed squares of what the parts may add in that direction. It needs no law of the parts,
 * keeps lopsided intervals lopsided, and is `NaN` where a part has none.
 *
 * Source: Zou and Donner 2008, "Construction of confidence limits about effect measures", Statistics in Medicine 27,
 * 1693-1702; sums with weights: Zou, Huang and Zhang 2009, Computational Statistics and Data Analysis 53, 1080-1085.
 */
export function weightedSum(parts: readonly Part[]): Estimate {
  let value = 0
  let below = 0
  let above = 0
  for (const {weight, estimate} of parts) {
    value += weight * estimate.value
    const [down, up] = [estimate.value - estimate.low, estimate.high - estimate.value]
    below += (weight * (weight > 0 ? down : up)) ** 2
    above += (weight * (weight > 0 ? up : down)) ** 2
  }
  return {value, low: value - Math.sqrt(below), high: value + Math.sqrt(above)}
}

/** Ratio of independent positive estimates: a difference of logarithms, see {@link weightedSum}. */
export function ratioOf(above: Estimate, below: Estimate): Estimate {
  const difference = weightedSum([
    {weight: 1, estimate: mapped(above, Math.log)},
    {weight: -1, estimate: mapped(below, Math.log)},
  ])
  return {...mapped(difference, Math.exp), value: above.value / below.value}
}

/** The estimate of a rising function of what is estimated. */
export function mapped({value, low, high}: Estimate, rising: (x: number) => number): Estimate {
  return {value: rising(value), low: rising(low), high: rising(high)}
}

/** The factor within which a positive estimate is known: the larger of high over value and value over low; `NaN` without interval. */
export function factorOf({value, low, high}: Estimate): number {
  return Math.max(high / value, value / low)
}
