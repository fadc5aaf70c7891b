/** The advice on one layer. */
import {nanoseconds, significant} from '../report/numbers.js'
import type {Estimate} from '../stats/index.js'
import {changesOf} from './changes.js'
import {type Joined, joinedAt, type LayerFacts, offerOf} from './joined.js'
import {paretoFront} from './pareto.js'
import {type Choice, choose} from './recommend.js'
import type {AdviceCandidate, HeadAdvice, LayerAdvice} from './schema.js'
import type {Timed, Times} from './times.js'

export function adviseLayer(facts: LayerFacts): LayerAdvice {
  const joined = joinedAt(facts, 1)
  const offers = joined.map(one => offerOf(one))
  const picked = choose(offers, facts.wish)
  const front = frontOf(facts, joined, ({candidate}) => candidate.error.value)
  const heads = headsOf(facts, joined)
  return {
    layer: facts.layer,
    ...choiceFields(picked),
    statement: statementOf(picked, facts),
    candidates: joined.map(one => rowOf(one, front.includes(one.candidate.label), facts.times)),
    heads,
    mixed: mixedOf(heads, facts, joined),
    changes: changesOf(facts, joined, picked),
  }
}

/** Labels of what nothing beats, exact attention among it, which errs by nothing. */
function frontOf(
  {times, length}: LayerFacts,
  joined: readonly Joined[],
  errorOf: (one: Joined) => number,
): string[] {
  const exact = times.exact.map(variant => ({
    label: variant.method,
    numbers: [0, times.at(variant, length)!.time.value, times.at(variant, length)!.bytes],
  }))
  const others = joined.map(one => ({
    label: one.candidate.label,
    numbers: [errorOf(one), one.timed.time.value, one.timed.bytes],
  }))
  return paretoFront([...exact, ...others], ({numbers}) => numbers).map(({label}) => label)
}

function choiceFields(picked: Choice): Pick<LayerAdvice, 'candidate' | 'obstacle'> {
  if ('offer' in picked) return {candidate: picked.offer.label, obstacle: null}
  return {candidate: null, obstacle: picked.obstacle}
}

function statementOf(picked: Choice, {times, length, wish}: LayerFacts): string {
  const asked = `an error of at most ${significant(wish.tolerance)}`
  const {label: exact, time} = times.fastestExact(length)
  if ('offer' in picked) {
    const {label, error, gain} = picked.offer
    return `take ${label}: error ${interval(error)}, ${interval(gain)} times as fast as ${exact} at L=${length}`
  }
  const reasons = {
    error: `no candidate has ${asked} for certain`,
    time: `what has ${asked} is not faster than ${exact} for certain at L=${length}`,
    budget: `what has ${asked} and is faster than ${exact} takes longer than the budget`,
  }
  const late = wish.budget !== null && time.value > wish.budget
  const besides = late ? `; it takes ${nanoseconds(time.value)}, more than the budget, too` : ''
  return `none: keep exact attention (${exact}); ${reasons[picked.obstacle]}${besides}`
}

/** `0.0312 [0.0309, 0.0317]`. */
export function interval({value, low, high}: Estimate): string {
  if (low === value && high === value) return significant(value)
  return `${significant(value)} [${significant(low)}, ${significant(high)}]`
}

/** Numbers as JSON has them. */
export function plain(value: number): number | null {
  return Number.isFinite(value) ? value : null
}

function errorFields({value, low, high}: Estimate) {
  return {error: plain(value), error_low: plain(low), error_high: plain(high)}
}

/** Time and memory as documents have them. */
export function costFields({time, from, bytes}: Timed) {
  return {
    time_ns: plain(time.value),
    time_low_ns: plain(time.low),
    time_high_ns: plain(time.high),
    time_from: from,
    live_bytes: plain(bytes),
  }
}

function rowOf({candidate, timed, gain}: Joined, onFront: boolean, times: Times): AdviceCandidate {
  const {label, cell, featureDim, error, heads, unfit} = candidate
  const crossover = times.crossover(cell)
  return {
    label,
    method: cell.method,
    projection: cell.projection,
    num_features: cell.num_features,
    feature_dim: featureDim,
    ...errorFields(error),
    ...costFields(timed),
    gain: plain(gain.value),
    gain_low: plain(gain.low),
    gain_high: plain(gain.high),
    crossover_len: crossover?.value ?? null,
    crossover_low_len: crossover ? plain(crossover.low) : null,
    crossover_high_len: crossover ? plain(crossover.high) : null,
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
      gain: plain(gain.value),
      front: frontOf(facts, joined, one => one.candidate.heads[head]!.value),
    }
  })
}

const NOTHING: Estimate = {value: Number.NaN, low: Number.NaN, high: Number.NaN}

/** Some heads by what is best for each, the others exact; heads of a form share its time alike. */
function mixedOf(
  heads: readonly HeadAdvice[],
  {times, length}: LayerFacts,
  joined: readonly Joined[],
): LayerAdvice['mixed'] {
  const replaced = heads.filter(({candidate}) => candidate !== null)
  if (replaced.length === 0) return null
  const exact = times.fastestExact(length).time.value
  const timeOf = (label: string | null) =>
    joined.find(({candidate}) => candidate.label === label)?.timed.time.value ?? exact
  const time = heads.reduce((sum, {candidate}) => sum + timeOf(candidate), 0) / heads.length
  return {replaced_heads: replaced.map(({head}) => head), time_ns: time, gain: exact / time}
}
