/** Tests that several claims share. All are of normal estimates: of logarithms where numbers are positive. */
import {groupBy} from '../../report/groups.js'
import {type Estimate, normalCdf, weightedLine, Z95} from '../../stats/index.js'
import type {Test} from '../claim.js'

/**
 * Chance of a false alarm that numbers of draws are planned for: 5 % over the some 200 tests of all claims together, as
 * the first of them has to pass (Holm).
 */
export const PLANNED_ALPHA = 0.05 / 200

/** Probability that a standard normal number is above z. */
export function upperTail(z: number): number {
  return normalCdf(-z)
}

/** Probability of one as far from zero, on either side. */
export function twoSided(z: number): number {
  return 2 * upperTail(Math.abs(z))
}

/** The smallest of `count` p-values adjusted for their number, whatever they share. */
export function bonferroni(p: number, count: number): number {
  return Math.min(1, count * p)
}

/** What numbers say of any bound. */
export interface Bounds {
  /** p against "it is `bound` or less". */
  above(bound: number): number
  /** p against "it is `bound` or more". */
  below(bound: number): number
}

/** Of a normal estimate. */
export function boundsOf({value, low, high}: Estimate): Bounds {
  return {
    above: bound => upperTail((value - bound) * (Z95 / (value - low))),
    below: bound => upperTail((bound - value) * (Z95 / (high - value))),
  }
}

/** p against "it is not between these": the larger of both sides. */
export function pBetween({above, below}: Bounds, [least, most]: readonly [number, number]): number {
  return Math.max(above(least), below(most))
}

/** Two tests of one number: the first speaks for a claim that it is above a bound. @param shown - the bound, in words */
export function testsAbove(
  name: string,
  {above, below}: Bounds,
  bound: number,
  shown = `${bound}`,
): [Test, Test] {
  return [
    {hypothesis: `${name} is ${shown} or less`, p: above(bound)},
    {hypothesis: `${name} is ${shown} or more`, p: below(bound)},
  ]
}

/** The same for a claim that it is below. */
export function testsBelow(name: string, bounds: Bounds, bound: number): [Test, Test] {
  const [more, less] = testsAbove(name, bounds, bound)
  return [less, more]
}

/** The same for a claim that it is between two bounds. @param words - what is tested of it */
export function testsBetween(
  name: string,
  bounds: Bounds,
  [least, most]: readonly [number, number],
  words: readonly [string, string] = [`below ${least} or above ${most}`, 'between them'],
): [Test, Test] {
  const p = bonferroni(Math.min(bounds.below(least), bounds.above(most)), 2)
  return [
    {hypothesis: `${name} is ${words[0]}`, p: pBetween(bounds, [least, most])},
    {hypothesis: `${name} is ${words[1]}`, p},
  ]
}

/** A point of a power law with an independent error. */
interface PowerPoint {
  x: number
  y: number
  /** Standard error of the logarithm of y. */
  error: number
  /** Points of a group share a factor. */
  group: string
}

/** Exponent of a power law, the same in all groups: their weighted lines, each by the certainty of its slope. */
export function powerLaw(points: readonly PowerPoint[]): Estimate {
  const lines = groupBy(points, point => point.group).map(group =>
    weightedLine(
      group.map(({x}) => Math.log(x)),
      group.map(({y}) => Math.log(y)),
      group.map(({error}) => error),
    ),
  )
  const weight = lines.reduce((sum, {slopeError}) => sum + slopeError ** -2, 0)
  const value =
    lines.reduce((sum, {slope, slopeError}) => sum + slope / slopeError ** 2, 0) / weight
  const reach = Z95 / Math.sqrt(weight)
  return {value, low: value - reach, high: value + reach}
}
