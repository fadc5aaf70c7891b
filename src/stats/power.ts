/** How many pairs a test needs: a verdict from fewer would be silence taken for an answer. */
import {expected} from '../errors.js'
import {cephes} from './cephes.js'
import {normalCdf, studentQuantile} from './distributions.js'
import {normalQuantile} from './normal.js'
import {checkShare} from './tests.js'

interface Chances {
  /** Of a false alarm; default 0.05. A two-sided test has half of it on each side: give that. */
  alpha?: number
  /** Of seeing the effect; default 0.9. */
  power?: number
}

const ALPHA = 0.05
const POWER = 0.9
/** Below 1 by more than the power is computed to. */
const MOST_POWER = 1 - 1e-6
/** Degrees of freedom beyond which Student's t is taken for normal: gamma functions have lost their digits. */
const MOST_DEGREES = 1e5

/**
 * Chance that a one-sided t test rejects: that noncentral t exceeds the critical value, found by integrating over the
 * standard deviation (Simpson's rule, absolute error below 1e-9; 1e-5 beyond 100,000 degrees, where it is normal).
 *
 * Source: Johnson, Kotz and Balakrishnan 1995, "Continuous Univariate Distributions" 2, section 31.1 (the definition).
 *
 * @param noncentrality - mean over its standard error, as it truly is
 * @param degrees - of freedom, 1 or more
 * @throws {BAD_OPTION} for degrees below 1 or an alpha that is not a probability
 */
export function studentPower(noncentrality: number, degrees: number, alpha = ALPHA): number {
  checkShare('power', 'alpha', alpha)
  if (!(degrees >= 1)) {
    throw expected('BAD_OPTION', 'power', 'at least 1 degree of freedom', String(degrees))
  }
  if (degrees > MOST_DEGREES) return normalCdf(noncentrality + normalQuantile(alpha))
  const critical = -studentQuantile(alpha, degrees)
  const half = degrees / 2
  const logScale = Math.LN2 + half * Math.log(half) - cephes('lgam', half)
  // s = sqrt(chi-square / degrees), with a standard deviation of at most 1 / sqrt(2 degrees) about 1
  const density = (s: number) =>
    Math.exp(logScale + (degrees > 1 ? (degrees - 1) * Math.log(s) : 0) - half * s * s)
  const reach = 10 / Math.sqrt(2 * degrees)
  return simpson(Math.max(0, 1 - reach), 1 + reach, s => {
    return density(s) * normalCdf(noncentrality - critical * s)
  })
}

/** Simpson's rule in the cube root of the distance from the lower end, where few degrees of freedom have all that moves. */
function simpson(from: number, to: number, integrand: (x: number) => number): number {
  const steps = 600
  const at = (step: number) => {
    const root = step / steps
    return integrand(from + (to - from) * root ** 3) * 3 * root ** 2
  }
  let sum = at(steps)
  for (let step = 1; step < steps; step++) sum += at(step) * (step % 2 === 1 ? 4 : 2)
  return (sum * (to - from)) / (3 * steps)
}

/**
 * The noncentrality (mean over its standard error) at which a one-sided t test has the power asked for.
 *
 * @param degrees - of freedom, 1 or more
 * @throws {BAD_OPTION} for degrees below 1 or chances that are not probabilities
 */
export function studentNoncentrality({
  degrees,
  alpha = ALPHA,
  power = POWER,
}: Chances & {degrees: number}): number {
  checkPower(power)
  const reaches = (noncentrality: number) => studentPower(noncentrality, degrees, alpha) >= power
  let high = 1
  while (!reaches(high)) high *= 2
  let low = 0
  // to a relative 1e-9, as accurate as the power is
  while (high - low > 1e-9 * high) {
    const middle = (low + high) / 2
    if (reaches(middle)) high = middle
    else low = middle
  }
  return high
}

/**
 * Least asymptotic efficiency of the signed-rank test relative to the t test, for any symmetric distribution (0.955 for the
 * normal, 1.9 for Student's t with 3 degrees of freedom).
 *
 * Source: Hodges and Lehmann 1956, "The efficiency of some nonparametric competitors of the t-test", Annals of
 * Mathematical Statistics 27, 324-335.
 */
export const LEAST_EFFICIENCY = 108 / 125

function checkPower(power: number): void {
  if (power > 0 && power <= MOST_POWER) return
  throw expected('BAD_OPTION', 'power, `power`', `a number between 0 and ${MOST_POWER}`, `${power}`)
}

/** What {@link pairsNeeded} plans for. */
interface PairsPower extends Chances {
  /** Mean difference over the standard deviation of the differences, as it truly is; positive. */
  effect: number
  /**
   * Default `signed-rank`: the number of the t test divided by {@link LEAST_EFFICIENCY}, and enough that `2^-n <=
   * alpha`.
   */
  test?: 'signed-rank' | 't'
}

/**
 * Pairs with which a one-sided paired test sees an effect: exact for the t test and normal differences, by asymptotic relative
 * efficiency for signed ranks. Two-sided: give half of alpha.
 *
 * @throws {BAD_OPTION} for an effect that is not positive, or chances that are not probabilities
 */
export function pairsNeeded({
  effect,
  test = 'signed-rank',
  alpha = ALPHA,
  power = POWER,
}: PairsPower): number {
  checkPower(power)
  if (!(effect > 0)) {
    throw expected('BAD_OPTION', 'power, `effect`', 'a positive number', String(effect))
  }
  const reaches = (pairs: number) =>
    studentPower(effect * Math.sqrt(pairs), pairs - 1, alpha) >= power
  let high = 2
  while (!reaches(high)) high *= 2
  let low = high / 2
  while (high - low > Math.max(1, 1e-12 * high)) {
    const middle = Math.floor((low + high) / 2)
    if (reaches(middle)) high = middle
    else low = middle
  }
  if (test === 't') return high
  return Math.max(Math.ceil(high / LEAST_EFFICIENCY), Math.ceil(-Math.log2(alpha)))
}
