/** Errors of candidates joined with their times. */
import type {Estimate} from '../stats/index.js'
import type {Candidate} from './candidates.js'
import type {Offer, Wish} from './recommend.js'
import type {Timed, Times} from './times.js'

/** What is measured of a layer, and for what it is asked. */
export interface LayerFacts {
  layer: number | null
  /** Candidates by the scale of queries and keys, 1 among them. */
  candidates: ReadonlyMap<number, readonly Candidate[]>
  times: Times
  /** L */
  length: number
  wish: Wish
  /** Errors are rel_l2, for which theory knows the M it takes. */
  predictable: boolean
}

/** A candidate with its time. */
export interface Joined {
  candidate: Candidate
  timed: Timed
  gain: Estimate
}

/** Candidates of a scale with their times; those of methods that could not be timed are left out. */
export function joinedAt({candidates, times, length}: LayerFacts, scale: number): Joined[] {
  return (candidates.get(scale) ?? []).flatMap(candidate => {
    const timed = times.at(candidate.cell, length)
    const gain = times.gain(candidate.cell, length)
    return timed && gain ? [{candidate, timed, gain}] : []
  })
}

/** What the rule sees of it. @param head - default: all */
export function offerOf({candidate, timed, gain}: Joined, head?: number): Offer {
  const {label, unfit, error, heads} = candidate
  const own = head === undefined ? error : heads[head]!
  return {label, error: own, time: timed.time, gain, unfit: unfit !== null}
}
