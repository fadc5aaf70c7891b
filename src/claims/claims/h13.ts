import {allOf, verdictOf} from '../../answers/index.js'
import {logInterval} from '../../stats/index.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {ratioRow} from '../evidence/ratio-rows.js'
import {bonferroni, twoSided} from '../evidence/tests.js'
import {variancePlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const [HYPERBOLIC, POSITIVE] = ['h13-hyperbolic', 'h13-positive']
/** Two features for each random vector on one side, one on the other. */
const VECTORS = 32
const ANGLE = 60
const NORMS = [0.3, 0.5, 0.7, 1, 2]
/** Beyond it, next to nothing is gained, and draws do not show it. */
const LARGEST_FACTOR = 0.9

function plans({effort, seed}: PlanRequest) {
  const axes = {
    projections: ['iid' as const],
    head_dims: [16],
    norms: NORMS,
    angles_deg: [ANGLE],
    replicates: effort === 'quick' ? 20_000 : 100_000,
    seed,
  }
  return {
    [HYPERBOLIC]: variancePlanOf({...axes, methods: ['favor-hyp'], num_features: [VECTORS]}),
    [POSITIVE]: variancePlanOf({...axes, methods: ['favor-pos'], num_features: [2 * VECTORS]}),
  }
}

/** |x + y|^2 of two vectors of this norm. */
function sumNorm(norm: number): number {
  return 2 * norm ** 2 * (1 + Math.cos((ANGLE * Math.PI) / 180))
}

function judge(runs: ClaimRuns): Judgement {
  const positive = runs.variance(POSITIVE)
  const rows = runs.variance(HYPERBOLIC).map((record, at) => {
    const [own, other] = [ratioRow(record), ratioRow(positive[at]!)]
    const error = Math.hypot(own.error, other.error)
    const ratio = own.variance / other.variance
    const expected = -Math.expm1(-sumNorm(record.cell.norm))
    return {norm: record.cell.norm, ratio, error, expected}
  })
  const worst = Math.max(
    ...rows.map(row => Math.abs(Math.log(row.ratio / row.expected)) / row.error),
  )
  // the least favourable pair decides whether it is better
  const gaining = rows.filter(({expected}) => expected < LARGEST_FACTOR)
  const nearest = Math.min(...gaining.map(({ratio, error}) => -Math.log(ratio) / error))
  return {
    quantities: rows.map(({norm, ratio, error, expected}) => ({
      name: `variance over that of positive features at equal F, norm ${norm}`,
      value: ratio,
      ...logInterval(ratio, error),
      expected,
    })),
    tests: [
      {hypothesis: 'the ratio is 1 - exp(-|x + y|^2)', p: bonferroni(twoSided(worst), rows.length)},
      {hypothesis: 'hyperbolic features vary as much', p: twoSided(Math.max(0, nearest)) / 2},
    ],
    decide([wrong, better]) {
      const [ratios, formula] = (['ratio', 'expected'] as const).map(of =>
        rows.map(row => row[of].toFixed(3)).join(', '),
      )
      return {
        verdict: verdictOf([allOf([wrong ? 'no' : 'yes', better ? 'yes' : 'open'])]),
        statement: `variance ratios ${ratios}; the formula gives ${formula}`,
        explanation:
          'The hyperbolic estimate is half the sum of two positive ones, with w and -w. Both have the same mean, and are as good as independent where |x + y| is large: then nothing is gained over drawing twice as many vectors, and the factor 1 - exp(-|x + y|^2) tends to 1. Where it is small they move in opposite directions and cancel.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H13',
  sentence: 'Hyperbolic features vary less than positive ones, with the same number of features',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, lemma 2',
  paper: 'the factor 1 - exp(-|x + y|^2) at equal numbers of features',
  ours: 'five pairs of equal norms up to 2 at 60 degrees, 64 features on both sides',
  statistic: 'the measured ratio of variances against that factor, and against 1',
  rule: `refuted if a ratio is off the factor beyond chance; holds if not, and every ratio with a factor below ${LARGEST_FACTOR} is below 1 beyond chance`,
  plans,
  judge,
} satisfies TestedClaim
