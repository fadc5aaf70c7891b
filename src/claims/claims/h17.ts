import {answersOf, verdictOf} from '../../answers/index.js'
import {significant} from '../../report/numbers.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {testsAbove} from '../evidence/tests.js'
import {
  bitsOf,
  charactersPlan,
  differenceOf,
  recallPlan,
  trainedMethod,
  trainedRow,
} from '../evidence/trainings.js'
import type {ClaimRuns} from '../runs.js'

/** Steps after which random vectors are drawn anew; 0: never. */
const [NEVER, SOMETIMES, ALWAYS] = [0, 100, 1]
const POLICIES = [NEVER, SOMETIMES, ALWAYS]
const WORDS: Readonly<Record<number, string>> = {
  0: 'never',
  100: 'every 100 steps',
  1: 'every step',
}

/** Tasks, each with a method that learns it. */
const [RECALL, CHARACTERS] = [
  {task: 'recall', method: 'rfa'},
  {task: 'characters', method: 'favor-pos'},
]
type Setting = typeof RECALL

/** What a test is made with. */
const VECTORS = {test: 'the vectors of the last step', fresh: 'fresh vectors'} as const

function runOf({task}: Setting, redraw: number): string {
  return `h17-${task}-${redraw}`
}

async function plans(request: PlanRequest) {
  const recall = (redraw: number) => {
    const methods = [trainedMethod(RECALL.method, {denGuard: 'clamp:1'})]
    return recallPlan({methods, pairs: 8, redraw}, request)
  }
  const characters = (redraw: number) => {
    const methods = [trainedMethod(CHARACTERS.method)]
    return charactersPlan({methods, redraw}, request)
  }
  const all = await Promise.all(
    POLICIES.map(async redraw => [
      [runOf(RECALL, redraw), recall(redraw)] as const,
      [runOf(CHARACTERS, redraw), await characters(redraw)] as const,
    ]),
  )
  return Object.fromEntries(all.flat())
}

/** What drawing anew saves, in one setting. */
interface Gain {
  name: string
  bits: ReturnType<typeof differenceOf>
}

function gainsOf(runs: ClaimRuns, setting: Setting): Gain[] {
  const bits = (redraw: number, vectors: keyof typeof VECTORS) =>
    bitsOf(trainedRow(runs, runOf(setting, redraw), setting.method), vectors)
  return (['test', 'fresh'] as const).flatMap(vectors =>
    [SOMETIMES, ALWAYS].map(redraw => ({
      name: `${setting.method} on ${setting.task}, ${VECTORS[vectors]}: bits never over ${WORDS[redraw]}`,
      bits: differenceOf(bits(NEVER, vectors), bits(redraw, vectors)),
    })),
  )
}

function judge(runs: ClaimRuns): Judgement {
  const gains = [RECALL, CHARACTERS].flatMap(setting => gainsOf(runs, setting))
  return {
    quantities: gains.map(({name, bits: {estimate}}) => ({name, ...estimate})),
    tests: gains.flatMap(({name, bits}) => testsAbove(name, bits, 0)),
    decide(rejected) {
      const answers = answersOf(rejected)
      const settingsThat = (answer: string) =>
        gains
          .filter((_, at) => answers[at] === answer)
          .map(({name, bits}) => `${name} ${significant(bits.estimate.value)}`)
          .join('; ')
      return {
        verdict: verdictOf(answers),
        statement: `drawing anew helps: ${settingsThat('yes') || 'nowhere for certain'}; it harms: ${settingsThat('no') || 'nowhere for certain'}`,
        explanation:
          'A model that keeps its random vectors learns them as it learns a weight, and knows no others. One that gets others in every step has to do with the noise of each; what it learns holds for vectors that it has not seen. Models are small and trained for some hundred steps.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H17',
  sentence: 'Features must be drawn anew during training',
  source: 'Choromanski et al. 2021, arXiv:2009.14794',
  paper: 'runs of training; the sources at hand quote no number',
  ours: 'rfa on recall (64 tokens, 8 pairs, 600 steps) and favor-pos on characters of the package (2 layers, 400 steps), width 64, M = 32; vectors drawn never, every 100 steps or every step; 3 seeds, 3 rates, one chosen by validation; the test has the vectors of the last step, or fresh ones',
  statistic:
    'bits of a label of the test without drawing anew less those with it, by Student t along seeds, for each task, policy and kind of vectors; a run that diverged counts as log2 V',
  rule: 'holds if all are above 0, beyond chance; refuted if all are below; depends if some are above and others below',
  trainingMinutes: 6,
  plans,
  judge,
} satisfies TestedClaim
