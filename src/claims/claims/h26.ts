import {answersOf, type ConditionAnswer, verdictOf} from '../../answers/index.js'
import type {ProjectionName} from '../../attention/names.js'
import type {CompletedVariance} from '../../experiments/variance/schema.js'
import {groupBy} from '../../report/groups.js'
import {logInterval} from '../../stats/index.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {upperTail} from '../evidence/tests.js'
import {variancePlanOf} from '../plans.js'
import {type ClaimRuns, Unmeasured} from '../runs.js'

const RUN = 'h26-projections'
const SIMPLEX = 'simplex'
/** All that leave the estimate unbiased. */
const OTHERS = [
  'iid',
  'orth',
  'antithetic',
  'simplex-plus',
  'sobol',
] as const satisfies ProjectionName[]

function plans({effort, seed}: PlanRequest) {
  return {
    [RUN]: variancePlanOf({
      methods: ['favor-pos'],
      projections: [SIMPLEX, ...OTHERS],
      num_features: [8, 20],
      head_dims: [8],
      norms: [0.4, 1],
      angles_deg: [60],
      replicates: effort === 'quick' ? 10_000 : 60_000,
      seed,
    }),
  }
}

/** Logarithm of the variance of one projection over that of simplex rows. */
interface Comparison {
  numFeatures: number
  norm: number
  other: string
  ratio: number
  /** Standard error of its logarithm, as if both were independent: more than it is where they are not. */
  error: number
}

function comparisons({cell, result}: CompletedVariance): Comparison[] {
  const measured = (name: string) => {
    const row = result.per_projection.find(({projection}) => projection === name)
    if (row?.variance == null || row.variance_relative_standard_error === null) return undefined
    return {variance: row.variance, error: row.variance_relative_standard_error}
  }
  const simplex = measured(SIMPLEX)
  if (!simplex) throw new Unmeasured(`${SIMPLEX}: too few replicates for its tail`)
  // a projection with a tail that takes more draws stays open
  return OTHERS.flatMap(other => {
    const row = measured(other)
    if (!row) return []
    const ratio = row.variance / simplex.variance
    const error = Math.hypot(row.error, simplex.error)
    return [{numFeatures: cell.num_features, norm: cell.norm, other, ratio, error}]
  })
}

type Place = Pick<Comparison, 'other' | 'numFeatures' | 'norm'>
const placeOf = ({numFeatures, norm}: Place) => `M = ${numFeatures}, norm ${norm}`
const nameOf = (place: Place) => `${place.other} at ${placeOf(place)}`

/** Projections, each with where that is, unless it is everywhere. @param count - of all places */
function listOf(places: readonly Place[], count: number): string {
  return groupBy(places, ({other}) => other)
    .map(group => {
      const [{other}] = group as [Place]
      return group.length === count ? other : `${other} (${group.map(placeOf).join('; ')})`
    })
    .join(', ')
}

function judge(runs: ClaimRuns): Judgement {
  const records = runs.variance(RUN)
  const rows = records.flatMap(comparisons)
  const all = records.flatMap(({cell}) =>
    OTHERS.map(other => ({other, numFeatures: cell.num_features, norm: cell.norm})),
  )
  const z = rows.map(({ratio, error}) => Math.log(ratio) / error)
  return {
    quantities: rows.map(row => ({
      name: `variance of ${nameOf(row)} over that of simplex rows`,
      value: row.ratio,
      ...logInterval(row.ratio, row.error),
    })),
    tests: rows.flatMap((row, at) => [
      {hypothesis: `${nameOf(row)} varies at most as much as simplex rows`, p: upperTail(z[at]!)},
      {hypothesis: `${nameOf(row)} varies at least as much`, p: upperTail(-z[at]!)},
    ]),
    decide(rejected) {
      const answers = answersOf(rejected)
      const more = rows.filter((_, at) => answers[at] === 'yes')
      const less = rows.filter((_, at) => answers[at] === 'no')
      const settled = [...more, ...less].map(nameOf)
      const unsettled = all.filter(one => !settled.includes(nameOf(one)))
      const lines = [
        ...(more.length > 0 ? [`lower than ${listOf(more, records.length)}`] : []),
        ...(less.length > 0 ? [`higher than ${listOf(less, records.length)}`] : []),
        ...(unsettled.length > 0
          ? [`not settled against ${listOf(unsettled, records.length)}`]
          : []),
      ]
      // what is not distinguishable leaves a refutation as it is
      const open: ConditionAnswer[] = unsettled.length > 0 && less.length === 0 ? ['open'] : []
      return {
        verdict: verdictOf([...answers.filter(answer => answer !== 'open'), ...open]),
        statement: `lower variance than ${more.length} of ${rows.length} others; ${lines.join('; ')}`,
        explanation:
          'Simplex rows are the best directions if lengths are drawn independently of them: this is the class of the theorem, in which they beat independent, orthogonal and antithetic rows. Two kinds of rows are outside that class and can vary less: directions that depend on the lengths (simplex-plus), and points that fill the space beyond one block of D rows (Sobol). Sobol rows treat directions differently, so each draw has a new direction.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H26',
  sentence: 'Simplex rows give positive features the lowest variance',
  source: 'Reid et al. 2023, arXiv:2301.13856',
  paper: 'a proof, among couplings with directions independent of the lengths',
  ours: 'D = 8, one block of 8 rows and two and a half, pairs of norms 0.4 and 1 at 60 degrees, five other unbiased projections; of Sobol rows in the mean over directions',
  statistic:
    'logarithm of the ratio of variances, over the standard errors of both as if they were independent',
  rule: 'holds if every other projection varies more, beyond chance; refuted if all distinguishable ones vary less; depends if some do',
  plans,
  judge,
} satisfies TestedClaim
