import {CALIBRATION_PAIRS} from '../../experiments/variance/pairs.js'
import type {CompletedVariance} from '../../experiments/variance/schema.js'
import {Z95} from '../../stats/index.js'
import {logSecondMoment, optimalExponent} from '../../theory/exponential.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {ratioRow, worstZ} from '../evidence/ratio-rows.js'
import {variancePlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const RUN = 'h24-pairs'
const DIM = 64
const SUMS = [1, 4, 16, 36, 64, 100]
/** Of equal vectors: beyond, squares of estimates leave the range of float32. */
const MEASURED_NORMS = [1, 2, 3]

function plans({effort, seed}: PlanRequest) {
  return {
    [RUN]: variancePlanOf({
      methods: ['favor-pos', 'oprf'],
      projections: ['iid'],
      num_features: [16],
      head_dims: [DIM],
      norms: MEASURED_NORMS,
      angles_deg: [0],
      replicates: effort === 'quick' ? 2000 : 20_000,
      seed,
    }),
  }
}

/** Logarithm of the relative variance of one optimal feature at |x + y|^2 = s. */
function optimal(s: number): number {
  return Math.log(Math.expm1(logSecondMoment(optimalExponent(s / DIM), DIM, s)))
}

/** Logarithm of the variance of positive features over that. */
function gain(s: number): number {
  return Math.log(Math.expm1(s)) - optimal(s)
}

/** Logarithm of the measured variance of positive features over that of optimal ones, equal vectors of this norm. */
function measuredGain(records: readonly CompletedVariance[], norm: number) {
  const rowOf = (method: string) => {
    const record = records.find(({cell}) => cell.method === method && cell.norm === norm)!
    return {...ratioRow(record), exact: record.result.closed_form_variance!}
  }
  const [positive, oprf] = [rowOf('favor-pos'), rowOf('oprf')]
  return {
    value: Math.log(positive.variance / oprf.variance),
    expected: Math.log(positive.exact / oprf.exact),
    error: Math.hypot(positive.error, oprf.error),
  }
}

function judge(runs: ClaimRuns): Judgement {
  const records = runs.variance(RUN)
  const worst = worstZ(records.map(record => ratioRow(record)))
  const gains = SUMS.map(gain)
  const most = Math.max(...gains)
  return {
    quantities: [
      ...SUMS.map((s, at) => ({
        name: `ln of the ratio of variances, |x + y|^2 = ${s}`,
        value: gains[at]!,
        ...(s === SUMS.at(-1) && {expected: 60}),
      })),
      ...MEASURED_NORMS.map(norm => {
        const {value, expected, error} = measuredGain(records, norm)
        return {
          name: `measured with the exponent of ${CALIBRATION_PAIRS} pairs, |x + y|^2 = ${4 * norm ** 2}`,
          value,
          low: value - Z95 * error,
          high: value + Z95 * error,
          expected,
        }
      }),
      {name: 'largest |z| of a measured variance', value: worst.z},
    ],
    tests: [{hypothesis: 'measured variances are the closed forms', p: worst.p}],
    decide([wrong]) {
      if (wrong) {
        return {
          verdict: 'refuted',
          statement: `measured variances are off the closed forms, |z| up to ${worst.z.toFixed(1)}`,
          explanation: 'The closed forms are what the statement rests on beyond |x + y|^2 = 36.',
        }
      }
      const at = (s: number) => gains[SUMS.indexOf(s)]!.toFixed(1)
      return {
        verdict: most >= 60 && Math.min(...gains) >= 0 ? 'holds' : 'refuted',
        statement: `ratio by |x + y|^2 for D = ${DIM}: e^${at(4)} at 4, e^${at(16)} at 16, e^${at(64)} at 64, e^${at(100)} at 100`,
        explanation: `Positive features have a second moment of exp(2 |x + y|^2), carried by rare long vectors; the factor exp(A |w|^2) with A below zero cuts them off, at the price of the spread of |w|. The gain is real and exact for the kernel of one pair. It is large only where positive features are hopeless anyway: at |x + y|^2 = 100 even the better ones have a relative variance of e^${optimal(100).toFixed(0)} for one vector.`,
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H24',
  sentence: 'Optimal positive features (OPRF) vary up to e^60 times less than positive ones',
  source: 'Likhosherstov et al. 2022, arXiv:2205.15317',
  paper: 'up to e^60, D = 64, norms as in transformers (quoted from summaries)',
  ours: 'closed forms at D = 64 for |x + y|^2 from 1 to 100, the exponent set for that very value; variances measured up to |x + y|^2 = 36, with the exponent of pairs of such norms',
  statistic:
    'logarithm of the ratio of variances of the kernel estimate; z of 6 measured variances',
  rule: 'refuted if measurements contradict the closed forms; holds if the ratio is never below 1 and reaches e^60 within these norms',
  plans,
  judge,
} satisfies TestedClaim
