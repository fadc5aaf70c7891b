import {answersOf, verdictOf} from '../../answers/index.js'
import type {ErrorSweepPlan} from '../../experiments/error-sweep/schema.js'
import {type Estimate, mean, variance} from '../../stats/index.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {cellOf, logErrors} from '../evidence/comparisons.js'
import {boundsOf, powerLaw, testsBelow} from '../evidence/tests.js'
import {sweepPlanOf} from '../plans.js'
import {type ClaimRuns, Unmeasured} from '../runs.js'

const DIMS = [16, 32, 64, 128]
/** Where both settings meet: D = 16. */
const ENTRY = 0.5
const METHOD = 'favor-trig'
/** Draws that a standard error of 0.1 of the exponent takes, with a spread of logarithms of 0.5. */
const LEAST_DRAWS = 12

/** Factors on normal entries by D. */
const SETTINGS = [
  {name: 'norms that stay', scaleOf: (dim: number) => ENTRY * (16 / dim) ** 0.25},
  {name: 'entries that stay', scaleOf: () => ENTRY},
]

const runOf = (dim: number) => `h16-d${dim}`

function plans({effort, seed}: PlanRequest): Record<string, ErrorSweepPlan> {
  const planOf = (dim: number) =>
    sweepPlanOf({
      generator: 'gaussian',
      heads: 2,
      headDim: dim,
      length: effort === 'quick' ? 256 : 1024,
      methods: [{method: METHOD}],
      projections: ['orth'],
      numFeatures: [Math.ceil(dim * Math.log(dim))],
      scales: [...new Set(SETTINGS.map(({scaleOf}) => scaleOf(dim)))],
      replicates: effort === 'quick' ? 14 : 40,
      seed,
    })
  return Object.fromEntries(DIMS.map(dim => [runOf(dim), planOf(dim)]))
}

/** Exponent of the relative error in D. */
function exponent(runs: ClaimRuns, scaleOf: (dim: number) => number): Estimate {
  return powerLaw(
    DIMS.map(dim => {
      const cell = cellOf(runs.sweep(runOf(dim)), {scale: scaleOf(dim)})
      const logs = logErrors(cell)
      if (logs.length < LEAST_DRAWS) {
        throw new Unmeasured(`${runOf(dim)}: ${logs.length} draws, where it takes ${LEAST_DRAWS}`)
      }
      // of the relative error, the root of what the squared one is over a constant of the input
      const logRelative = logs.map(log => log / 2 - Math.log(scaleOfError(cell.result)))
      const error = Math.sqrt(variance(logRelative) / logRelative.length)
      return {x: dim, y: Math.exp(mean(logRelative)), error, group: 'D'}
    }),
  )
}

/** Root of the mean squared error at a relative error of 1. */
function scaleOfError({mse, rel_l2}: {mse: Medians; rel_l2: Medians}): number {
  return Math.sqrt(mse.median!) / rel_l2.median!
}

interface Medians {
  median: number | null
}

function judge(runs: ClaimRuns): Judgement {
  const rows = SETTINGS.map(({name, scaleOf}) => ({name, slope: exponent(runs, scaleOf)}))
  return {
    quantities: rows.map(({name, slope}) => ({name: `exponent of D, ${name}`, ...slope})),
    tests: rows.flatMap(({name, slope}) => testsBelow(`${name}: the exponent`, boundsOf(slope), 0)),
    decide(rejected) {
      const exponents = rows.map(({name, slope}) => `${slope.value.toFixed(2)} for ${name}`)
      return {
        verdict: verdictOf(answersOf(rejected)),
        statement: `exponent of D in the relative error at M = D ln D: ${exponents.join(', ')}`,
        explanation:
          'The theorem assumes bounded norms of queries and keys. If canonical norms stay fixed while D grows, D ln D vectors are more than enough. If entries stay fixed, as after layer normalisation, canonical norms grow like the fourth root of D, and the number of vectors needed grows exponentially with their square.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H16',
  sentence: 'D ln D random vectors are enough for any head dimension D',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, theorem 4',
  paper: 'a theorem: M of the order of D log D for a uniform error, norms bounded',
  ours: 'M = D ln D for D = 16 to 128, orthogonal rows of sines and cosines, normal entries; their size falls so that canonical norms stay at 1, or stays at 0.5',
  statistic: 'exponent of D in the relative error, weighted by the spread over draws',
  rule: 'a setting is as claimed if the exponent is below 0 beyond chance, and not if it is above; depends if one is and the other is not',
  plans,
  judge,
} satisfies TestedClaim
