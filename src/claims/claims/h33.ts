import {answersOf, verdictOf} from '../../answers/index.js'
import {significant} from '../../report/numbers.js'
import {mean} from '../../stats/index.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {testsAbove} from '../evidence/tests.js'
import {differenceOf, recallPlan, trainedMethod, trainedRow} from '../evidence/trainings.js'
import {type ClaimRuns, Unmeasured} from '../runs.js'

const RUN = 'h33-recall'
const BEST = 'taylor'
const RIVALS = ['elu', 'favor-pos']
/** 1 + 16 + 136 features of a Taylor map of 16 entries, and as many of the others: so states have the same size. */
const FEATURES = 153
/** States may differ by this share: `favor-pos` carries the scale of each feature, too. */
const SAME = 0.05

function plans(request: PlanRequest) {
  const methods = [BEST, ...RIVALS].map(method => trainedMethod(method))
  const key_dims = {default: 64, taylor: 16, elu: FEATURES}
  return {[RUN]: recallPlan({methods, pairs: 16, num_features: [FEATURES], key_dims}, request)}
}

function judge(runs: ClaimRuns): Judgement {
  const rows = [BEST, ...RIVALS].map(method => trainedRow(runs, RUN, method))
  const [best, ...rivals] = rows as [(typeof rows)[number], ...typeof rows]
  const states = rows.map(({runs: [run]}) => run!.result.state_floats ?? Number.NaN)
  if (!(Math.max(...states) <= (1 + SAME) * Math.min(...states))) {
    throw new Unmeasured(`states differ: ${states.join(', ')} numbers`)
  }
  const gains = rivals.map(row => ({
    name: `accuracy of ${BEST} over ${row.runs[0]!.cell.method}`,
    difference: differenceOf(best.scores, row.scores),
  }))
  return {
    quantities: gains.map(({name, difference}) => ({name, ...difference.estimate})),
    tests: gains.flatMap(({name, difference}) => testsAbove(name, difference, 0)),
    decide: rejected => ({
      verdict: verdictOf(answersOf(rejected)),
      statement: `test accuracy: ${rows.map(({runs: [run], scores}) => `${run!.cell.method} ${significant(100 * mean(scores))} %`).join(', ')}; states of ${Math.min(...states)} to ${Math.max(...states)} numbers`,
      explanation:
        'A Taylor map of queries and keys with few entries has the same number of features as a map of many entries, and its kernel is closest to the exponential one near zero. Which map leaves the plateau of a recall within these steps decides more than what it can hold in the end.',
    }),
  }
}

export default {
  kind: 'tested',
  id: 'H33',
  sentence:
    'Of feature maps with the same size of state, the Taylor map of second order recalls best',
  source: 'Arora et al. 2024, arXiv:2402.18668, the figure of feature maps',
  paper: 'recall (MQAR) over the size of the state: the Taylor map first',
  ours: `64 tokens, 16 pairs, V = 256; a convolution of width 3 and a layer of width 64, 600 steps; taylor with D = 16, elu with D = ${FEATURES}, favor-pos with M = ${FEATURES}, so that states are alike; 3 seeds, 3 rates, one chosen by validation`,
  statistic:
    'test accuracy of taylor less that of another map with the same seed, by Student t along seeds; a run that diverged counts as 0',
  rule: 'holds if it is above 0 for both other maps, beyond chance; refuted if it is below for both; depends if above for one and below for the other',
  trainingMinutes: 5,
  plans,
  judge,
} satisfies TestedClaim
