import {allOf, answerOf, verdictOf} from '../../answers/index.js'
import type {Judgement, TestedClaim} from '../claim.js'
import {exponentText, growth, memoryGrowth, ofMethod} from '../evidence/times.js'
import {lengthsRun} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

/** Longest lengths that a slope is taken over: two octaves. */
const TOP = 3
/** Exponents up to this are linear, from the midpoint of 1 and 2 on quadratic. */
const [LINEAR, QUADRATIC] = [1.25, 1.5]
const METHODS = ['favor-pos', 'rfa', 'elu']
const EXACT = ['softmax-online']

function judge(runs: ClaimRuns): Judgement {
  const records = runs.timed('lengths')
  const slopes = [...METHODS, ...EXACT].map(method => {
    const timed = ofMethod(records, method)
    return {method, time: growth(runs.times, timed, TOP), memory: memoryGrowth(timed, TOP)}
  })
  const linear = slopes.slice(0, METHODS.length)
  return {
    quantities: slopes.flatMap(({method, time, memory}) => [
      {name: `exponent of time, ${method}`, ...time},
      {name: `exponent of bytes, ${method}`, value: memory},
    ]),
    tests: [
      ...slopes.map(({method, time}, at) =>
        at < METHODS.length
          ? {hypothesis: `the exponent of ${method} is ${LINEAR} or more`, p: time.below(LINEAR)}
          : {
              hypothesis: `the exponent of ${method} is ${QUADRATIC} or less`,
              p: time.above(QUADRATIC),
            },
      ),
      ...linear.map(({method, time}) => ({
        hypothesis: `the exponent of ${method} is ${LINEAR} or less`,
        p: time.above(LINEAR),
      })),
    ],
    decide(rejected) {
      const answers = slopes.map((_, at) => answerOf([rejected[at], rejected[slopes.length + at]]))
      const exponents = slopes.map(
        ({method, time}, at) =>
          `${method} ${answers[at] === 'open' ? 'not settled' : exponentText(time)}`,
      )
      const bytes = linear.every(({memory}) => memory < LINEAR) ? 'yes' : 'no'
      return {
        verdict: verdictOf([allOf([bytes, ...answers])]),
        statement: `exponents of time over the longest two octaves: ${exponents.join(', ')}`,
        explanation:
          'The counted work is linear. Measured times differ from it where tensors leave the caches, which steepens the line, and at short lengths, where fixed costs of a call flatten it. The bytes of a call grow with exponent 1 at most for linear forms and for tiled exact attention, and with 2 for the form that holds all weights: linear memory gives no advantage over the tiled form.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H5',
  sentence: 'Random-feature attention takes time and memory that grow linearly with length',
  source:
    'Peng et al. 2021, arXiv:2103.02143; Choromanski et al. 2021, arXiv:2009.14794; Zheng et al. 2022, arXiv:2204.04667',
  paper: 'O(L) against O(L^2), by counting',
  ours: 'forward passes of 2 heads of 64 on one thread, 64 random vectors, up to 2048 tokens (8 heads and 8192 tokens in the full run)',
  statistic:
    'exponent of time over the longest three lengths, process by process, by t tests; exponent of counted bytes',
  rule: `holds if all linear forms are below ${LINEAR} and tiled exact attention above ${QUADRATIC}, beyond chance; refuted if a linear form is above ${LINEAR} beyond chance`,
  plans: lengthsRun,
  judge,
} satisfies TestedClaim
