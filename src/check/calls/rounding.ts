/**
 * Float32 rounding bounds that are computed from a case's data, never tuned.
 *
 * Notation: u = 2^-24, the unit roundoff of float32. A sum of n products, in any order of summation
 * and with or without fused multiply-adds, is off by at most `n u sum|a_i b_i|` to first order
 * (Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1). The exponential turns
 * an absolute error of its argument into a relative error of its value. A ratio of two sums inherits
 * the error of the summed magnitudes divided by the denominator, so signed weights enter with
 * `sum|w| / |sum w|`, which may be infinite.
 */

/** Unit roundoff of float32. */
export const U = 2 ** -24

/**
 * Rounding errors charged to one call of exp, log, sin or cos, in units of u relative to the value:
 * correctly rounded libraries need 1, vectorised ones state up to 3 ulp, that is 6.
 */
export const ELEMENTARY = 6

/** Products and sums below the smallest normal float32 may be flushed to zero. */
export const TINY = 2 ** -126

/** The largest finite float32; beyond it a float32 form says nothing. */
export const HUGE = (2 - 2 ** -23) * 2 ** 127

/** Values in double precision and how far a float32 evaluation may be from each. */
export interface Bounded {
  value: Float64Array
  /** Absolute; Infinity where float32 decides nothing. */
  error: Float64Array
}

export function bounded(length: number): Bounded {
  return {value: new Float64Array(length), error: new Float64Array(length)}
}

/** Relative first-order bound of `terms` roundings, without the first-order approximation. */
export function gamma(terms: number): number {
  return (terms * U) / (1 - terms * U)
}

/** What a comparison found, in words and numbers. */
export interface Comparison {
  /** Every element is finite and within its bound. */
  ok: boolean
  /** Largest error divided by its bound, over elements with a finite bound. */
  worstRatio: number
  /** Elements with a finite bound. */
  decidable: number
  report: string
}

/**
 * Compares element by element with per-element bounds.
 *
 * @param actual - float32 results
 * @param expected - what they should be
 * @param bound - allowed absolute difference of each element
 */
export function compare(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  bound: ArrayLike<number>,
): Comparison {
  if (actual.length !== expected.length || bound.length !== expected.length) {
    const report = `expected ${expected.length} elements, got ${actual.length}`
    return {ok: false, worstRatio: Infinity, decidable: 0, report}
  }
  let worstRatio = 0
  let worst = 0
  let decidable = 0
  for (let i = 0; i < expected.length; i++) {
    if (bound[i] === Infinity) continue
    decidable++
    const difference = Math.abs(actual[i]! - expected[i]!)
    const ratio = difference === 0 ? 0 : difference / bound[i]!
    if (ratio <= worstRatio) continue // a NaN goes on
    worst = i
    worstRatio = Number.isNaN(ratio) ? Infinity : ratio
    if (Number.isNaN(ratio)) break
  }
  const difference = Math.abs(actual[worst]! - expected[worst]!)
  const report =
    `observed maximum ${difference}, bound ${bound[worst]} (ratio ${worstRatio}) at element ${worst}: ` +
    `got ${actual[worst]}, expected ${expected[worst]}; ${decidable} of ${expected.length} elements decidable`
  return {ok: worstRatio <= 1, worstRatio, decidable, report}
}

/** The same bound for every element. */
export function constantBound(length: number, bound: number): Float64Array {
  return new Float64Array(length).fill(bound)
}

/** Elementwise sum of bounds, for results that are each within one of a third. */
export function addBounds(a: ArrayLike<number>, b: ArrayLike<number>): Float64Array {
  return Float64Array.from({length: a.length}, (_, i) => a[i]! + b[i]!)
}

export function maxAbs(values: ArrayLike<number>): number {
  let largest = 0
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i]!))
  return largest
}
