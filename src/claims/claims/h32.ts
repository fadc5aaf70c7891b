import {answersOf, verdictOf} from '../../answers/index.js'
import {significant} from '../../report/numbers.js'
import {mean} from '../../stats/index.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {testsBelow} from '../evidence/tests.js'
import {differenceOf, listOpsPlan, trainedMethod, trainedRow} from '../evidence/trainings.js'
import type {ClaimRuns} from '../runs.js'

const RUN = 'h32-listops'
/** M: of the released configuration, between, and of the tables of others. */
const FEATURES = [2, 16, 64]
/** Accuracy that a method may lose and still be as good: a tenth of what the paper has Performer lose, 36.4 % to 18.0 %. */
const LOSS = 0.02

function plans(request: PlanRequest) {
  const methods = [trainedMethod('softmax'), trainedMethod('favor-pos')]
  return {[RUN]: listOpsPlan({methods, num_features: FEATURES}, request)}
}

function judge(runs: ClaimRuns): Judgement {
  const exact = trainedRow(runs, RUN, 'softmax')
  const rows = FEATURES.map(count => ({count, row: trainedRow(runs, RUN, 'favor-pos', count)}))
  const gains = rows.map(({count, row}) => ({
    name: `accuracy of favor-pos M=${count} less that of softmax`,
    difference: differenceOf(row.scores, exact.scores),
  }))
  return {
    quantities: gains.map(({name, difference}) => ({name, ...difference.estimate})),
    tests: gains.flatMap(({name, difference}) => testsBelow(name, difference, -LOSS)),
    decide(rejected) {
      const answers = answersOf(rejected)
      const text = (scores: readonly number[]) => `${significant(100 * mean(scores))} %`
      const scores = rows.map(({count, row}) => `favor-pos M=${count} ${text(row.scores)}`)
      return {
        verdict: answers.every(one => one === 'open') ? 'not_measurable' : verdictOf(answers),
        statement: `test accuracy: softmax ${text(exact.scores)}, ${scores.join(', ')}`,
        explanation:
          'The configuration that was released for Performer on ListOps has two random features (nb_features=2). Short expressions and some hundred steps teach models which digits are frequent after which operation, and little of nested ones: where all methods have learned the same, nothing is said of the table of the paper.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H32',
  sentence:
    'Performer does far worse on ListOps than exact attention, whatever its number of features',
  source:
    'Tay et al. 2021, arXiv:2011.04006, table 1; lra_benchmarks/listops/configs/performer_base.py',
  paper:
    'ListOps of 500 to 2000 tokens: 36.4 % with exact attention, 18.0 % with Performer, which has 2 features in the released configuration',
  ours: 'expressions of 17 to 63 tokens by the same generator, answered behind them by causal models of 2 layers of width 64, 600 steps; M = 2, 16, 64; 3 seeds, 3 rates, one chosen by validation',
  statistic:
    'test accuracy of favor-pos less that of softmax with the same seed, by Student t along seeds; a run that diverged counts as 0',
  rule: `M answers yes where more than ${100 * LOSS} % of accuracy are lost, beyond chance, and no where less are; holds if all answer yes, refuted if all answer no, depends if some yes and some no, not measurable if none answers`,
  trainingMinutes: 8,
  plans,
  judge,
} satisfies TestedClaim
