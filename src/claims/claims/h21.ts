import {answersOf, verdictOf} from '../../answers/index.js'
import type {Judgement, TestedClaim} from '../claim.js'
import {testsBetween} from '../evidence/tests.js'
import {ratiosText, timeRatios} from '../evidence/times.js'
import {samplersRun} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

/** Factors that count as "about twice". */
const [LEAST, MOST] = [1.4, 2.8]

function judge(runs: ClaimRuns): Judgement {
  const rows = timeRatios(runs.times, runs.timed('samplers'), 'ra', 'softmax-online')
  return {
    quantities: rows.map(({length, ratio}) => ({
      name: `time of RA over tiled exact attention, L = ${length}`,
      ...ratio,
      expected: 2,
    })),
    tests: rows.flatMap(({length, ratio}) =>
      testsBetween(`at L = ${length} it`, ratio, [LEAST, MOST]),
    ),
    decide(rejected) {
      const answers = answersOf(rejected)
      return {
        verdict: verdictOf(answers),
        statement: `time over that of tiled exact attention: ${ratiosText(rows, answers)}`,
        explanation:
          'One sample of RA draws a key from each row of the softmax and takes a second softmax about it: 1.5 times the multiplications, twice the exponentials, and the draw. At short lengths the costs of more steps show.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H21',
  sentence: 'RA takes almost twice the time of softmax attention',
  source: "Zheng et al. 2022, arXiv:2204.04667, and the authors' summary of it",
  paper: 'about 2x, a sweep over lengths on a GPU',
  ours: 'forward passes of 2 heads of 64 (8 in the full run) on one thread, one sample, at 784 tokens (and at 1568 and 3136 in the full run), against tiled exact attention',
  statistic: 'ratio of times at each length, process by process, by a t test of its logarithm',
  rule: `holds if every ratio is between ${LEAST} and ${MOST}, refuted if every ratio is outside, depends if lengths differ, each beyond chance`,
  plans: samplersRun,
  judge,
} satisfies TestedClaim
