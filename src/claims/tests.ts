/** Tests that several claims share. All are of normal estimates: of logarithms where numbers are positive. */
import {groupBy} from '../report/groups.js'
import {type Estimate, normalCdf, weightedLine} from '../stats/index.js'

/** Half the width of a 95 % interval in standard errors. */
export const Z95 = 1.959963984540054

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

/** Of the smallest of so many p-values, whatever they share. */
export function bonferroni(p: number, count: number): number {
  return Math.min(1, count * p)
}

/** p against "at most `bound`". */
export function above(estimate: Estimate, bound: number): number {
  return upperTail((estimate.value - bound) * (Z95 / (estimate.value - estimate.low)))
}

/** p against "at least `bound`". */
export function below(estimate: Estimate, bound: number): number {
  return upperTail((bound - estimate.value) * (Z95 / (estimate.high - estimate.value)))
}

/** p against "off `center` by `margin` or more": the larger of both sides. */
export function isAbout(estimate: Estimate, center: number, margin: number): number {
  return Math.max(above(estimate, center - margin), below(estimate, center + margin))
}

/** A point of a power law with an independent error. */
export interface PowerPoint {
  x: number
  y: number
  /** Standard error of the logarithm of y. */
  error: number
  /** Points of a group share a factor of their own. */
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
