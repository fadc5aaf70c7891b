import {answersOf, verdictOf} from '../../answers/index.js'
import type {BenchPlan} from '../../experiments/bench/schema.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {testsBetween} from '../evidence/tests.js'
import {exponentText, ofMethod, ratiosText, relativeGrowth, timeRatios} from '../evidence/times.js'
import {benchPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const [METHOD, PASS_THROUGH] = ['favor-pos', 'identity'] as const
/** Exponents up to this, either way, are those of a ratio that stays: a layer with exact attention comes near 1. */
const MARGIN = 0.3
const LENGTHS = {quick: [512, 1024, 2048], full: [512, 1024, 2048, 4096, 8192, 16_384]}
/** Heads of 64, which make the width of the layer. */
const HEADS = {quick: 2, full: 8}
const TIMING = {
  quick: {processes: 3, warmup_runs: 2, min_runs: 24, max_runs: 400, min_time_ns: 0.4e9},
  full: {processes: 5, warmup_runs: 3, min_runs: 25, max_runs: 500, min_time_ns: 2e9},
}

function plans(request: PlanRequest): Record<string, BenchPlan> {
  const {effort} = request
  const axes = {methods: [METHOD, PASS_THROUGH], numFeatures: [256], lengths: LENGTHS[effort]}
  const plan = benchPlanOf(axes, request)
  return {layers: {...plan, mode: 'layer', heads: HEADS[effort], timing: TIMING[effort]}}
}

function judge(runs: ClaimRuns): Judgement {
  const records = runs.timed('layers')
  const rows = timeRatios(runs.times, records, METHOD, PASS_THROUGH)
  const exponent = relativeGrowth(
    runs.times,
    ofMethod(records, METHOD),
    ofMethod(records, PASS_THROUGH),
  )
  return {
    quantities: [
      {name: 'exponent of the ratio in length', ...exponent, expected: 0},
      ...rows.map(({length, ratio}) => ({
        name: `time of a layer with ${METHOD} over one that passes values through, L = ${length}`,
        ...ratio,
      })),
    ],
    tests: testsBetween(
      'the exponent',
      exponent,
      [-MARGIN, MARGIN],
      [`off 0 by ${MARGIN} or more`, `off 0 by ${MARGIN} or less`],
    ),
    decide(rejected) {
      const [answer] = answersOf(rejected)
      const growthText = answer === 'open' ? 'not settled' : exponentText(exponent)
      const ratios = ratiosText(
        rows,
        rows.map(() => answer!),
      )
      return {
        verdict: verdictOf([answer!]),
        statement: `time of a layer over that of one that passes values through: ${ratios} tokens; exponent of that in length: ${growthText}`,
        explanation:
          'Both parts of a layer are linear in the length. The ratio depends on their work per token, whatever the length: 8 M D operations per head and the exponentials, against 24 times the square of the width. Wider layers and fewer vectors bring the lines together.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H15',
  sentence: 'A Performer stays close in time to a model without attention, at any length',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, Fig. 3',
  paper:
    '(heads, layers, feed-forward, width) = (8, 6, 2048, 512), forward and backward passes on a V100 of 16 GB against length; the line "X" has no attention',
  ours: 'forward passes of one layer (four projections and a feed-forward part of four times the width), 2 heads of 64 (8 in the full run), 256 random vectors, one thread; backward passes are not timed',
  statistic:
    'exponent in length of the time of a layer with positive features over that of one with values passed through, process by process, by a t test',
  rule: `holds if it is within ${MARGIN} of 0, refuted if farther away, beyond chance; the ratio itself is reported`,
  plans,
  judge,
} satisfies TestedClaim
