/** What would change the advice on a layer, in numbers and sentences. */
import {significant} from '../report/numbers.js'
import type {Estimate} from '../stats/index.js'
import type {Candidate} from './candidates.js'
import {type Joined, joinedAt, type LayerFacts, offerOf} from './joined.js'
import {type Choice, choose, isAccurate} from './recommend.js'
import type {AdviceChange} from './schema.js'
import type {Variant} from './times.js'
import {largestScale, nearestInError, neededFeatures} from './what-if.js'

/** Nothing is asked to change where there is a recommendation. */
export function changesOf(
  facts: LayerFacts,
  joined: readonly Joined[],
  picked: Choice,
): AdviceChange[] {
  if ('offer' in picked) return []
  const features = picked.obstacle === 'error' ? moreFeatures(facts) : undefined
  const short = picked.obstacle === 'error' && facts.predictable && !features
  return [
    ...(features ? [features.change] : []),
    ...(short ? [NO_FEATURES] : []),
    longerInput(facts, joined, features?.variant),
    looserTolerance(facts, joined),
    smallerNorms(facts),
  ]
}

/** Where theory knows no M. */
const NO_FEATURES: AdviceChange = {
  kind: 'features',
  candidate: null,
  value: null,
  statement: 'more features: theory knows of no M up to 16 million for an error of 0.05',
}

/** A candidate at an M that was not measured. */
interface Needed {
  variant: Variant
  change: AdviceChange
}

/** The M with which a method would be accurate: of all methods the one that is then the fastest. */
function moreFeatures(facts: LayerFacts): Needed | undefined {
  const {times, length, wish, predictable} = facts
  if (!predictable) return undefined
  const found = largestOfEach(facts.candidates.get(1) ?? []).flatMap(candidate => {
    const {error, cell, featuresForFivePercent, unfit} = candidate
    if (unfit || cell.num_features === null) return []
    const measured = {numFeatures: cell.num_features, error: error.value}
    const needed = neededFeatures(measured, featuresForFivePercent, wish.tolerance)
    if (needed === null) return []
    const variant = {...cell, num_features: needed}
    const gain = times.gain(variant, length)
    return gain ? [{variant, needed, gain}] : []
  })
  if (found.length === 0) return undefined
  const {variant, needed, gain} = found.reduce((a, b) => (b.gain.value > a.gain.value ? b : a))
  const speed =
    gain.value > 1
      ? `${significant(gain.value)} times as fast as exact attention`
      : `${significant(1 / gain.value)} times as slow as exact attention`
  const statement = `${variant.method} would need M = ${needed} (predicted), and be ${speed} at L=${length} (predicted)`
  const change: AdviceChange = {
    kind: 'features',
    candidate: variant.method,
    value: needed,
    statement,
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
  needed: Variant | undefined,
): AdviceChange {
  const accurate = joined.filter(one => isAccurate(offerOf(one), wish))
  const tried = [
    ...accurate.map(({candidate}) => ({label: candidate.label, variant: candidate.cell})),
    ...(needed ? [{label: `${needed.method} M=${needed.num_features}`, variant: needed}] : []),
  ]
  const found = tried.flatMap(({label, variant}) => {
    const from = times.crossover(variant)
    return from ? [{label, from}] : []
  })
  if (found.length === 0) {
    const statement =
      tried.length === 0
        ? 'longer input: no length helps, as nothing measured or predicted is accurate enough'
        : 'longer input: what is accurate enough is not faster within 4 million tokens'
    return {kind: 'length', candidate: null, value: null, statement}
  }
  const {label, from} = found.reduce((a, b) => (b.from.value < a.from.value ? b : a))
  const statement = `longer input: ${label} is faster from about L=${reach(from)} on, if its error stays the same`
  return {kind: 'length', candidate: label, value: from.value, statement}
}

/** `4150 [3800, 4600]`; without an upper end `4150 [from 3800]`. */
function reach({value, low, high}: Estimate): string {
  if (low === value && high === value) return significant(value)
  const [from, to] = [significant(low), significant(high)]
  return `${significant(value)} [${Number.isFinite(high) ? `${from}, ${to}` : `from ${from}`}]`
}

function looserTolerance({wish}: LayerFacts, joined: readonly Joined[]): AdviceChange {
  const offers = joined.map(one => offerOf(one))
  const best = nearestInError(offers, wish)
  if (!best) {
    const statement = 'looser tolerance: no candidate is faster than exact attention for certain'
    return {kind: 'tolerance', candidate: null, value: null, statement}
  }
  const value = best.error.high
  const statement = `looser tolerance: at ${significant(value)} it would be ${best.label}`
  return {kind: 'tolerance', candidate: best.label, value, statement}
}

function smallerNorms(facts: LayerFacts): AdviceChange {
  const scales = [...facts.candidates.keys()].filter(scale => scale < 1)
  const choices = new Map(
    scales.map(scale => {
      const offers = joinedAt(facts, scale).map(one => offerOf(one))
      return [scale, choose(offers, facts.wish)] as const
    }),
  )
  const found = largestScale(choices)
  if (!found) {
    const statement = `smaller norms: not with queries and keys times ${scales.join(', ')} either (measured)`
    return {kind: 'norms', candidate: null, value: null, statement}
  }
  const {scale, offer} = found
  const statement = `smaller norms: with queries and keys times ${scale} it would be ${offer.label} (measured)`
  return {kind: 'norms', candidate: offer.label, value: scale, statement}
}
