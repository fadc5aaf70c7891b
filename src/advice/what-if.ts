/** What would change an advice: more features, a looser tolerance, a longer input, smaller norms. */
import {
  type Choice,
  isFaster,
  isWithinBudget,
  mostAccurate,
  type Offer,
  type Wish,
} from './recommend.js'

/** An error that was measured at an M, or is expected there. */
export interface ErrorPoint {
  numFeatures: number
  error: number
}

/** The error that records say the M of. */
export const KNOWN = 0.05
/** Largest M that is looked for. */
const MOST_FEATURES = 2 ** 24

/**
 * The M that an error takes, beyond those that were measured. Between the largest of them and the M for 5 % the error is a
 * power of M; beyond both it falls like 1/sqrt(M), as that of a mean of M independent rows.
 *
 * @param measured - at the largest M
 * @param forFivePercent - M for rel_l2 of 0.05; `null`: not known, and nothing is
 * @returns `null` where it is not known, beyond {@link MOST_FEATURES}, or the error does not fall between the two
 */
export function neededFeatures(
  measured: ErrorPoint,
  forFivePercent: number | null,
  tolerance: number,
): number | null {
  if (forFivePercent === null) return null
  const known = {numFeatures: forFivePercent, error: KNOWN}
  const upTo = (count: number) => (count <= MOST_FEATURES ? Math.ceil(count) : null)
  if (tolerance <= KNOWN) return upTo(known.numFeatures * (KNOWN / tolerance) ** 2)
  if (known.numFeatures <= measured.numFeatures || measured.error <= tolerance) return null
  const slope =
    Math.log(known.error / measured.error) / Math.log(known.numFeatures / measured.numFeatures)
  return upTo(measured.numFeatures * (tolerance / measured.error) ** (1 / slope))
}

/** The offer of lowest error among those that are faster than exact attention, within the budget and better than averaging V. */
export function nearestInError(offers: readonly Offer[], wish: Wish): Offer | undefined {
  return mostAccurate(
    offers.filter(
      offer =>
        !offer.unfit &&
        Number.isFinite(offer.error.high) &&
        isFaster(offer) &&
        isWithinBudget(offer, wish),
    ),
  )
}

/** The largest scale of queries and keys at which there is a recommendation. */
export function largestScale(
  choices: ReadonlyMap<number, Choice>,
): {scale: number; offer: Offer} | undefined {
  const found = [...choices].flatMap(([scale, choice]) =>
    'offer' in choice ? [{scale, offer: choice.offer}] : [],
  )
  return found.sort((a, b) => b.scale - a.scale)[0]
}
