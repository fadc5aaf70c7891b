import {allOf, answersOf, verdictOf} from '../../answers/index.js'
import {loadInput} from '../../inputs/load.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {cellOf, compared, logErrors, openText, ratioQuantity} from '../evidence/comparisons.js'
import {canonicalHeads, denseGain} from '../evidence/second-moments.js'
import {boundsOf, testsAbove} from '../evidence/tests.js'
import {layerPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

/** Diffuse heads and peaked ones. */
const LAYERS = ['charlm-layer0', 'charlm-layer3'] as const
const FEATURES = 256
/** In nats; about that counts from half of it on. */
const [CLAIMED, ABOUT] = [10, 5]
/** Where one errs less, by a multiple of the spread. */
const EFFECT = 2

const runOf = (layer: string) => `h25-${layer}`

function plans({effort, seed}: PlanRequest) {
  const planOf = (layer: (typeof LAYERS)[number]) =>
    layerPlanOf(layer, {
      methods: [{method: 'oprf'}, {method: 'sderf'}],
      projections: ['iid'],
      numFeatures: [FEATURES],
      targets: ['raw'],
      replicates: effort === 'quick' ? 14 : 60,
      seed,
    })
  return Object.fromEntries(LAYERS.map(layer => [runOf(layer), planOf(layer)]))
}

/** What one layer says. */
async function layerRow(runs: ClaimRuns, layer: string) {
  const records = runs.sweep(runOf(layer))
  const [single, dense] = ['oprf', 'sderf'].map(method => cellOf(records, {method}))
  const {input, seq_len: seqLen, seed} = single!.cell
  const heads = canonicalHeads(await loadInput(input, {seqLen, seed}))
  const gains = heads.map(head => denseGain(head))
  const errors = compared(logErrors(dense!), logErrors(single!), {
    name: `${layer}: squared error of SDERF over GERF, M = ${FEATURES}`,
    effect: EFFECT,
  })
  // the head that gains most is the best case of the sentence
  const best = gains.reduce((most, gain) => (gain.value > most.value ? gain : most))
  return {layer, gains, best, errors}
}

async function judge(runs: ClaimRuns): Promise<Judgement> {
  const rows = await Promise.all(LAYERS.map(layer => layerRow(runs, layer)))
  return {
    quantities: rows.flatMap(({layer, gains, errors}) => [
      ...gains.map((gain, head) => ({
        name: `${layer}, head ${head}: ln of the second moment of GERF over SDERF`,
        ...gain,
        expected: CLAIMED,
      })),
      ratioQuantity(errors),
    ]),
    tests: rows.flatMap(({layer, best, errors}) => [
      ...testsAbove(`${layer}: the largest gain`, boundsOf(best), ABOUT, `${ABOUT} nats`),
      ...errors.tests,
    ]),
    decide(rejected) {
      const pairs = answersOf(rejected)
      const answers = rows.map((_, at) => allOf(pairs.slice(2 * at, 2 * at + 2)))
      const moments = rows.map(({best}) => `e^${best.value.toFixed(1)}`).join(' and ')
      const errors = rows.map(row => row.errors.ratio.value.toPrecision(2)).join(' and ')
      const layers = rows.map(({layer}) => layer).join(' and ')
      const errorAnswers = rows.map((_, at) => pairs[2 * at + 1]!)
      return {
        verdict: verdictOf(answers),
        statement: `second moments of GERF over SDERF: ${moments} (${layers}); squared errors of SDERF over GERF: ${errors}${openText(
          rows.map(({errors}) => errors),
          errorAnswers,
        )}`,
        explanation:
          'A dense exponent gives each axis of x + y its number. It gains much where a few axes are long, as in layers with peaked heads, and little where all are alike. The second moment of a kernel estimate includes tails that outputs of 256 vectors never see. Its ratio says which layer gains, not how much: squared errors of outputs fall by far less.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H25',
  sentence:
    'Dense exponents (SDERF) vary about e^10 times less than one for all axes (GERF) on heterogeneous data',
  source: 'Likhosherstov et al. 2023, arXiv:2302.00787',
  paper: 'about e^10 (quoted from summaries)',
  ours: 'first and last layer of a trained character model in both directions; second moments of all pairs in closed form, with the exponents that are best there, and errors of outputs with 256 vectors',
  statistic:
    'mean over pairs of the logarithm of the ratio of second moments, of the head where it is largest, by the t interval over tokens; signed ranks of the paired logarithms of squared errors',
  rule: `true of a layer if that is above ${ABOUT} nats and errors are lower, beyond chance; not if it is below, or errors are higher, beyond chance; depends if one layer is as claimed and the other not`,
  plans,
  judge,
} satisfies TestedClaim
