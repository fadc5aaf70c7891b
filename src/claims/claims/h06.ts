import {allOf, type ConditionAnswer, verdictOf} from '../../answers/index.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {ratioRow, worstZ} from '../evidence/ratio-rows.js'
import {boundsOf, pBetween, powerLaw} from '../evidence/tests.js'
import {variancePlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const RUN = 'h06-rfa'
/** Exponents that count as 1/D. */
const MARGIN = 0.05

function plans({effort, seed}: PlanRequest) {
  return {
    [RUN]: variancePlanOf({
      methods: ['rfa'],
      projections: ['iid'],
      num_features: [16, 32, 64, 128, 256],
      head_dims: [16],
      norms: [1],
      angles_deg: [30, 90, 180],
      replicates: effort === 'quick' ? 4000 : 20_000,
      seed,
    }),
  }
}

function judge(runs: ClaimRuns): Judgement {
  const records = runs.variance(RUN)
  const rows = records.map(record => ratioRow(record))
  const slope = powerLaw(
    rows.map(({variance, error}, at) => {
      const {num_features: x, angle_deg} = records[at]!.cell
      return {x, y: variance, error, group: `${angle_deg}`}
    }),
  )
  const worst = worstZ(rows)
  return {
    quantities: [
      {name: 'exponent of M', ...slope, expected: -1},
      {name: 'largest |z| of a variance', value: worst.z},
    ],
    tests: [
      {hypothesis: 'variances are (1 - exp(-z^2))^2 / 2M', p: worst.p},
      {
        hypothesis: `the exponent is off -1 by ${MARGIN} or more`,
        p: pBetween(boundsOf(slope), [-1 - MARGIN, -1 + MARGIN]),
      },
    ],
    decide([wrong, settled]) {
      const seen = `exponent ${slope.value.toFixed(3)} of M, largest |z| ${worst.z.toFixed(1)} of ${rows.length} variances`
      const answer = allOf([wrong ? 'no' : 'yes', settled ? 'yes' : 'open'])
      return {
        verdict: verdictOf([answer]),
        statement: `${seen}${BESIDES[answer]}`,
        explanation:
          'The estimate is a mean of M independent cosines, each of variance (1 - exp(-z^2))^2 / 2 with z = |x - y|: nothing else can come out, and the measurement is a check of the implementation. The variance is largest, 1 / 2M, exactly where the kernel is smallest, so that the relative error has no such bound.',
      }
    },
  }
}

/** What follows the numbers. */
const BESIDES: Record<ConditionAnswer, string> = {
  yes: '',
  no: ': not as the formula says',
  open: `: too few draws to tell the exponent from others within ${MARGIN}`,
}

export default {
  kind: 'tested',
  id: 'H6',
  sentence: 'The variance of the sin/cos estimate falls like one over the number of random vectors',
  source: 'Peng et al. 2021, arXiv:2103.02143, theorem 1 and appendix A.2',
  paper: 'a proof, (1 - exp(-z^2))^2 / 2D for D vectors',
  ours: 'pairs of unit vectors at 30, 90 and 180 degrees, 16 to 256 vectors, independent draws in every cell',
  statistic:
    'each variance against the formula, with the standard error of its exact kurtosis; the exponent of M, weighted',
  rule: `refuted if a variance is off the formula beyond chance; holds if not, and the exponent is within ${MARGIN} of -1 beyond chance`,
  plans,
  judge,
} satisfies TestedClaim
