import {allOf, answersOf, verdictOf} from '../../answers/index.js'
import type {Judgement, TestedClaim} from '../claim.js'
import {ofMethod, ratiosText, relativeGrowth, timeRatios} from '../evidence/times.js'
import {lengthsRun} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const METHODS = ['favor-pos', 'rfa']
const EXACT = 'softmax-online'

function judge(runs: ClaimRuns): Judgement {
  const rows = METHODS.map(method => {
    const records = runs.timed('lengths')
    const points = timeRatios(runs.times, records, EXACT, method)
    const exponent = relativeGrowth(runs.times, ofMethod(records, EXACT), ofMethod(records, method))
    return {method, points, exponent}
  })
  return {
    quantities: rows.flatMap(({method, points, exponent}) => [
      {name: `exponent of the speed-up of ${method}`, ...exponent},
      ...points.map(({length, ratio}) => ({
        name: `speed-up of ${method} at L = ${length}`,
        ...ratio,
      })),
    ]),
    tests: rows.flatMap(({method, exponent}) => [
      {hypothesis: `the speed-up of ${method} does not grow with length`, p: exponent.above(0)},
      {hypothesis: `the speed-up of ${method} does not shrink`, p: exponent.below(0)},
    ]),
    decide(rejected) {
      const answers = answersOf(rejected)
      const gains = rows.map(({method, points}, at) => {
        const ends = [points[0]!, points.at(-1)!]
        return `${method} ${ratiosText(ends, [answers[at]!, answers[at]!])}`
      })
      return {
        verdict: verdictOf([allOf(answers)]),
        statement: `over tiled exact attention: ${gains.join('; ')}`,
        explanation:
          'Work of exact attention grows with the square of the length and that of features with the length: the speed-up is proportional to L / 2M but for the exponentials of both. What counts is where it passes 1, which is a matter of M and of the kernels compared; against the materialised form it looks larger than it is.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H4',
  sentence: 'The gain in speed is small at moderate lengths and large at long ones',
  source: 'Peng et al. 2021, arXiv:2103.02143',
  paper:
    'speed-ups of 1.1 to 5.3 on Long Range Arena at 1k to 4k tokens; none in training at 512 (quoted from summaries)',
  ours: 'the attention alone, forward, 2 heads of 64 (8 in the full run), 64 random vectors, one thread, against tiled exact attention',
  statistic: 'exponent of the speed-up in length, process by process, by a t test',
  rule: 'holds if it is above 0 beyond chance for both methods; refuted if below for one',
  plans: lengthsRun,
  judge,
} satisfies TestedClaim
