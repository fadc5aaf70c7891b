/** Which candidate to take, or why none. */
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
 * - `time`: what is, is not faster than exact attention for certain
 * - `budget`: what is that, too, takes longer than the budget
 */
export type Obstacle = 'error' | 'time' | 'budget'

export type Choice = {offer: Offer} | {obstacle: Obstacle}

/** Whether the error is within the tolerance for certain: the upper end of its interval is. */
export function isAccurate({error, unfit}: Offer, {tolerance}: Wish): boolean {
  return !unfit && error.high <= tolerance
}

/** Whether it is faster than exact attention for certain. */
export function isFaster({gain}: Offer): boolean {
  return gain.low > 1
}

export function isWithinBudget({time}: Offer, {budget}: Wish): boolean {
  return budget === null || time.high <= budget
}

/** The fastest of those that are accurate, faster than exact attention and within the budget, each for certain. */
export function choose(offers: readonly Offer[], wish: Wish): Choice {
  const accurate = offers.filter(offer => isAccurate(offer, wish))
  if (accurate.length === 0) return {obstacle: 'error'}
  const faster = accurate.filter(isFaster)
  if (faster.length === 0) return {obstacle: 'time'}
  const affordable = faster.filter(offer => isWithinBudget(offer, wish))
  if (affordable.length === 0) return {obstacle: 'budget'}
  return {offer: affordable.reduce((a, b) => (b.time.value < a.time.value ? b : a))}
}
