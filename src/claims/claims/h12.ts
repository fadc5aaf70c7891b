import {answersOf, verdictOf} from '../../answers/index.js'
import type {CompletedSweep} from '../../experiments/error-sweep/schema.js'
import {significant} from '../../report/numbers.js'
import {positiveOvertakesAt} from '../../theory/crossover.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {
  type Comparison,
  cellOf,
  compared,
  logErrors,
  openText,
  ratioQuantity,
} from '../evidence/comparisons.js'
import {sweepPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const RUN = 'h12-norms'
const SCALES = [0.25, 0.35, 0.5, 0.7, 1]
/** Random vectors: sines and cosines make two features of each. */
const FEATURES = {positive: 128, trigonometric: 64}
/** Errors differ by a multiple of their spread, at the ends. */
const EFFECT = 2
/** Of single pairs, in degrees. */
const ANGLES = [90, 120, 150]

function plans({effort, seed}: PlanRequest) {
  const quick = effort === 'quick'
  return {
    [RUN]: sweepPlanOf({
      generator: 'gaussian',
      heads: 4,
      headDim: 16,
      length: quick ? 256 : 4096,
      methods: [{method: 'favor-pos'}, {method: 'favor-trig'}],
      projections: ['iid'],
      numFeatures: Object.values(FEATURES),
      scales: SCALES,
      replicates: quick ? 20 : 40,
      seed,
    }),
  }
}

/** Root mean square norm of canonical queries and keys. */
function normOf({result}: CompletedSweep): number {
  const {query_norm2, key_norm2} = result.statistics
  return Math.sqrt((query_norm2 + key_norm2) / 2)
}

interface Row extends Comparison {
  norm: number
}

/** The norm at which the ratio is 1, between the last norm above and the first below; `NaN` where it is on one side. */
function crossing(rows: readonly Row[]): number {
  const next = rows.findIndex(({ratio}) => ratio.value < 1)
  if (next < 1) return Number.NaN
  const [above, below] = [rows[next - 1]!, rows[next]!]
  const [from, to] = [above, below].map(({ratio}) => Math.log(ratio.value))
  const share = from! / (from! - to!)
  return above.norm * (below.norm / above.norm) ** share
}

function judge(runs: ClaimRuns): Judgement {
  const records = runs.sweep(RUN)
  const rows = SCALES.map((scale): Row => {
    const positive = cellOf(records, {
      ...{method: 'favor-pos', scale, num_features: FEATURES.positive},
    })
    const other = cellOf(records, {
      ...{method: 'favor-trig', scale, num_features: FEATURES.trigonometric},
    })
    const norm = normOf(positive)
    const name = `squared error of positive features over sines and cosines, norm ${norm.toFixed(2)}`
    return {norm, ...compared(logErrors(positive), logErrors(other), {name, effect: EFFECT})}
  })
  const crossed = crossing(rows)
  return {
    quantities: [
      ...rows.map(ratioQuantity),
      {name: 'norm from which positive features have lower errors', value: crossed},
      ...ANGLES.map(angle => ({
        name: `the same for the kernel of one pair at ${angle} degrees, computed`,
        value: positiveOvertakesAt((angle * Math.PI) / 180, 'F'),
      })),
    ],
    tests: rows.flatMap(({tests}) => tests),
    decide(rejected) {
      const answers = answersOf(rejected)
      const ends = [rows[0]!, rows.at(-1)!]
      const ratios = ends.map(
        ({norm, ratio}) => `${significant(ratio.value, 2)} at norm ${significant(norm, 2)}`,
      )
      const where = Number.isNaN(crossed) ? '' : `; they change places at ${crossed.toFixed(2)}`
      return {
        verdict: verdictOf(answers),
        statement: `squared error of positive features over that of sines and cosines: ${ratios.join(', ')}${where}${openText(rows, answers)}`,
        explanation:
          'For the kernel of one pair, sines and cosines vary less at all angles up to 90 degrees, positive features only for opposed vectors. This decides small norms, where sines and cosines win. In an output all keys share their random vectors, and the denominator decides large norms: with sines and cosines it can reach zero and below, which makes any error possible; with positive features it cannot.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H12',
  sentence: 'Attention with positive features has lower errors than with sines and cosines',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, figure 4',
  paper: 'orders of magnitude; L = 4096, D = 16, normal entries, 15 draws',
  ours: 'the same D, 256 tokens (4096 in the full run), 128 features of either kind, normal entries times 0.25 to 1',
  statistic: 'signed ranks of the paired logarithms of squared errors at each norm',
  rule: 'holds if positive features have lower errors at every norm, beyond chance; refuted if higher at every norm; depends if lower at one and higher at another',
  plans,
  judge,
} satisfies TestedClaim
