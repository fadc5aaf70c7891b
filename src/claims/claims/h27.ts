import {answersOf, type ConditionAnswer, verdictOf} from '../../answers/index.js'
import type {TimedRecord} from '../../experiments/bench/schema.js'
import type {PairedTimes} from '../../experiments/bench/times/paired-times.js'
import type {Judgement, TestedClaim} from '../claim.js'
import {decodeRun, decodesTo, prefixRun, speedUps, TOKENS} from '../evidence/decoding.js'
import {testsAbove} from '../evidence/tests.js'
import {measuredRatio, ofMethod, ratiosText, type TimeRatio} from '../evidence/times.js'
import type {ClaimRuns} from '../runs.js'

/** Images a second over those of softmax attention, by the tokens of an image. */
const PAPER = [317, 4462]
/** Share of these from which on they are found again: hardware differs. */
const SHARE = 1 / 3

/**
 * Time of exact attention that computes every prefix anew over that of elu. A prefix of t of T tokens takes (t / T)^2 of the
 * whole at least: all of them (T + 1) (2T + 1) / 6T times as long as the whole.
 */
function withoutCache(
  times: PairedTimes,
  decodes: readonly TimedRecord[],
  forwards: readonly TimedRecord[],
): TimeRatio[] {
  const elu = ofMethod(decodesTo(decodes, TOKENS.images), 'elu')
  return ofMethod(forwards, 'softmax-online').map((record, at) => {
    const length = record.cell.seq_len
    const prefixes = ((length + 1) * (2 * length + 1)) / (6 * length)
    const whole = times.logRatio(record, elu[at]!)
    return {length, ratio: measuredRatio({...whole, value: whole.value + Math.log(prefixes)})}
  })
}

function judge(runs: ClaimRuns): Judgement {
  const decodes = runs.timed('decode')
  const kinds = [
    {cache: 'with a cache', rows: speedUps(runs.times, decodes, 'elu', TOKENS.images)},
    {cache: 'without a cache', rows: withoutCache(runs.times, decodes, runs.timed('prefixes'))},
  ]
  const all = kinds.flatMap(({cache, rows}) =>
    rows.map(({length, ratio}, at) => ({cache, length, ratio, paper: PAPER[at]!})),
  )
  return {
    quantities: all.map(({cache, length, ratio, paper}) => ({
      name: `time of exact attention ${cache} over that of elu, to ${length} tokens`,
      ...ratio,
      expected: paper,
    })),
    tests: all.flatMap(({cache, length, ratio, paper}) => {
      const bound = SHARE * paper
      return testsAbove(`${cache}, to ${length} tokens, it`, ratio, bound, `${Math.round(bound)}`)
    }),
    decide(rejected) {
      const answers = answersOf(rejected)
      const halves = [answers.slice(0, PAPER.length), answers.slice(PAPER.length)]
      const [cached, anew] = kinds.map(({rows}, kind) => ratiosText(rows, halves[kind]!))
      return {
        verdict: verdictOf(halves.map(unanimous)),
        statement: `over exact attention with a cache: ${cached} tokens; without a cache: ${anew}`,
        explanation:
          'Generation with softmax attention can keep keys and values, which takes L (D + Dv) numbers per head, or compute the whole prefix again for each token, which takes work of order L^3. Only the latter gives the factors of the paper. Against a cache the gain is the ratio of what a token reads: 12 on average over 784 tokens and 47 over 3072, counted. Quotations of the factors do not say which of the two was meant.',
      }
    },
  }
}

/** What all of them say. */
function unanimous([first = 'open', ...others]: readonly ConditionAnswer[]): ConditionAnswer {
  return others.every(answer => answer === first) ? first : 'open'
}

export default {
  kind: 'tested',
  id: 'H27',
  sentence:
    'Linear attention by elu generates images hundreds to thousands of times as fast as softmax attention',
  source: 'Katharopoulos et al. 2020, arXiv:2006.16236',
  paper:
    '317 times the images a second of 784 pixels, 4462 times those of 3072, whole models on a GPU (quoted from summaries)',
  ours: 'the attention alone, one sequence, 8 heads of 64, one thread, against exact attention with a cache of keys and values, and against one that computes every prefix anew, which is concluded from the time of a whole causal forward',
  statistic:
    'ratios of times to 784 and 3072 tokens, process by process, by t tests of their logarithms',
  rule: `holds if all ratios are above a third of the paper's, refuted if all are below, depends if those without a cache are above and those with one below, each beyond chance`,
  plans: request => ({...decodeRun(request), ...prefixRun(request)}),
  judge,
} satisfies TestedClaim
