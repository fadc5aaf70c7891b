import {answersOf, verdictOf} from '../../answers/index.js'
import type {Judgement, TestedClaim} from '../claim.js'
import {testsBelow} from '../evidence/tests.js'
import {ratiosText, timeRatios} from '../evidence/times.js'
import {samplersRun} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

/** From this factor on an overhead is not marginal. */
const MARGINAL = 1.25

function judge(runs: ClaimRuns): Judgement {
  const rows = timeRatios(runs.times, runs.timed('samplers'), 'lara', 'favor-pos')
  return {
    quantities: rows.map(({length, ratio}) => ({
      name: `time of LARA over positive features, L = ${length}`,
      ...ratio,
    })),
    tests: rows.flatMap(({length, ratio}) => testsBelow(`at L = ${length} it`, ratio, MARGINAL)),
    decide(rejected) {
      const answers = answersOf(rejected)
      return {
        verdict: verdictOf(answers),
        statement: `time over that of positive features with the same number of vectors: ${ratiosText(rows, answers)}`,
        explanation:
          'LARA evaluates the same number of vectors as positive features do. It also evaluates the density of each proposal at each sample, weights for each query, and means over chunks. Both forms use fused kernels here. On a GPU, where a launch costs more than its arithmetic at these lengths, the difference may not show.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H22',
  sentence: 'LARA costs marginally more time than RFA with the same number of samples',
  source: "Zheng et al. 2022, arXiv:2204.04667, and the authors' summary of it",
  paper: '"marginal", a sweep over lengths on a GPU',
  ours: 'forward passes of 2 heads of 64 (8 in the full run) on one thread, 49 proposals and 49 vectors, at 784 tokens (and at 1568 and 3136 in the full run)',
  statistic: 'ratio of times at each length, process by process, by a t test of its logarithm',
  rule: `holds if every ratio is below ${MARGINAL} beyond chance, refuted if every ratio is above, depends if lengths differ`,
  plans: samplersRun,
  judge,
} satisfies TestedClaim
