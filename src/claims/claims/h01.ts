import {allOf, answersOf, type ConditionAnswer, verdictOf} from '../../answers/index.js'
import type {ClaimVerdict, Judgement, TestedClaim} from '../claim.js'
import {sentencesRun, speedUps, TOKENS} from '../evidence/decoding.js'
import {inDecoder, MODEL_OURS, modelDecodeRun} from '../evidence/model-decoding.js'
import {testsAbove} from '../evidence/tests.js'
import {ratiosText} from '../evidence/times.js'
import type {ClaimRuns} from '../runs.js'

/** From this factor on a gain is nearer to twice than to none. */
const GAIN = 1.5
const LENGTHS = [...TOKENS.sentences, TOKENS.text]

/** @param answers - to the lengths of sentences, then to that of a text */
function verdictOn(answers: readonly ConditionAnswer[]): ClaimVerdict {
  if (allOf(answers.slice(0, -1)) === 'yes') return 'holds'
  if (answers[0] === 'no' && answers.at(-1) === 'yes') return 'depends'
  return verdictOf(answers) === 'refuted' ? 'refuted' : 'inconclusive'
}

function judge(runs: ClaimRuns): Judgement {
  const rows = speedUps(runs.times, runs.timed('sentences'), 'rfa', LENGTHS)
  const decoder = inDecoder(runs, LENGTHS)
  return {
    quantities: [
      ...rows.map(({length, ratio}) => ({
        name: `time of exact attention over that of RFA, to ${length} tokens`,
        ...ratio,
        expected: 2,
      })),
      ...decoder.quantities,
    ],
    tests: rows.flatMap(({length, ratio}) => testsAbove(`to ${length} tokens it`, ratio, GAIN)),
    decide(rejected) {
      const answers = answersOf(rejected)
      return {
        verdict: verdictOn(answers),
        statement: `judged by the speed-up of the attention alone: ${ratiosText(rows, answers)} tokens; ${decoder.text}`,
        explanation:
          'A token of exact attention reads all keys and values so far, a token of RFA reads and writes a state of 2M (Dv + 1) numbers per head, whatever came before. With M = D = 64 that state is as large as the keys and values of 65 tokens, and the gain grows from there. The rest of a model costs both the same and dilutes any gain. The factor of the paper is for whole models on accelerators, where many short operations cost more than their arithmetic.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H1',
  sentence: 'RFA decodes about twice as fast as softmax attention in machine translation',
  source: 'Peng et al. 2021, arXiv:2103.02143',
  paper:
    'around 2x; 1.8 to 1.9x on WMT EN-DE and EN-FR (quoted from summaries), six layers on an accelerator',
  ours: `the attention alone, one sequence, 8 heads of 64, 64 random vectors, one thread, ${MODEL_OURS}; exact attention keeps its keys and values; sentences of 25, 50 and 100 tokens, and a text of 512`,
  statistic:
    'ratio of times from behind the first token to the last, process by process, by a t test of its logarithm',
  rule: `by the attention alone: holds if it is above ${GAIN} to 25, 50 and 100 tokens, refuted if below to all of these and 512, depends if below to 25 and above to 512, each beyond chance`,
  plans: sentencesRun,
  following: modelDecodeRun,
  judge,
} satisfies TestedClaim
