import {expected} from '../errors.js'

/** Fewest draws: one is left out, and a mean over the other pairs must still vary. */
const LEAST_DRAWS = 3

/**
 * Jackknife standard error of the mean of a symmetric function h over all pairs of independent, equally
 * distributed draws (a U-statistic of order two, unbiased for E h).
 *
 * Hoeffding's decomposition `h(i, j) = theta + l_i + l_j + e_ij` has uncorrelated parts of mean zero, of
 * variance z1 (per draw) and z2 (per pair). The mean over G draws has the variance
 * `4 z1 / G + 2 z2 / (G (G - 1))`; leaving out draw i moves it by `-2 l / (G - 1)` with
 * `l = (mean over pairs with i - mean over all) (G - 1) / (G - 2)`, and the jackknife's variance, `4 / (G (G - 1))` times the
 * sum of their squares, has the expectation `4 z1 / G + 4 z2 / (G (G - 2))`: right where draws decide, too large
 * (the error by up to `sqrt(2 (G - 1) / (G - 2))`) where only pairs vary. It is never too small.
 *
 * Source: Hoeffding 1948, "A class of statistics with asymptotically normal distribution", section 5;
 * Efron and Stein 1981, "The jackknife estimate of variance".
 *
 * @param draws - G, at least 3
 * @param h - value of the pair i < j, both below G
 * @returns `NaN` or infinite where a pair is not finite
 * @throws {BAD_OPTION} below three draws
 */
export function pairMeanError(draws: number, h: (i: number, j: number) => number): number {
  if (!(draws >= LEAST_DRAWS)) {
    throw expected('BAD_OPTION', 'pairs', `at least ${LEAST_DRAWS} draws`, String(draws))
  }
  const means = new Float64Array(draws) // over the pairs with draw i
  for (let j = 1; j < draws; j++) {
    for (let i = 0; i < j; i++) {
      const share = h(i, j) / (draws - 1)
      means[i]! += share
      means[j]! += share
    }
  }
  const mean = means.reduce((sum, own) => sum + own, 0) / draws
  const squares = means.reduce((sum, own) => sum + (own - mean) ** 2, 0)
  return Math.sqrt((4 * (draws - 1) * squares) / draws) / (draws - 2)
}
