/** The error of attention as a function of M, as far as it is known, and what is read from it. */

/** The error to report M for. */
const WANTED = 0.05

/** Every M of a curve: powers of two. */
export const COUNTS: readonly number[] = Array.from({length: 22}, (_, i) => 2 ** (i + 3))

/**
 * Why an error is not known: float32 cannot weigh the keys, or two seeds are too far apart, or errors rise with M, or denominators
 * of sines and cosines vary too much; or why there is no M for an error: there are no more proposals than tokens; or `not_asked`: the plan has no predictions.
 */
export const UNKNOWN = ['overflow', 'uncertain', 'denominator', 'tokens', 'not_asked'] as const
export type Unknown = (typeof UNKNOWN)[number]

/** The same in words. */
export const UNKNOWN_BECAUSE: Record<Unknown, string> = {
  overflow: 'logits overflow float32',
  uncertain: 'two seeds differ by more than 15 %, or errors rise with M',
  denominator: 'denominators vary by more than 30 % of their mean',
  tokens: 'there are no more proposals than tokens',
  not_asked: 'the run was not asked for predictions',
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
  /** The largest M that was drawn; beyond it the curve goes on by theory. Default: every M was. */
  drawn?: number
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

/** A number and the ends between which it lies; `null`: an end that is not known. */
export interface Ranged {
  value: number
  low: number | null
  high: number | null
}

/** M from which on draws are enough for theory to go on from: from fewer its errors were up to a fifth too low. */
export const FAR = 4096

/**
 * How many times as large, or as small, an error of a curve may be: {@link APART}, as two seeds may differ; twice that where theory
 * goes on from fewer than {@link FAR} random vectors.
 */
function spreadAt({drawn = Number.POSITIVE_INFINITY}: Curve, numFeatures: number): number {
  return numFeatures <= drawn || drawn >= FAR ? APART : APART ** 2
}

/**
 * The curve through a measured error: that counts in full up to its own M, and less and less up to {@link FAR}, where it is the draws that
 * count, as a median of few replicates at a small M has more noise than they.
 *
 * @param measured - at `numFeatures`; `null`: the curve alone
 */
function tied(curve: Curve, numFeatures: number, measured: number | null): Curve['errors'] {
  const predicted = errorAt(curve, numFeatures)
  const factor = measured && predicted ? measured / predicted : 1
  const share = (count: number) => {
    if (numFeatures >= FAR || count <= numFeatures) return 1
    return Math.max(0, Math.log(FAR / count) / Math.log(FAR / numFeatures))
  }
  return curve.errors.map((error, k) => error && error * factor ** share(COUNTS[k]!))
}

/** The M at which rel_l2 comes down to {@link WANTED}, and why there is none. */
interface Needed {
  needed: number | null
  /** Ends of the interval of that M; `null` where they are not known. */
  low: number | null
  high: number | null
  unknown: Unknown | null
}

/**
 * The M at which rel_l2 comes down to {@link WANTED}: the measured error, carried on along the curve.
 *
 * @param measured - at `numFeatures`; `null`: the curve alone, as for fewer features than curves begin with
 * @returns `null` where that is beyond the curve, or beyond what is known of it
 */
export function neededFor(curve: Curve, numFeatures: number, measured: number | null): Needed {
  const none = {needed: null, low: null, high: null}
  if (errorAt(curve, numFeatures) === null && numFeatures >= COUNTS[0]!) {
    return {...none, unknown: curve.unknown}
  }
  const errors = tied(curve, numFeatures, measured)
  const {needed, unknown} = crossing(curve, errors)
  if (needed === null) return {...none, unknown}
  const spread = spreadAt(curve, needed)
  const end = (factor: number) =>
    crossing(
      curve,
      errors.map(error => error && factor * error),
    ).needed
  return {needed, low: end(1 / spread), high: end(spread), unknown}
}

/** Where errors come down to {@link WANTED}. */
function crossing(curve: Curve, errors: Curve['errors']): Pick<Needed, 'needed' | 'unknown'> {
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

/**
 * The error at the largest M that was drawn: where errors do not come down, theory takes them down too early.
 *
 * @returns `undefined` where that does not exceed the M that was measured, or there is a largest M
 */
export function lastError(
  curve: Curve,
  numFeatures: number,
  measured: number | null,
): {numFeatures: number; error: Ranged} | undefined {
  const errors = tied(curve, numFeatures, measured)
  const {drawn = Number.POSITIVE_INFINITY} = curve
  const at = errors.findLastIndex((error, k) => error !== null && COUNTS[k]! <= drawn)
  const count = COUNTS[at] ?? 0
  if (curve.largest !== undefined || count <= numFeatures) return undefined
  const value = errors[at]!
  return {numFeatures: count, error: {value, low: value / APART, high: value * APART}}
}
