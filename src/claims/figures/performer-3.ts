import type {TimedRecord} from '../../experiments/bench/schema.js'
import {medianOf} from '../../experiments/bench/times/time-estimates.js'
import type {PlanRequest} from '../claim.js'
import {ofMethod} from '../evidence/times.js'
import {benchPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'
import type {Drawing, Figure, Point} from './figure.js'

const RUN = 'performer-3'
/** Names of the curves. */
const METHODS: Readonly<Record<string, string>> = {
  softmax: 'softmax',
  'softmax-online': 'tiled softmax',
  'favor-pos': 'Performer',
  identity: 'X: values pass through',
}
const LENGTHS = {quick: [512, 1024, 2048, 4096], full: [256, 512, 1024, 2048, 4096, 8192]}
/** Heads of 64, which make the width of the layer. */
const HEADS = {quick: 2, full: 8}

function plans(request: PlanRequest) {
  const {effort} = request
  const axes = {methods: Object.keys(METHODS), numFeatures: [256], lengths: LENGTHS[effort]}
  const plan = benchPlanOf(axes, request)
  return {[RUN]: {...plan, mode: 'layer' as const, heads: HEADS[effort]}}
}

const SECOND = 1e9

function times(records: readonly TimedRecord[], method: string): Point[] {
  return ofMethod(records, method).map(record => {
    const {value, low, high} = medianOf(record)
    return {
      series: METHODS[method]!,
      x: record.cell.seq_len,
      y: value / SECOND,
      low: low / SECOND,
      high: high / SECOND,
    }
  })
}

function draw(runs: ClaimRuns): Drawing {
  const records = runs.timed(RUN)
  return {
    points: Object.keys(METHODS).flatMap(method => times(records, method)),
    notes: ['forward passes alone: backward passes, which the paper shows too, are not timed'],
  }
}

export default {
  id: 'performer-3',
  title: 'Time of a layer over length: Performer, exact attention, and values passed through',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, Fig. 3',
  paper:
    'heads, layers, feed-forward part and width of 8, 6, 2048, 512, forward and backward passes on a V100 of 16 GB: the Performer runs almost parallel to the line "X", which has no attention',
  ours: 'one layer (four projections and a feed-forward part of four times the width), 2 heads of 64 (8 in the full run), 256 random vectors, on one thread',
  x: 'tokens L',
  y: 'seconds of a forward pass',
  plans,
  draw,
} satisfies Figure
