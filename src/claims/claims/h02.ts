import {answersOf, verdictOf} from '../../answers/index.js'
import type {Judgement, TestedClaim} from '../claim.js'
import {decodeRun, speedUps, TOKENS} from '../evidence/decoding.js'
import {inDecoder, MODEL_OURS, modelDecodeRun} from '../evidence/model-decoding.js'
import {testsBetween} from '../evidence/tests.js'
import {ratiosText} from '../evidence/times.js'
import type {ClaimRuns} from '../runs.js'

const SPEED_UP = 12
/** Factor to either side of it that counts as about the same: hardware differs. */
const MARGIN = 3
const [LEAST, MOST] = [SPEED_UP / MARGIN, SPEED_UP * MARGIN]

function judge(runs: ClaimRuns): Judgement {
  const [row] = speedUps(runs.times, runs.timed('decode'), 'rfa', [TOKENS.long])
  const decoder = inDecoder(runs, [TOKENS.long])
  const {ratio} = row!
  return {
    quantities: [
      {
        name: `time of exact attention over that of RFA, to ${TOKENS.long} tokens`,
        ...ratio,
        expected: SPEED_UP,
      },
      ...decoder.quantities,
    ],
    tests: testsBetween('it', ratio, [LEAST, MOST]),
    decide(rejected) {
      const answers = answersOf(rejected)
      return {
        verdict: verdictOf(answers),
        statement: `judged by the speed-up of the attention alone: ${ratiosText([row!], answers)} tokens; ${decoder.text}`,
        explanation:
          'Exact attention reads D + Dv numbers per head for each token so far: 32 times the state of 64 random vectors at the end, 16 times on average over 2048 tokens, counted. That state is also written, and its features cost products, sines and cosines, so the factor is smaller than the count. It is for attention alone, with these kernels. In a model both also read the same weights for each token, which dilutes the gain; a batch reads them once for all of its sequences.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H2',
  sentence: 'RFA decodes 2048 tokens twelve times as fast as softmax attention',
  source: 'Peng et al. 2021, arXiv:2103.02143',
  paper: '12x at 2048 tokens, decoding simulated, on an accelerator',
  ours: `the attention alone, one sequence, 8 heads of 64, 64 random vectors, one thread, ${MODEL_OURS}; exact attention keeps its keys and values, with room for all of them from the start; no attention to a source text`,
  statistic:
    'ratio of times from behind the first token to the last, process by process, by a t test of its logarithm',
  rule: `by the attention alone: holds if it is between ${LEAST} and ${MOST}, refuted if outside, beyond chance`,
  plans: decodeRun,
  following: modelDecodeRun,
  judge,
} satisfies TestedClaim
