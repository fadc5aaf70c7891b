import type {Judgement, TestedClaim} from './claim.js'
import {sentencesRun, speedUps, TOKENS} from './decoding.js'
import type {ClaimRuns} from './runs.js'
import {ratiosText, settledBy} from './time-ratios.js'

/** From this factor on a gain is nearer to twice than to none. */
const GAIN = 1.5
const LENGTHS = [...TOKENS.sentences, TOKENS.text]

function judge(runs: ClaimRuns): Judgement {
  const rows = speedUps(runs.times, runs.timed('sentences'), 'rfa', LENGTHS)
  return {
    quantities: rows.map(({length, ratio}) => ({
      name: `time of exact attention over that of RFA, to ${length} tokens`,
      ...ratio,
      expected: 2,
    })),
    tests: rows.flatMap(({length, ratio}) => [
      {hypothesis: `to ${length} tokens it is ${GAIN} or less`, p: ratio.above(GAIN)},
      {hypothesis: `to ${length} tokens it is ${GAIN} or more`, p: ratio.below(GAIN)},
    ]),
    decide(rejected) {
      const statement = `time of exact attention over that of RFA: ${ratiosText(rows, settledBy(rejected))} tokens`
      const explanation =
        'A token of exact attention reads all keys and values so far, one of RFA reads and writes a state of 2M (Dv + 1) numbers a head, whatever came before: with M = D = 64 that state is as large as the keys and values of 65 tokens, and the gain grows from there. What a model does beside its attention is alike for both and dilutes any gain; the factor of the paper is one of whole models on accelerators, where many short operations cost more than their arithmetic.'
      const gains = rows.map((_, at) => rejected[2 * at])
      const none = rows.map((_, at) => rejected[2 * at + 1])
      const sentences = TOKENS.sentences.length
      if (gains.slice(0, sentences).every(Boolean))
        return {verdict: 'holds', statement, explanation}
      if (none.every(Boolean)) return {verdict: 'refuted', statement, explanation}
      const split = none[0] && gains.at(-1)
      return {verdict: split ? 'depends' : 'inconclusive', statement, explanation}
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
  ours: 'the attention alone, one sequence, 8 heads of 64, 64 random vectors, one thread; exact attention keeps its keys and values; sentences of 25, 50 and 100 tokens, and a text of 512',
  statistic:
    'ratio of times from behind the first token to the last, process by process, by a t test of its logarithm',
  rule: `holds if it is above ${GAIN} to 25, 50 and 100 tokens, refuted if below to all of these and 512, depends if below to 25 and above to 512, each beyond chance`,
  plans: sentencesRun,
  judge,
} satisfies TestedClaim
