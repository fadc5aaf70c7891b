import {decodeTo} from '../../experiments/bench/report/lines/decode-to.js'
import type {TimedRecord} from '../../experiments/bench/schema.js'
import type {PairedTimes} from '../../experiments/bench/times/paired-times.js'
import type {PlanRequest} from '../claim.js'
import {measuredRatio, ofMethod} from '../evidence/times.js'
import {benchPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'
import type {Drawing, Figure, Point} from './figure.js'

const RUN = 'rfa-decode'
const [EXACT, RFA] = ['softmax', 'rfa']
/** Random vectors of the paper's models, and twice that number. */
const VECTORS = [64, 128]
/** Tokens up to which is decoded; it is looked at after every power of two. */
const LENGTH = {quick: 2048, full: 8192}
/** Shorter runs say more of the call than of the method. */
const SHORTEST = 16

/** What the paper says of 2048 tokens. */
const QUOTED = {tokens: 2048, speedUp: 12, memory: 0.1}

function plans(request: PlanRequest) {
  const axes = {methods: [EXACT, RFA], numFeatures: VECTORS, lengths: [LENGTH[request.effort]]}
  return {[RUN]: {...benchPlanOf(axes, request), mode: 'decode' as const, causal: true}}
}

function curves(
  times: PairedTimes,
  exact: TimedRecord,
  rfa: TimedRecord,
): {speed: Point[]; memory: Point[]} {
  const pairs = (rfa.result.marks ?? []).flatMap(mark => {
    const other = exact.result.marks?.find(({tokens}) => tokens === mark.tokens)
    return other && mark.tokens >= SHORTEST ? [{mark, other}] : []
  })
  const vectors = `M = ${rfa.cell.num_features}`
  const quoted = (tokens: number, value: number) => tokens === QUOTED.tokens && {quoted: value}
  return {
    speed: pairs.map(({mark}) => {
      const {tokens: x} = mark
      const [slow, fast] = [decodeTo(exact, x)!, decodeTo(rfa, x)!]
      const {value: y, low, high} = measuredRatio(times.logRatio(slow, fast))
      return {series: `speed-up, ${vectors}`, x, y, low, high, ...quoted(x, QUOTED.speedUp)}
    }),
    memory: pairs.map(({mark, other}) => {
      const {tokens: x} = mark
      const y = mark.state_bytes / other.state_bytes
      return {series: `memory, ${vectors}`, x, y, ...quoted(x, QUOTED.memory)}
    }),
  }
}

function draw(runs: ClaimRuns): Drawing {
  const records = runs.timed(RUN)
  const exact = ofMethod(records, EXACT)[0]!
  const all = VECTORS.flatMap(count =>
    ofMethod(records, RFA)
      .filter(({cell}) => cell.num_features === count)
      .map(record => curves(runs.times, exact, record)),
  )
  return {
    points: [...all.flatMap(({speed}) => speed), ...all.flatMap(({memory}) => memory)],
    notes: ['memory: what is kept between tokens, counted; the paper gives an upper bound'],
  }
}

export default {
  id: 'rfa-decode',
  title: 'Speed and memory of decoding over length: RFA against exact attention',
  source: 'Peng et al. 2021, arXiv:2103.02143',
  paper:
    'simulated decoding with sources as long as targets: 12 times as fast at 2048 tokens, with less than a tenth of the memory, of the whole model',
  ours: 'the attention alone, 2 heads of 64 (8 in the full run), one sequence on one thread: time from the first token to that one, with the keys and values of exact attention kept',
  x: 'tokens so far',
  y: 'time of exact attention over that of RFA; memory of RFA over that of exact attention',
  plans,
  draw,
} satisfies Figure
