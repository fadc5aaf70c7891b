/** The advice on one layer. */
import {type Estimate, finiteOrNull, paretoFront} from '../stats/index.js'
import {changesOf} from './changes.js'
import {
  errorOf,
  isBetter,
  type Joined,
  joinedAt,
  type LayerFacts,
  offerOf,
  uniformHeads,
} from './joined.js'
import {type Choice, choose} from './recommend.js'
import type {AdviceCandidate, HeadAdvice, LayerAdvice} from './schema.js'
import {statementOf} from './statement.js'
import type {Timed, Times} from './times.js'

export function adviseLayer(facts: LayerFacts): LayerAdvice {
  const joined = joinedAt(facts, 1)
  const offers = joined.map(one => offerOf(one))
  const picked = choose(offers, facts.wish)
  const front = frontOf(facts, joined)
  const heads = headsOf(facts, joined)
  const uniform = uniformHeads(facts)
  return {
    layer: facts.layer,
    ...choiceFields(picked),
    statement: statementOf({facts, picked, uniform: uniform.length === facts.entropies.length}),
    uniform_heads: uniform,
    candidates: joined.map(one => rowOf(one, front.includes(one.candidate.label), facts.times)),
    heads,
    mixed: mixedOf(heads, facts),
    changes: changesOf(facts, joined, picked),
  }
}

/**
 * Labels of what nothing beats, exact attention among it, which has no error; what is not better than averaging V is never
 * among it.
 *
 * @param head - default: all
 */
function frontOf({times, length}: LayerFacts, joined: readonly Joined[], head?: number): string[] {
  const exact = times.exact.map(variant => ({
    label: variant.method,
    numbers: [0, times.at(variant, length)!.time.value, times.at(variant, length)!.bytes],
  }))
  const others = joined
    .filter(({candidate}) => candidate.unfit === null && isBetter(candidate, head))
    .map(({candidate, timed}) => ({
      label: candidate.label,
      numbers: [errorOf(candidate, head).value, timed.time.value, timed.bytes],
    }))
  return paretoFront([...exact, ...others], ({numbers}) => numbers).map(({label}) => label)
}

function choiceFields(picked: Choice): Pick<LayerAdvice, 'candidate' | 'obstacle'> {
  if ('offer' in picked) return {candidate: picked.offer.label, obstacle: null}
  return {candidate: null, obstacle: picked.obstacle}
}

function errorFields({value, low, high}: Estimate) {
  return {error: finiteOrNull(value), error_low: finiteOrNull(low), error_high: finiteOrNull(high)}
}

/** Time and memory as documents have them. */
export function costFields({time, from, bytes}: Timed) {
  return {
    time_ns: finiteOrNull(time.value),
    time_low_ns: finiteOrNull(time.low),
    time_high_ns: finiteOrNull(time.high),
    time_from: from,
    live_bytes: finiteOrNull(bytes),
  }
}

/** A speed-up as documents have it. */
export function gainFields({value, low, high}: Estimate) {
  return {gain: finiteOrNull(value), gain_low: finiteOrNull(low), gain_high: finiteOrNull(high)}
}

/** The length from which something is faster, as documents have it. */
function crossoverFields(length: Estimate | undefined) {
  return {
    crossover_len: finiteOrNull(length?.value),
    crossover_low_len: finiteOrNull(length?.low),
    crossover_high_len: finiteOrNull(length?.high),
  }
}

function rowOf({candidate, timed, gain}: Joined, onFront: boolean, times: Times): AdviceCandidate {
  const {label, cell, featureDim, error, heads, unfit, overMean} = candidate
  return {
    label,
    method: cell.method,
    projection: cell.projection,
    num_features: cell.num_features,
    feature_dim: featureDim,
    parameters: cell.tuned?.path ?? null,
    ...errorFields(error),
    over_mean: finiteOrNull(overMean.value),
    over_mean_low: finiteOrNull(overMean.low),
    over_mean_high: finiteOrNull(overMean.high),
    ...costFields(timed),
    ...gainFields(gain),
    ...crossoverFields(times.crossover(cell)),
    unfit,
    on_front: onFront,
    heads: heads.map(errorFields),
  }
}

function headsOf(facts: LayerFacts, joined: readonly Joined[]): HeadAdvice[] {
  const count = joined[0]?.candidate.heads.length ?? 0
  return Array.from({length: count}, (_, head): HeadAdvice => {
    const picked = choose(
      joined.map(one => offerOf(one, head)),
      // a head takes its share of a call: the budget is for all of them together
      {...facts.wish, budget: null},
    )
    const {error, gain} = 'offer' in picked ? picked.offer : {error: NOTHING, gain: NOTHING}
    return {
      head,
      ...choiceFields(picked),
      ...errorFields(error),
      ...gainFields(gain),
      front: frontOf(facts, joined, head),
    }
  })
}

const NOTHING: Estimate = {value: Number.NaN, low: Number.NaN, high: Number.NaN}

/**
 * Some heads by what is best for each, the others exact. Each takes its share of the time of its form, so the
 * speed-up is the harmonic mean of the speed-ups of the heads; its ends combine the ends of all of them, as they
 * share the exact form.
 */
function mixedOf(heads: readonly HeadAdvice[], {times, length}: LayerFacts): LayerAdvice['mixed'] {
  const replaced = heads.filter(({candidate}) => candidate !== null)
  if (replaced.length === 0) return null
  const harmonic = (end: 'gain' | 'gain_low' | 'gain_high') => {
    const of = (head: HeadAdvice) => (head.candidate === null ? 1 : (head[end] ?? Number.NaN))
    return heads.length / heads.reduce((sum, head) => sum + 1 / of(head), 0)
  }
  const gain = harmonic('gain')
  return {
    replaced_heads: replaced.map(({head}) => head),
    time_ns: times.fastestExact(length).time.value / gain,
    gain,
    gain_low: finiteOrNull(harmonic('gain_low')),
    gain_high: finiteOrNull(harmonic('gain_high')),
  }
}
