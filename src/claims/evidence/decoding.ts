/** Decodes up to some number of tokens, as claims about generation read them. */
import {decodeTo} from '../../experiments/bench/report/lines/decode-to.js'
import type {BenchPlan, TimedRecord} from '../../experiments/bench/schema.js'
import type {PairedTimes} from '../../experiments/bench/times/paired-times.js'
import type {PlanRequest} from '../claim.js'
import {benchPlanOf} from '../plans.js'
import {Unmeasured} from '../runs.js'
import {type TimeRatio, timeRatios} from './times.js'

/** Eight heads: a step of fewer takes about as long as the call that makes it. */
export const HEADS = 8

/** Decodes are long, and making the state known has warmed up already. */
const TIMING = {
  quick: {processes: 3, warmup_runs: 1, min_runs: 12, max_runs: 200, min_time_ns: 0.2e9},
  full: {processes: 5, warmup_runs: 1, min_runs: 25, max_runs: 1000, min_time_ns: 4e9},
}

/** Tokens of sentences, of a longer text, and of images of 28 x 28 pixels and of 32 x 32 in three colours. */
export const TOKENS = {
  sentences: [25, 50, 100],
  text: 512,
  long: 2048,
  images: [784, 3072],
} as const

/** Decodes with 64 random vectors. */
export function decodePlanOf(
  methods: readonly string[],
  lengths: readonly number[],
  request: PlanRequest,
): BenchPlan {
  const plan = benchPlanOf({methods, numFeatures: [64], lengths}, request)
  const timing = TIMING[request.effort]
  return {...plan, mode: 'decode', heads: HEADS, causal: true, timing}
}

/** Short decodes of exact attention over its cache and of RFA: many in each turn. */
export function sentencesRun(request: PlanRequest): Record<string, BenchPlan> {
  const {sentences, text} = TOKENS
  const plan = decodePlanOf(['softmax', 'rfa'], [...sentences, text], request)
  const timing = {
    ...plan.timing,
    min_runs: 32,
    min_time_ns: 6 * plan.timing.min_time_ns,
    max_runs: 2000,
  }
  return {sentences: {...plan, timing}}
}

/** Long decodes of exact attention over its cache, RFA and elu, one run for all claims about them. */
export function decodeRun(request: PlanRequest): Record<string, BenchPlan> {
  const {long, images} = TOKENS
  return {decode: decodePlanOf(['softmax', 'rfa', 'elu'], [...images, long], request)}
}

/** Causal forwards of exact attention over whole images: what generating their last pixel takes without a cache. */
export function prefixRun(request: PlanRequest): Record<string, BenchPlan> {
  const axes = {methods: ['softmax-online'], numFeatures: [64], lengths: TOKENS.images}
  const plan = benchPlanOf(axes, request)
  const timing = {...TIMING[request.effort], min_runs: 12}
  return {prefixes: {...plan, heads: HEADS, causal: true, timing}}
}

/** Time of decoding by exact attention over that of another method, from behind the first token to each of some. */
export function speedUps(
  times: PairedTimes,
  records: readonly TimedRecord[],
  method: string,
  lengths: readonly number[],
): TimeRatio[] {
  return timeRatios(times, decodesTo(records, lengths), 'softmax', method)
}

/** Decodes as records of the time up to each of some tokens. @throws {Unmeasured} where one was not looked at */
export function decodesTo(
  records: readonly TimedRecord[],
  lengths: readonly number[],
): TimedRecord[] {
  return records.flatMap(record => lengths.map(tokens => measuredTo(record, tokens)))
}

function measuredTo(record: TimedRecord, tokens: number): TimedRecord {
  const timed = decodeTo(record, tokens)
  if (timed) return timed
  throw new Unmeasured(`${record.cell.method} was not looked at after ${tokens} tokens`)
}
