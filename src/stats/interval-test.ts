import {normalCdf} from './distributions.js'
import type {Estimate} from './estimate.js'
import {Z95} from './normal.js'

/**
 * Two-sided p-value of the null hypothesis that a ratio is 1, from its 95 % interval: the p-value of a normal law
 * on the logarithmic scale with the same end of the interval on the side of 1. It is 0.05 where that end is 1.
 *
 * For ratios that have an interval but no test, such as those of variances by their standard errors.
 *
 * Source: Altman and Bland 2011, "How to obtain the P value from a confidence interval", BMJ 343, d2304.
 *
 * @param ratio - positive
 * @returns `NaN` without an interval; 1 for a ratio of 1, 0 for another ratio with a point as interval
 */
export function ratioPValue({value, low, high}: Estimate): number {
  const distance = Math.abs(Math.log(value))
  if (distance === 0) return Number.isNaN(low) || Number.isNaN(high) ? Number.NaN : 1
  const reach = value > 1 ? Math.log(value / low) : Math.log(high / value)
  const standardError = reach / Z95
  return 2 * normalCdf(-distance / standardError)
}
