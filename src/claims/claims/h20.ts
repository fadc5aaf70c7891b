import {allOf, answersOf, type ConditionAnswer, verdictOf} from '../../answers/index.js'
import type {CompletedSweep} from '../../experiments/error-sweep/schema.js'
import {type Estimate, mean, variance} from '../../stats/index.js'
import type {Judgement, PlanRequest, Test, TestedClaim} from '../claim.js'
import {cellOf, compared, logErrors, ratioQuantity} from '../evidence/comparisons.js'
import {boundsOf, powerLaw, testsAbove, testsBelow} from '../evidence/tests.js'
import {samplingPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

/** Tokens in a row, patches of an image, and tokens without order. */
const GENERATORS = ['ar1', 'grid2d', 'gaussian'] as const
type GeneratorOf = (typeof GENERATORS)[number]
const COUNTS = [4, 16, 49]
/** Where methods are compared. */
const COUNT = 49
const SAMPLES = 16
/** A squared error above this share of another is not seen as lower. */
const NOT_LOWER = 0.7
/** Errors of means fall with an exponent of -1; from here on they do not fall. */
const PLATEAU = -0.5
/** Errors differ by a multiple of their spread. */
const EFFECT = 1.5

const runOf = (generator: GeneratorOf) => `h20-${generator}`

function plans({effort, seed}: PlanRequest) {
  const planOf = (generator: GeneratorOf) =>
    samplingPlanOf({
      generator,
      samples: [SAMPLES],
      numFeatures: COUNTS,
      replicates: effort === 'quick' ? 20 : 60,
      seed,
    })
  return Object.fromEntries(GENERATORS.map(generator => [runOf(generator), planOf(generator)]))
}

/** Exponent of the squared error in the number of vectors or proposals. */
function exponent(records: readonly CompletedSweep[], method: string): Estimate {
  return powerLaw(
    COUNTS.map(num_features => {
      const logs = logErrors(cellOf(records, {method, num_features}))
      const error = Math.sqrt(variance(logs) / logs.length)
      return {x: num_features, y: Math.exp(mean(logs)), error, group: method}
    }),
  )
}

function settingOf(runs: ClaimRuns, generator: GeneratorOf) {
  const records = runs.sweep(runOf(generator))
  const at = (method: string) => logErrors(cellOf(records, {method, num_features: COUNT}))
  const ra = logErrors(cellOf(records, {method: 'ra'}))
  const [lara, positive] = [at('lara'), at('favor-pos')]
  const rows = [
    compared(ra, lara, {name: `${generator}: squared error of RA over LARA`, effect: EFFECT}),
    compared(lara, positive, {
      name: `${generator}: squared error of LARA over random features`,
      above: NOT_LOWER,
      effect: EFFECT,
    }),
  ]
  const slopes = {lara: exponent(records, 'lara'), positive: exponent(records, 'favor-pos')}
  return {generator, rows, slopes}
}
type Setting = ReturnType<typeof settingOf>

/** In pairs, as answers are read: what speaks for the claim first. */
function testsOf({generator, rows, slopes}: Setting): Test[] {
  const exponentOf = (name: string) => `${generator}: the exponent of ${name}`
  return [
    ...rows.flatMap(({tests}) => tests),
    ...testsAbove(exponentOf('random features'), boundsOf(slopes.positive), PLATEAU),
    ...testsBelow(exponentOf('LARA'), boundsOf(slopes.lara), PLATEAU),
  ]
}

/** Tests of one generator. */
const TESTS = 8

function judge(runs: ClaimRuns): Judgement {
  const settings = GENERATORS.map(generator => settingOf(runs, generator))
  return {
    quantities: settings.flatMap(({generator, rows, slopes}) => [
      ...rows.map(ratioQuantity),
      {name: `${generator}: exponent of random features`, ...slopes.positive},
      {name: `${generator}: exponent of LARA`, ...slopes.lara},
    ]),
    tests: settings.flatMap(testsOf),
    decide(rejected) {
      const answers = settings.map((_, at) =>
        allOf(answersOf(rejected.slice(TESTS * at, TESTS * (at + 1)))),
      )
      const named = (answer: ConditionAnswer) =>
        GENERATORS.filter((_, at) => answers[at] === answer)
      const open = named('open')
      const ratios = settings.map(
        ({generator, rows}) =>
          `${generator} ${rows.map(({ratio}) => ratio.value.toPrecision(2)).join(' and ')}`,
      )
      const tail = open.length > 0 ? `; inconclusive on ${open.join(', ')}` : ''
      return {
        verdict: verdictOf(answers),
        statement: `holds on ${named('yes').join(', ') || 'none'}, not on ${named('no').join(', ') || 'none'}${tail}; squared errors of RA over LARA and of LARA over random features: ${ratios.join('; ')}`,
        explanation:
          'LARA aims its proposals at means of neighbouring queries. Where neighbours are alike, in texts and images, few proposals serve all queries, and more proposals help. Random features are drawn independently of the data and hardly gain from more. Where tokens have no order the means are near zero, and LARA is no better than random features. RA draws for each query separately, on any data. Here it has fewer samples than the others have vectors, and its time grows with the square of the length.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H20',
  sentence:
    'RA has lower errors than LARA, and LARA than random features; more vectors lower the error of LARA, hardly that of random features',
  source: 'Zheng et al. 2022, arXiv:2204.04667, the figure of errors over numbers of samples',
  paper: 'a figure without numbers: queries and keys of a vision transformer, 196 tokens',
  ours: 'generated tokens of 64 entries, 196 of them, as a smooth row (ar1), as a smooth image (grid2d) and without order (gaussian); 4 to 49 vectors or proposals, 16 samples of RA, compared at 49',
  statistic:
    'signed ranks of the paired logarithms of squared errors; exponents of the squared error in the number of vectors or proposals, weighted',
  rule: `true on a kind of tokens if both orders are seen, the exponent of random features is above ${PLATEAU} and that of LARA below it, beyond chance; not if one is the other way round, or LARA above ${NOT_LOWER} of random features, beyond chance; depends if it is true on some and not on others`,
  plans,
  judge,
} satisfies TestedClaim
