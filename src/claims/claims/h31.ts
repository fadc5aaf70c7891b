import {answersOf, type ConditionAnswer, verdictOf} from '../../answers/index.js'
import {significant} from '../../report/numbers.js'
import {ratioOfMeans} from '../../stats/index.js'
import type {Judgement, Test, TestedClaim} from '../claim.js'
import {combined, damageTable, type Variant, variantsOf} from '../evidence/swaps.js'
import {testsAbove, testsBetween} from '../evidence/tests.js'
import {CHARLM_RUN, charlmRun} from '../plans.js'
import {type ClaimRuns, Unmeasured} from '../runs.js'

/** M of methods that have it. */
const FEATURES = 64
/** What errs by noise at this M: random features of the softmax kernel. */
const NOISE = ['favor-pos', 'favor-hyp']
/** What errs by bias: estimates of another kernel. */
const BIAS = ['rfa', 'elu']
/** Between these the damage of all layers is the sum of the damages of single ones; above, it is more. */
const [LEAST, MOST] = [0.8, 1.25]

function rowOf({label, method, all, single}: Variant) {
  const sum = combined(single.map(damageTable), damages => damages.reduce((a, b) => a + b, 0))
  return {label, noisy: NOISE.includes(method), ratio: ratioOfMeans(damageTable(all), sum)}
}
type Row = ReturnType<typeof rowOf>

const nameOf = ({label}: Row) => `damage of all layers over the sum of single layers, ${label}`

function testsOf(row: Row): [Test, Test] {
  return row.noisy
    ? testsBetween(nameOf(row), row.ratio, [LEAST, MOST])
    : testsAbove(nameOf(row), row.ratio, MOST)
}

function judge(runs: ClaimRuns): Judgement {
  const variants = variantsOf(runs.swap(CHARLM_RUN))
  const rows = [...NOISE, ...BIAS].map(name => {
    const variant = variants.find(
      ({method, numFeatures}) =>
        method === name && (numFeatures === null || numFeatures === FEATURES),
    )
    if (!variant) throw new Unmeasured(`there is no swap of ${name}`)
    return rowOf(variant)
  })
  return {
    quantities: rows.map(row => ({name: nameOf(row), ...row.ratio.estimate})),
    tests: rows.flatMap(testsOf),
    decide(rejected) {
      const answers = answersOf(rejected)
      const textOf = (noisy: boolean) =>
        rows
          .filter(row => row.noisy === noisy)
          .map(({label, ratio: {estimate}}) => `${label} ${ratioText(estimate)}`)
          .join(', ')
      return {
        verdict: verdictOf(answers),
        statement: `damage of all layers over the sum of single ones: noise ${textOf(true)}; bias ${textOf(false)}${openText(rows, answers)}`,
        explanation:
          'Errors that are drawn independently in every layer point in different directions, so that their squares add, and the loss of a model near its optimum is about quadratic in them. A bias points in the same direction for every token and every draw: layers can make it larger together. Large errors do neither: once the predictions of a model are lost, more error costs nothing, and the whole is then less than the sum.',
      }
    },
  }
}

/** `1.50x [1.32, 1.68]`. */
function ratioText({value, low, high}: {value: number; low: number; high: number}): string {
  return `${significant(value)}x [${significant(low)}, ${significant(high)}]`
}

function openText(rows: readonly Row[], answers: readonly ConditionAnswer[]): string {
  const open = rows.filter((_, at) => answers[at] === 'open').map(({label}) => label)
  return open.length > 0 ? `; not settled for ${open.join(', ')}` : ''
}

export default {
  kind: 'tested',
  id: 'H31',
  sentence: 'Noise of random features adds up over layers, bias of another kernel compounds',
  source: 'a conjecture of this project',
  paper:
    'one draw of all-MiniLM-L6-v2, damage of all layers over the sum of single ones: positive features 0.95, LARA 1.1, RFA 1.5',
  ours: `the packaged character model of 4 layers, damage in nats per token, M = ${FEATURES}; noise: ${NOISE.join(', ')}; bias: ${BIAS.join(', ')}; LARA has no causal form and is left out`,
  statistic:
    'damage with all layers exchanged over the sum of the damages with one layer exchanged, same draws and texts, by Student t along draws and groups of texts',
  rule: `holds if the ratio is between ${LEAST} and ${MOST} for every method with noise and above ${MOST} for every one with bias, beyond chance; refuted if neither is so for any method; depends if it is so for some`,
  plans: charlmRun,
  judge,
} satisfies TestedClaim
