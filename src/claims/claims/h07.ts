import {allOf, answersOf, verdictOf} from '../../answers/index.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {biasOf} from '../evidence/bias.js'
import {cellOf, compared, logErrors, openText, ratioQuantity} from '../evidence/comparisons.js'
import {layerPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const RUN = 'h07-layer0'
const FEATURES = 1024
/** A ratio of mean squared errors: a relative error of a fifth, and of a half. */
const [FAR, NEAR] = [0.04, 0.25]
/** Errors differ by a multiple of their spread. */
const EFFECT = 2

function plans({effort, seed}: PlanRequest) {
  return {
    [RUN]: layerPlanOf('charlm-layer0', {
      methods: [{method: 'rfa'}, {method: 'favor-trig'}],
      projections: ['orth'],
      numFeatures: effort === 'quick' ? [FEATURES] : [64, 256, FEATURES],
      targets: ['raw', 'matched'],
      replicates: effort === 'quick' ? 14 : 40,
      seed,
    }),
  }
}

function judge(runs: ClaimRuns): Judgement {
  const records = runs.sweep(RUN)
  const at = (method: string, target: 'raw' | 'matched') =>
    cellOf(records, {method, target, num_features: FEATURES})
  const raw = at('rfa', 'raw')
  const trig = at('favor-trig', 'raw')
  const bias = biasOf(raw)
  const rows = [
    compared(logErrors(at('rfa', 'matched')), logErrors(raw), {
      name: 'squared error of unit vectors, against what they converge to over that against softmax of the given ones',
      below: FAR,
      above: NEAR,
      effect: EFFECT,
    }),
    compared(logErrors(raw), logErrors(trig), {
      name: 'squared error of unit vectors over that of sines and cosines of the given ones',
      effect: EFFECT,
    }),
  ]
  return {
    quantities: [
      {name: 'relative error of unit vectors', value: raw.result.rel_l2.median ?? Number.NaN},
      {name: 'relative error without them', value: trig.result.rel_l2.median ?? Number.NaN},
      {name: 'bias^2 of unit vectors', ...bias},
      ...rows.map(ratioQuantity),
    ],
    tests: [
      {hypothesis: 'unit vectors are without bias for softmax of the given ones', p: bias.p},
      ...rows.flatMap(({tests}) => tests),
    ],
    decide([biased, ...rejected]) {
      const answers = answersOf(rejected)
      const all = allOf([biased ? 'yes' : 'open', ...answers])
      const {rel_l2: unit} = raw.result
      return {
        verdict: verdictOf([all]),
        statement: `relative error at M = ${FEATURES}: ${text(unit.median)} with unit vectors, ${text(at('rfa', 'matched').result.rel_l2.median)} against softmax of those, ${text(trig.result.rel_l2.median)} with the given ones${openText(rows, answers)}`,
        explanation:
          'Unit vectors are needed, and they do not give softmax attention. Sines and cosines estimate exp(q.k) only times exp((|q|^2 + |k|^2) / 2). That factor grows with the norms, and the error with it: here denominators change sign. Dropping the norms bounds the error and leaves another kernel, to which the estimate converges as it should. The rest of the error against softmax of the given vectors is bias: more features do not remove it, only training with unit vectors does.',
      }
    },
  }
}

function text(value: number | null): string {
  return value === null ? '-' : value.toPrecision(2)
}

export default {
  kind: 'tested',
  id: 'H7',
  sentence: 'Sines and cosines estimate softmax attention only of queries and keys of unit norm',
  source: 'Peng et al. 2021, arXiv:2103.02143, section 3.1',
  paper: 'queries and keys are scaled to unit norm before the random features; no number',
  ours: 'first layer of a trained character model in both directions, 1024 random vectors; unit vectors (rfa) against two targets, and the given vectors (favor-trig)',
  statistic:
    'bias^2 of unit vectors against softmax of the given ones, over its standard error; signed ranks of the paired logarithms of squared errors',
  rule: `holds if unit vectors are biased against softmax of the given ones, their squared error falls below ${FAR} of itself against their own target, and it is below that of sines and cosines of the given vectors, each beyond chance; refuted if it is above ${NEAR}, or above that of the given vectors, beyond chance`,
  plans,
  judge,
} satisfies TestedClaim
