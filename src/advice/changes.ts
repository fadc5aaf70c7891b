/** What would change the advice on a layer, in numbers and sentences. */
import {UNKNOWN_BECAUSE} from '../experiments/error-sweep/curve.js'
import {roundNumber} from '../report/numbers.js'
import type {Candidate} from './candidates.js'
import {type Joined, joinedAt, type LayerFacts, offerOf} from './joined.js'
import {
  type Choice,
  choose,
  isAccurate,
  isFaster,
  isWithinBudget,
  mostAccurate,
  type Obstacle,
  type Offer,
  type Wish,
} from './recommend.js'
import type {AdviceChange} from './schema.js'
import type {Variant} from './times.js'
import {errorText, exactError, isUnsettled, lengthText, speedText} from './words.js'

/** Nothing is asked to change where there is a recommendation. */
export function changesOf(
  facts: LayerFacts,
  joined: readonly Joined[],
  picked: Choice,
): AdviceChange[] {
  if ('offer' in picked) return []
  const asked = picked.obstacle === 'error' && facts.metric === 'rel_l2'
  const features = asked ? moreFeatures(facts) : undefined
  return [
    ...(features ? [features.change] : []),
    ...(asked && !features ? [noFeatures(facts)] : []),
    longerInput(facts, joined, {obstacle: picked.obstacle, needed: features?.variant}),
    looserTolerance(facts, joined),
    ...smallerNorms(facts),
  ]
}

/** Candidates with an M and reliable estimates, at the largest M of each method; those that learned have learned for one M. */
function extensible({candidates}: LayerFacts): Candidate[] {
  const drawn = candidates.get(1)?.filter(({cell}) => !cell.tuned) ?? []
  return largestOfEach(drawn).filter(({unfit, cell}) => !unfit && cell.num_features !== null)
}

/** Why no M is named: no M up to 16 million reaches 5 %, and so no smaller error either, or none is known. */
function noFeatures(facts: LayerFacts): AdviceChange {
  const {wish, metric} = facts
  const asked = exactError(metric, wish.tolerance)
  const able = extensible(facts)
  const beyond = able.filter(
    one =>
      one.predicted &&
      !one.ofSequence &&
      one.predictionUnknown === null &&
      neededOf(one, wish.tolerance) === null,
  )
  const names = beyond.map(({cell}) => cell.method)
  const reasons = able.flatMap(({predictionUnknown}) => predictionUnknown ?? [])
  const why = reasons.find(reason => reason !== 'tokens') ?? reasons[0]
  const because = why ? `: ${UNKNOWN_BECAUSE[why]}` : ''
  if (names.length > 0 && wish.tolerance <= KNOWN) {
    const statement = `Predicted for ${names.join(', ')}: no M up to 16 million reaches ${asked}.`
    return nothing('features', statement, 'M up to 16 million')
  }
  return nothing('features', `The M that would reach ${asked} is not predicted here${because}.`)
}

/** Nothing that helps. @param ruledOut - what is known not to help. Default: that is not known */
function nothing(
  kind: AdviceChange['kind'],
  statement: string,
  ruledOut: string | null = null,
): AdviceChange {
  return {kind, candidate: null, value: null, statement, ruled_out: ruledOut}
}

/** A candidate at an M that was not measured. */
interface Needed {
  variant: Variant
  change: AdviceChange
}

/** The M that a tolerance takes, as far as it is predicted. */
function neededOf(candidate: Candidate, tolerance: number): number | null {
  const {error, cell, featuresForFivePercent, ofSequence} = candidate
  // there are no more proposals than tokens, and no law for smaller errors
  if (ofSequence && tolerance < KNOWN) return null
  const measured = {numFeatures: cell.num_features!, error: error.value}
  return neededFeatures(measured, featuresForFivePercent, tolerance)
}

/** The M with which a method would be accurate: of all methods the one that is then the fastest. */
function moreFeatures(facts: LayerFacts): Needed | undefined {
  const {times, length, wish, metric} = facts
  const found = extensible(facts).flatMap(candidate => {
    const needed = neededOf(candidate, wish.tolerance)
    if (needed === null) return []
    const variant = {...candidate.cell, num_features: needed}
    const gain = times.gain(variant, length)
    return gain ? [{variant, needed, gain}] : []
  })
  if (found.length === 0) return undefined
  const {variant, needed, gain} = found.reduce((a, b) => (b.gain.value > a.gain.value ? b : a))
  const sure = isUnsettled(gain) ? 'predicted, unsettled' : 'predicted'
  const statement = `About ${neededLabel(variant)} would reach ${exactError(metric, wish.tolerance)} (predicted), ${speedText(gain)} as fast as exact attention at L=${length} (${sure}).`
  const change: AdviceChange = {
    kind: 'features',
    candidate: variant.method,
    value: needed,
    statement,
    ruled_out: null,
  }
  return {variant, change}
}

