/**
 * Statistics of a sample. All are `NaN` for an empty sample and for one that holds `NaN`: what could
 * not be computed is never passed off as a number. Files hold `null` instead; see `summarise`.
 */

/**
 * Arithmetic mean, with one correction pass so that a large common offset costs no digits.
 *
 * Infinite when a value is infinite (`NaN` when both signs occur).
 */
export function mean(values: ArrayLike<number>): number {
  const length = values.length
  let sum = 0
  for (let i = 0; i < length; i++) sum += values[i]!
  const first = sum / length
  if (!Number.isFinite(first)) return first
  let rest = 0
  for (let i = 0; i < length; i++) rest += values[i]! - first
  return first + rest / length
}

/** Arithmetic mean of values that count as often as their weights say. */
export function weightedMean(values: ArrayLike<number>, weights: ArrayLike<number>): number {
  const average = mean(weights)
  return mean(Array.from(values, (value, at) => (weights[at]! / average) * value))
}

/**
 * Unbiased sample variance: squared deviations over `n - 1`. `NaN` below two values.
 *
 * Two passes with the compensation term of Chan, Golub and LeVeque 1983 ("Algorithms for computing
 * the sample variance", eq. 1.7), so that a large mean costs no digits.
 */
export function variance(values: ArrayLike<number>): number {
  const length = values.length
  if (length < 2) return Number.NaN
  const center = mean(values)
  let squares = 0
  let deviations = 0
  for (let i = 0; i < length; i++) {
    const deviation = values[i]! - center
    squares += deviation * deviation
    deviations += deviation
  }
  return (squares - (deviations * deviations) / length) / (length - 1)
}

/** Middle value, or the mean of the two middle values. */
export function median(values: ArrayLike<number>): number {
  return quantile(values, 0.5)
}

/**
 * Sample quantile, linear between order statistics: type 7 of Hyndman and Fan 1996, the default of
 * R and NumPy.
 *
 * @param values - any order; not changed. Infinities sort to the ends
 * @param p - from 0 (minimum) to 1 (maximum)
 */
export function quantile(values: ArrayLike<number>, p: number): number {
  return quantileOfSorted(Float64Array.from(values).sort(), p)
}

/** {@link quantile} of values that are sorted already, ascending, `NaN` last. */
export function quantileOfSorted(sorted: Float64Array, p: number): number {
  const last = sorted.length - 1
  if (last < 0 || Number.isNaN(sorted[last])) return Number.NaN
  const position = p * last
  const index = Math.floor(position)
  const share = position - index
  const low = sorted[index]!
  const high = sorted[Math.min(index + 1, last)]!
  // equal neighbours and exact positions need no arithmetic: 0 * Infinity would be NaN
  if (share === 0 || low === high) return low
  return (1 - share) * low + share * high
}

/** Values outside Tukey's fences: mild ones lie 1.5 to 3 interquartile ranges outside the quartiles, severe ones further. */
export interface Outliers {
  lowSevere: number
  lowMild: number
  highMild: number
  highSevere: number
  /** On either side. */
  mild: number
  severe: number
}

/**
 * How many values lie outside the fences of Tukey 1977, section 2D. They are counted, never removed. Of normal values 0.7 %
 * do, and 2 in a million severely.
 */
export function tukeyOutliers(values: ArrayLike<number>): Outliers {
  const sorted = Float64Array.from(values).sort()
  const q1 = quantileOfSorted(sorted, 0.25)
  const q3 = quantileOfSorted(sorted, 0.75)
  const range = q3 - q1
  const below = (ranges: number) => sorted.filter(value => value < q1 - ranges * range).length
  const above = (ranges: number) => sorted.filter(value => value > q3 + ranges * range).length
  const [lowSevere, highSevere] = [below(3), above(3)]
  const [lowMild, highMild] = [below(1.5) - lowSevere, above(1.5) - highSevere]
  const sides = {lowSevere, lowMild, highMild, highSevere}
  return {...sides, mild: lowMild + highMild, severe: lowSevere + highSevere}
}
