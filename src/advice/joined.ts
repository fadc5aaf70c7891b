/** Errors of candidates joined with their times. */
import type {InputStatistics} from '../inputs/statistics.js'
import type {Estimate} from '../stats/index.js'
import {type AdviceMetric, beatsMean, type Candidate} from './candidates.js'
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
  metric: AdviceMetric
  /** Mean entropy of the exact rows of each head and its maximum ln(keys in view), in nats. */
  entropies: readonly Pick<InputStatistics, 'entropy_nats' | 'max_entropy_nats'>[]
}

/**
 * Weights of uniform rows deviate from 1/n by at most this share of it, root mean square. To second order that square is twice
 * what the entropy lacks to ln(n).
 */
const UNIFORM = 0.1

/** Heads with nearly uniform attention. */
export function uniformHeads({entropies}: Pick<LayerFacts, 'entropies'>): number[] {
  return entropies.flatMap(({entropy_nats, max_entropy_nats}, head) =>
    2 * (max_entropy_nats - entropy_nats) <= UNIFORM ** 2 ? [head] : [],
  )
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
  const {label, unfit} = candidate
  return {
    label,
    error: errorOf(candidate, head),
    time: timed.time,
    gain,
    unfit: unfit !== null,
    beatsMean: isBetter(candidate, head),
  }
}

/** Its error. @param head - default: all */
export function errorOf({error, heads}: Candidate, head?: number): Estimate {
  return head === undefined ? error : heads[head]!
}

/** Whether it is better than averaging V for certain, or averages V. @param head - default: all */
export function isBetter(candidate: Candidate, head?: number): boolean {
  const {overMean, headsOverMean} = candidate
  return beatsMean(candidate, head === undefined ? overMean : headsOverMean[head]!)
}