/** Each method at its largest M. */
function largestOfEach(candidates: readonly Candidate[]): Candidate[] {
  const largest = new Map<string, Candidate>()
  for (const candidate of candidates) {
    const before = largest.get(candidate.cell.method)
    const count = candidate.cell.num_features ?? 0
    if (!before || count > (before.cell.num_features ?? 0)) {
      largest.set(candidate.cell.method, candidate)
    }
  }
  return [...largest.values()]
}

/** The length from which what is accurate, or would be, is faster. */
function longerInput(
  {times, wish}: LayerFacts,
  joined: readonly Joined[],
  {obstacle, needed}: {obstacle: Obstacle; needed: Variant | undefined},
): AdviceChange {
  const accurate = joined.filter(one => {
    const offer = offerOf(one)
    return isAccurate(offer, wish) && offer.beatsMean && !one.candidate.ofSequence
  })
  const tried = [
    ...accurate.map(({candidate: {label, cell}}) => ({label, variant: cell})),
    ...(needed ? [{label: neededLabel(needed), variant: needed}] : []),
  ]
  const found = tried.flatMap(({label, variant}) => {
    const from = times.crossover(variant)
    return from ? [{label, from}] : []
  })
  if (found.length === 0) {
    if (tried.length > 0) {
      const slow =
        'Longer inputs do not help: what is accurate enough is not faster within 4 million tokens.'
      return nothing('length', slow, 'length up to 4 million')
    }
    return obstacle === 'error'
      ? nothing(
          'length',
          'Longer inputs do not help: no method is accurate enough.',
          'longer input',
        )
      : nothing(
          'length',
          'Whether longer inputs help is not known: what is accurate here is no better than averaging V, or its error depends on the length.',
        )
  }
  const {label, from} = found.reduce((a, b) => (b.from.value < a.from.value ? b : a))
  const statement = `${label} would be faster from L=${lengthText(from)} on, if its error stays the same.`
  return {kind: 'length', candidate: label, value: from.value, statement, ruled_out: null}
}

/** `sderf M=550,000`: two digits of M, as more are not predicted. */
function neededLabel({method, num_features}: Variant): string {
  return `${method} M=${roundNumber(Math.log10(num_features!))}`
}

/** Largest error that is offered as a tolerance: beyond it more than half of the output is lost. */
const USABLE = 0.5

function looserTolerance({wish, metric}: LayerFacts, joined: readonly Joined[]): AdviceChange {
  const offers = joined.map(one => offerOf(one))
  const best = nearestInError(offers, wish)
  if (!best) {
    const within = wish.budget === null ? '' : ' and within the budget'
    const statement = `A looser tolerance does not help: nothing better than averaging V is faster${within} for certain.`
    return nothing('tolerance', statement, 'looser tolerance')
  }
  const value = roundedUp(best.error.high)
  if (value > USABLE && wish.tolerance < USABLE) {
    const most = exactError(metric, USABLE)
    const statement = `A tolerance of up to ${most} does not help: the lowest error of what is faster is ${errorText(metric, best.error)}.`
    return nothing('tolerance', statement, `tolerance up to ${most}`)
  }
  const statement = `With a tolerance of ${exactError(metric, value)}, ${best.label} would qualify.`
  return {kind: 'tolerance', candidate: best.label, value, statement, ruled_out: null}
}

/** Rounded up to three digits, so that the printed tolerance is met when typed. */
function roundedUp(value: number): number {
  const step = 10 ** (Math.floor(Math.log10(value)) - 2)
  return Number((Math.ceil(value / step) * step).toPrecision(3))
}

/** Nothing where no smaller norms were measured. */
function smallerNorms(facts: LayerFacts): AdviceChange[] {
  const {metric, wish} = facts
  const scales = [...facts.candidates.keys()].filter(scale => scale < 1)
  if (scales.length === 0) return []
  const choices = new Map(
    scales.map(scale => {
      const offers = joinedAt(facts, scale).map(one => offerOf(one))
      return [scale, choose(offers, wish)] as const
    }),
  )
  const found = largestScale(choices)
  if (!found) {
    const statement = `Smaller norms do not help: nothing qualifies with queries and keys times ${scales.join(' or ')} either (measured).`
    return [nothing('norms', statement, `factor on the norms down to ${Math.min(...scales)}`)]
  }
  const {scale, offer} = found
  const statement = `With queries and keys times ${scale}, ${offer.label} would qualify, ${errorText(metric, offer.error)} off (measured).`
  return [{kind: 'norms', candidate: offer.label, value: scale, statement, ruled_out: null}]
}

/** An error that was measured at an M, or is expected there. */
interface ErrorPoint {
  numFeatures: number
  error: number
}

/** The error that records say the M of. */
const KNOWN = 0.05
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
