import {z} from 'zod'
import {optimalExponent, swappedExponent} from '../../theory/exponential.js'
import {defineEstimator} from '../forms/estimator.js'
import {
  exponentialCost,
  exponentialFacts,
  exponentialForms,
  exponentialOptions,
} from '../forms/exponential/forms.js'
import {meanSum2, scalarExponent} from '../forms/exponential/parameters.js'
import {guardOptions} from '../forms/options.js'
import {
  LOG_UNUSED,
  releasedAttention,
  releasedKernel,
  releasedOptions,
} from '../forms/released/exponential.js'

/**
 * Optimal positive random features (FAVOR++ with orthogonal rows).
 *
 * `phi(x)_s = M^(-1/2) (1-4A)^(D/4) exp(A|w_s|^2 + (1-4A)^(1/2) w_s.x - |x|^2/2)`, rows `w_s ~ N(0, I)`,
 * canonical x. A per head, from the mean of |x+y|^2 over all pairs of the call, of `calibration`, or of a
 * causal call's first `prefix` tokens; gradients take it as a constant. Relative variance of a pair:
 * `((1-4A)^D (1-8A)^(-D/2) exp(|x+y|^2 / (1-8A)) - 1) / M`.
 *
 * Source: Likhosherstov et al. 2022, arXiv:2205.15317, theorem 3.1 and section 3.2.
 */
const options = z.object({
  a: z
    .number()
    .lt(0.125)
    .nullable()
    .default(null)
    .describe('A, below 1/8; null: the best one for the statistics of queries and keys'),
  rule: z
    .enum(['optimal', 'swapped'])
    .default('optimal')
    .describe('formula of A; swapped: with D and the mean of |x+y|^2 exchanged, never better'),
  ...releasedOptions,
  ...guardOptions,
  ...exponentialOptions,
})
type Options = z.output<typeof options>

const RULES = {optimal: optimalExponent, swapped: swappedExponent}

const forms = exponentialForms<Options>({
  name: 'oprf',
  moments: ({a}) => (a === null ? 'diagonal' : 'none'),
  parameters: (moments, {a, rule}) => ({
    exponent: a ?? scalarExponent(meanSum2(moments), moments.mean.query.length, RULES[rule]),
  }),
})

export default defineEstimator({
  ...exponentialFacts,
  ...forms,
  name: 'oprf',
  title: 'FAVOR++ optimal positive features',
  citation: 'Likhosherstov et al. 2022, arXiv:2205.15317',
  formula: 'phi(x) = M^(-1/2) (1-4A)^(D/4) exp(A|w|^2 + (1-4A)^(1/2) W x - |x|^2/2)',
  advice:
    'Use it instead of favor-pos wherever |x+y|^2 is not small: the same cost and guarantees with far less variance. Causal and decode need a prefix or calibration tokens.',
  options,
  // A is a number: w.A w is that times |w|^2
  kernel: {...releasedKernel(forms.kernel), rowsBy: 'lengths'},
  varianceLaw: 'optimal-positive',
  positiveHead: (head, options) =>
    options.stabilizer === 'log' ? forms.positiveHead(head, options) : undefined,
  givesRows: ({stabilizer}) => stabilizer === 'log',
  cost: shape => exponentialCost(shape, 2),
  refuses: ({stabilizer}) => (stabilizer === 'log' ? {} : {decode: NO_DECODER}),
  unused: ({stabilizer}) => (stabilizer === 'log' ? LOG_UNUSED : {}),
  couplesHeads: ({stabilizer}) => stabilizer === 'max',
  attend: inputs =>
    inputs.options.stabilizer === 'log'
      ? forms.attend(inputs)
      : releasedAttention(inputs, RULES[inputs.options.rule]),
  presets: {
    'tf-models': {
      options: {
        stabilizer: 'max',
        sums: 'own-length',
        scaledTwice: true,
        featureEpsilon: 1e-6,
        denGuard: 'add:1e-6',
      },
      quirk:
        'scales by D^(-1/4) twice, so it attends at scale 1/D; with unequal numbers of queries and keys, the two sides get different A and no longer match; adds 1e-6 to every feature',
    },
  },
})

const NO_DECODER =
  'expected stabilizer "log" for decoding, got "max": its maximum over keys needs the whole sequence'
