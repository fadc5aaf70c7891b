import type {TimedRecord} from '../../experiments/bench/schema.js'
import type {PairedTimes} from '../../experiments/bench/times/paired-times.js'
import type {PlanRequest} from '../claim.js'
import {ofMethod, timeRatios} from '../evidence/times.js'
import {benchPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'
import type {Drawing, Figure, Point} from './figure.js'

const RUN = 'lara-cost'
const EXACT = 'softmax'
/** Names of the curves. */
const METHODS: Readonly<Record<string, string>> = {
  'softmax-online': 'tiled softmax',
  ra: 'RA',
  lara: 'LARA',
  'favor-pos': 'positive features',
}
const LENGTHS = {quick: [196, 784, 2048], full: [196, 784, 2048, 4096, 8192]}

function plans(request: PlanRequest) {
  const methods = [EXACT, ...Object.keys(METHODS)]
  return {
    [RUN]: benchPlanOf({methods, numFeatures: [49], lengths: LENGTHS[request.effort]}, request),
  }
}

function ratios(times: PairedTimes, records: readonly TimedRecord[], method: string): Point[] {
  return timeRatios(times, records, method, EXACT).map(({length, ratio}) => ({
    series: `time, ${METHODS[method]}`,
    x: length,
    y: ratio.value,
    low: ratio.low,
    high: ratio.high,
    ...(method === 'ra' && {quoted: 2}),
  }))
}

function memory(records: readonly TimedRecord[], method: string): Point[] {
  const exact = ofMethod(records, EXACT)
  return ofMethod(records, method).map(({cell, result}, at) => ({
    series: `memory, ${METHODS[method]}`,
    x: cell.seq_len,
    y: (result.live_bytes ?? Number.NaN) / (exact[at]!.result.live_bytes ?? Number.NaN),
  }))
}

function draw(runs: ClaimRuns): Drawing {
  const records = runs.timed(RUN)
  const methods = Object.keys(METHODS)
  return {
    points: [
      ...methods.flatMap(method => ratios(runs.times, records, method)),
      ...methods.flatMap(method => memory(records, method)),
    ],
    notes: ['memory is counted: the tensors of a call without its inputs and output'],
  }
}

export default {
  id: 'lara-cost',
  title: 'Time and memory over length, relative to softmax attention',
  source: "Zheng et al. 2022, arXiv:2204.04667, and the authors' summary of it",
  paper:
    'time and memory of RA, LARA and random features on a GPU; RA takes about twice the time of softmax attention, LARA little more than random features',
  ours: 'forward passes of 2 heads of 64 (8 in the full run) on one thread, 49 vectors or proposals, one sample, over exact attention with its matrix in memory; the tiled form, which has none, is a separate curve',
  x: 'tokens L',
  y: 'time or memory over that of softmax attention',
  plans,
  draw,
} satisfies Figure
