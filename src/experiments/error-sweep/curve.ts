/** The error of attention as a function of M, as far as it is known, and what is read from it. */

/** The error to report M for. */
const WANTED = 0.05

/** Every M of a curve: powers of two. */
export const COUNTS: readonly number[] = Array.from({length: 22}, (_, i) => 2 ** (i + 3))

/**
 * Why an error is not known: float32 cannot weigh the keys, or two seeds are too far apart, or errors rise with M, or denominators
 * of sines and cosines vary too much; or why there is no M for an error: there are no more proposals than tokens.
 */
export const UNKNOWN = ['overflow', 'uncertain', 'denominator', 'tokens'] as const
export type Unknown = (typeof UNKNOWN)[number]

/** The same in words. */
export const UNKNOWN_BECAUSE: Record<Unknown, string> = {
  overflow: 'logits overflow float32',
  uncertain: 'two seeds differ by more than 15 %, or errors rise with M',
  denominator: 'denominators vary by more than 30 % of their mean',
  tokens: 'there are no more proposals than tokens',
}

/** How many times as large as the other one of two predictions may be. */
export const APART = 1.15

/** Whether squared errors of two seeds agree. */
export function agree([one, other]: readonly number[]): boolean {
  return one === other || Math.abs(Math.log(one! / other!)) <= 2 * Math.log(APART)
}

/** rel_l2 at each of {@link COUNTS}; `null` where it is not known. */
export interface Curve {
  errors: readonly (number | null)[]
  /** Why any of them is `null`. */
  unknown: Unknown | null
  /** The largest M that there is, from which on errors stay: of proposals, the tokens. Default: there is none. */
  largest?: number
}

/** Of all heads together, and of each. */
export interface Curves {
  all: Curve
  perHead: Curve[]
  /** Mean over entries of the squared bias of outputs at each of {@link COUNTS}; `null` where it is not known. */
  biasSquared: readonly (number | null)[]
}

/** rel_l2, or what else falls by a power of M, at an M; `null` where it is not known, for fewer than curves begin with or more than they end with. */
export function errorAt(
  {errors, largest = Number.POSITIVE_INFINITY}: Pick<Curve, 'errors' | 'largest'>,
  numFeatures: number,
): number | null {
  const exponent = Math.log2(numFeatures) - Math.log2(COUNTS[0]!)
  // the last M that is drawn stands for the largest
  const at = numFeatures >= largest ? Math.ceil(exponent) : exponent
  if (at < 0 || at > COUNTS.length - 1) return null
  const before = Math.floor(at)
  const low = errors[before] ?? null
  const high = errors[Math.ceil(at)] ?? null
  if (low === null || high === null) return null
  return low === 0 || high === 0 ? low : low * (high / low) ** (at - before)
}

/**
 * The M at which rel_l2 comes down to {@link WANTED}: the measured error, carried on along the curve.
 *
 * @param measured - at `numFeatures`; `null`: the curve alone, as for fewer features than curves begin with
 * @returns `null` where that is beyond the curve, or beyond what is known of it
 */
export function neededFor(
  curve: Curve,
  numFeatures: number,
  measured: number | null,
): {needed: number | null; unknown: Unknown | null} {
  const predicted = errorAt(curve, numFeatures)
  if (predicted === null && numFeatures >= COUNTS[0]!) {
    return {needed: null, unknown: curve.unknown}
  }
  const factor = measured && predicted ? measured / predicted : 1
  const errors = curve.errors.map(error => error && factor * error)
  // of few features less may be known than of many
  const first = errors.findIndex(error => error !== null)
  const at = errors.findIndex((error, i) => i >= first && (error === null || error <= WANTED))
  if (at < 0) return {needed: null, unknown: curve.largest === undefined ? null : 'tokens'}
  const low = errors[at]!
  if (low === null || (at === first && first > 0)) return {needed: null, unknown: curve.unknown}
  if (at === 0) return {needed: COUNTS[0]!, unknown: null}
  const high = errors[at - 1]!
  const share = low === 0 ? 1 : Math.log(high / WANTED) / Math.log(high / low)
  const needed = Math.ceil(COUNTS[at - 1]! * 2 ** share)
  return {needed: Math.min(needed, curve.largest ?? needed), unknown: null}
}
