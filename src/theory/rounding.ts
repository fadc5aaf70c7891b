/** Unit roundoff of float32: half the distance from 1 to the next larger number. */
export const FLOAT32_ROUNDOFF = 2 ** -24

/** What the rounding error of one attention output depends on. */
export interface RoundingFactors {
  /** Terms summed on the way from inputs to output: D for projections, F for features, S for keys. */
  terms: number
  /** Largest |argument| that passes through exp, sin or cos: their relative error grows with it. */
  argument: number
  /** sum |w_j| / |sum w_j| of the weights of a row: 1 for non-negative weights. */
  condition: number
  /** Largest |value|. */
  magnitude: number
}

/**
 * Bound on the absolute error of an attention output computed in float32, against exact arithmetic.
 *
 * A sum of n terms has an error of at most `n u sum|terms|` (any order); an argument a of exp has one of `n u |a|`,
 * which exp turns into a relative error of the weight, so numerator and denominator each carry `n u (1 + |a|)
 * sum|w|`, and their quotient twice that times `sum|w| / |sum w|`, times |v|.
 *
 * Source: Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1.
 */
export function attentionRoundingBound(factors: RoundingFactors): number {
  const {terms, argument, condition, magnitude} = factors
  return 2 * terms * FLOAT32_ROUNDOFF * (1 + argument) * condition * magnitude
}

/**
 * Mean squared error that float32 alone can make in an average of values: a sum of n terms has an error of about
 * `sqrt(n) u sum|terms|`, so an average has `sqrt(n) u` times the size of the values. Outputs this close are not
 * distinguishable.
 *
 * Source: Higham and Mary 2019, "A new approach to probabilistic rounding error analysis", Theorem 3.1,
 * without its constant.
 *
 * @param values - all that is averaged, e.g. V; finite
 * @param terms - how many values enter one average
 */
export function averageRoundingMse(values: ArrayLike<number>, terms: number): number {
  let squares = 0
  for (let i = 0; i < values.length; i++) squares += values[i]! * values[i]!
  return (terms * FLOAT32_ROUNDOFF ** 2 * squares) / values.length
}
