import {answersOf, verdictOf} from '../../answers/index.js'
import {YARDSTICK} from '../../experiments/averaging.js'
import type {CompletedSwap} from '../../experiments/swap/schema.js'
import {significant} from '../../report/numbers.js'
import {type CrossedEstimate, mapped, mean, meanOfTable} from '../../stats/index.js'
import type {Judgement, TestedClaim} from '../claim.js'
import {tableOf, variantsOf} from '../evidence/swaps.js'
import {testsAbove} from '../evidence/tests.js'
import {CHARLM_RUN, charlmRun} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

/** M of methods that have it. */
const FEATURES = 64

/** Slope of the straight line through numbers over 0, 1, 2, ..., by least squares. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const products = values.map((value, at) => (at - middle) * value)
  const squares = values.map((_, at) => (at - middle) ** 2)
  return mean(products) / mean(squares)
}

/** Slope of the logarithm of the error of hidden states over depth, in nats a layer. */
function growthOf(record: CompletedSwap): CrossedEstimate {
  return meanOfTable(
    tableOf(record, ({hidden_error}) => {
      const logs = hidden_error.map(error => Math.log(error ?? Number.NaN))
      return slopeOf(logs)
    }),
  )
}

function judge(runs: ClaimRuns): Judgement {
  const rows = variantsOf(runs.swap(CHARLM_RUN))
    .filter(({method}) => method !== YARDSTICK)
    .filter(({numFeatures}) => numFeatures === null || numFeatures === FEATURES)
    .map(({label, all, single}) => ({
      label,
      all: growthOf(all),
      // an error that is made once, through exact layers
      first: growthOf(single[0]!),
    }))
  return {
    quantities: rows.flatMap(({label, all, first}) => [
      {
        name: `${label}, all layers exchanged: factor of the error from layer to layer`,
        ...mapped(all.estimate, Math.exp),
      },
      {
        name: `${label}, layer 0 exchanged: factor of the error from layer to layer`,
        ...mapped(first.estimate, Math.exp),
      },
    ]),
    tests: rows.flatMap(({label, all}) =>
      testsAbove(`the slope of the logarithm of the error of ${label}`, all, 0),
    ),
    decide(rejected) {
      const answers = answersOf(rejected)
      const factors = (exchange: 'all' | 'first') =>
        rows
          .map(row => `${row.label} ${significant(Math.exp(row[exchange].estimate.value))}x`)
          .join(', ')
      const open = rows.filter((_, at) => answers[at] === 'open').map(({label}) => label)
      const tail = open.length > 0 ? `; not settled for ${open.join(', ')}` : ''
      return {
        verdict: verdictOf(answers),
        statement: `factor of the error from layer to layer: ${factors('all')}; of an exchange in layer 0 alone: ${factors('first')}${tail}`,
        explanation:
          'Every layer reads hidden states that are wrong already, and adds the error of its attention. An error that is made in layer 0 alone is carried through the exact layers above it: the second factor says whether these make it larger.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H18',
  sentence: 'The error of approximate attention grows from layer to layer',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, appendix D.1',
  paper:
    'outputs of a Transformer and of a Performer with its weights, against the number of layers; the sources at hand quote no number',
  ours: `the packaged character model of 4 layers with the attention of all layers exchanged, M = ${FEATURES}; relative L2 error of the hidden states after each layer`,
  statistic:
    'slope of the logarithm of the error over depth, mean over draws and groups of texts, by Student t along both',
  rule: 'holds if the slope is above zero for every method, beyond chance; refuted if it is below zero for every method; depends if both occur',
  plans: charlmRun,
  judge,
} satisfies TestedClaim
