/**
 * Tails of the distributions that tests refer to. Upper tails are computed as such, never as one minus a lower one, so
 * that p-values keep their digits: relative error below 2e-11 for tails down to 1e-30 and up to 10,000 degrees of freedom.
 * `NaN` of a `NaN`.
 */
import {expected} from '../errors.js'
import {cephes} from './cephes.js'

/** P(Z <= z) of a standard normal Z. The upper tail is `normalCdf(-z)`. */
export function normalCdf(z: number): number {
  // below the smallest double; see cephes
  if (z < -37) return 0
  return z > 37 ? 1 : cephes('erfc', -z / Math.SQRT2) / 2
}

/**
 * P(T > t) of Student's t. The lower tail is `studentTail(-t, degrees)`.
 *
 * Source: Abramowitz and Stegun 1964, eq. 26.7.1 and 26.5.27.
 *
 * @param degrees - of freedom, positive, need not be whole; infinite ones give the normal distribution
 * @throws {BAD_OPTION} without degrees of freedom
 */
export function studentTail(t: number, degrees: number): number {
  checkDegrees(degrees)
  if (Number.isNaN(t)) return t
  if (t < 0) return 1 - studentTail(-t, degrees)
  if (degrees === Number.POSITIVE_INFINITY || t === Number.POSITIVE_INFINITY) return normalCdf(-t)
  const square = t * t
  // the share of t^2 in df + t^2 keeps the digits of a small t, the share of df those of a small tail
  if (square < 1) return 0.5 - cephes('incbet', 0.5, degrees / 2, square / (degrees + square)) / 2
  return cephes('incbet', degrees / 2, 0.5, degrees / (degrees + square)) / 2
}

/**
 * Quantile of Student's t, to the last bits that {@link studentTail} has: by halving, as the inverse incomplete beta
 * function of Cephes is wrong far out.
 *
 * Near `p = 1` the argument itself has lost its digits: ask for `-studentQuantile(1 - p, degrees)` instead.
 *
 * @param p - probability below the quantile
 * @param degrees - of freedom, positive
 * @returns `-Infinity` at 0, `Infinity` at 1, `NaN` outside [0, 1]
 * @throws {BAD_OPTION} without degrees of freedom
 */
export function studentQuantile(p: number, degrees: number): number {
  checkDegrees(degrees)
  if (!(p >= 0 && p <= 1)) return Number.NaN
  const tail = Math.min(p, 1 - p)
  const sign = Math.sign(p - 0.5)
  if (sign === 0 || tail === 0) return sign === 0 ? 0 : sign * Number.POSITIVE_INFINITY
  let high = 1
  while (studentTail(high, degrees) > tail) high *= 2
  let low = high > 1 ? high / 2 : 0
  for (;;) {
    const middle = (low + high) / 2
    if (middle <= low || middle >= high) return sign * middle
    if (studentTail(middle, degrees) > tail) low = middle
    else high = middle
  }
}

function checkDegrees(degrees: number): void {
  if (degrees > 0) return
  const what = 'a positive number of degrees of freedom'
  throw expected('BAD_OPTION', 'Student t', what, String(degrees))
}
