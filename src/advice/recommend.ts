/** Which candidate to take, or why none. */
import {byInterval, isWithin} from '../answers/index.js'
import type {Estimate} from '../stats/index.js'

/** A candidate as the rule sees it, of one head or of all. */
export interface Offer {
  label: string
  error: Estimate
  /** Of all heads, in ns. */
  time: Estimate
  /** Times faster than the faster exact form. */
  gain: Estimate
  /** One call of it cannot be relied on. */
  unfit: boolean
  /** Its error is lower than that of averaging V for certain; averaging V itself counts. */
  beatsMean: boolean
}

/** What is asked of a candidate. */
export interface Wish {
  /** Largest error, in the metric of the offers. */
  tolerance: number
  /** Longest time of a call, in ns; `null`: any. */
  budget: number | null
}

/**
 * Why there is none:
 * - `error`: none is as accurate as asked for
 * - `mean`: what is, is not better than averaging V for certain
 * - `time`: what is, is not faster than exact attention for certain
 * - `budget`: what is that, too, takes longer than the budget
 */
export const OBSTACLES = ['error', 'mean', 'time', 'budget'] as const
export type Obstacle = (typeof OBSTACLES)[number]

/** What to take; or why nothing, with the nearest to it: of lowest error under `error`, else the fastest. */
export type Choice = {offer: Offer} | {obstacle: Obstacle; nearest?: Offer}

/** Whether the error is within the tolerance for certain: the upper end of its interval is. */
export function isAccurate({error, unfit}: Offer, {tolerance}: Wish): boolean {
  return !unfit && isWithin(error, tolerance)
}

/** Whether it is faster than exact attention for certain. */
export function isFaster({gain}: Pick<Offer, 'gain'>): boolean {
  return byInterval(gain) === 'more'
}

export function isWithinBudget({time}: Offer, {budget}: Wish): boolean {
  return budget === null || isWithin(time, budget)
}

/**
 * The fastest of those that are accurate, better than averaging V, faster than exact attention and within the budget, each
 * for certain.
 */
export function choose(offers: readonly Offer[], wish: Wish): Choice {
  const sound = offers.filter(({unfit, error}) => !unfit && Number.isFinite(error.high))
  let left = sound
  for (const [obstacle, meets] of conditions(wish)) {
    const next = left.filter(meets)
    if (next.length === 0) {
      const nearest = obstacle === 'error' ? nearestOf(sound) : fastest(left)
      return {obstacle, ...(nearest && {nearest})}
    }
    left = next
  }
  return {offer: fastest(left)!}
}

/** What an offer has to meet, one after the other. */
function conditions(wish: Wish): [Obstacle, (offer: Offer) => boolean][] {
  return [
    ['error', offer => isAccurate(offer, wish)],
    ['mean', ({beatsMean}) => beatsMean],
    ['time', isFaster],
    ['budget', offer => isWithinBudget(offer, wish)],
  ]
}

/** The offer of lowest error, by its upper end, among those that are better than averaging V, or that itself. */
export function mostAccurate(offers: readonly Offer[]): Offer | undefined {
  const able = offers.filter(({beatsMean}) => beatsMean)
  return least(able, ({error}) => error.high)
}

/** The offer of lowest error among those that are better than averaging V, or that itself. */
function nearestOf(offers: readonly Offer[]): Offer | undefined {
  const able = offers.filter(({beatsMean}) => beatsMean)
  return least(able, ({error}) => error.value)
}

function fastest(offers: readonly Offer[]): Offer | undefined {
  return least(offers, ({time}) => time.value)
}

function least(offers: readonly Offer[], number: (offer: Offer) => number): Offer | undefined {
  return offers.reduce<Offer | undefined>(
    (best, offer) => (best && number(best) <= number(offer) ? best : offer),
    undefined,
  )
}
