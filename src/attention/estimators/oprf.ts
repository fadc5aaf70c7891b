import * as tf from '@tensorflow/tfjs-core'
import {z} from 'zod'
import {optimalExponent, swappedExponent} from '../../theory/exponential.js'
import {defineEstimator, type KernelFacts} from '../forms/estimator.js'
import {
  exponentialCost,
  exponentialFacts,
  exponentialForms,
  exponentialOptions,
} from '../forms/exponential/forms.js'
import {meanSum2, scalarExponent} from '../forms/exponential/parameters.js'
import {
  featureEpsilon,
  GUARDS_IDLE,
  guardOptions,
  LOG_HAS_NO_FEATURES,
  SHIFT_CANCELS,
  SHIFTED_EPSILON,
} from '../forms/options.js'
import {releasedAttention} from '../forms/released/exponential.js'
import type {CalibrationPairs} from '../types.js'

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
  stabilizer: z
    .enum(['log', 'max'])
    .default('log')
    .describe('log: exact, in the log domain; max: shifts by maxima of W x'),
  sums: z
    .enum(['pairs', 'own-length'])
    .default('pairs')
    .describe(
      'with max only: own-length divides both sums of squares by the number of tokens of the mapped side',
    ),
  scaledTwice: z
    .boolean()
    .default(false)
    .describe('with max only: x and y times D^(-1/4) once more'),
  featureEpsilon,
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

/** x times this is what features are formed of. */
function secondScale({stabilizer, scaledTwice}: Options, headDim: number): number {
  return stabilizer === 'max' && scaledTwice ? headDim ** -0.25 : 1
}

const times = (factor: number) => (x: Float64Array) => (factor === 1 ? x : x.map(e => e * factor))

/** Calibration pairs that are scaled twice, made once for all calls of a cell. */
const twice = new WeakMap<CalibrationPairs, CalibrationPairs>()
function scaledPairs(pairs: CalibrationPairs, factor: number): CalibrationPairs {
  if (factor === 1) return pairs
  const before = twice.get(pairs)
  if (before) return before
  const made = {query: pairs.query.map(times(factor)), key: pairs.key.map(times(factor))}
  twice.set(pairs, made)
  return made
}

/** The pair's features: those of the exact form, of vectors that may have been scaled once more. */
const kernel: KernelFacts<Options> = {
  formula: ({stabilizer, scaledTwice}) =>
    stabilizer === 'max' && scaledTwice ? 'exp(x.y / D^(1/2))' : 'exp(x.y)',
  moments(x, y, {options, calibration, numFeatures}) {
    const factor = secondScale(options, x.length)
    const scale = times(factor)
    const pairs = scaledPairs(calibration, factor)
    return forms.kernel.moments(scale(x), scale(y), {numFeatures, options, calibration: pairs})
  },
  features(x, projection, options, draw) {
    const factor = secondScale(options, x.shape[3])
    const calibration = scaledPairs(draw.calibration, factor)
    return forms.kernel.features(tf.mul(x, factor), projection, options, {...draw, calibration})
  },
  refuses: ({stabilizer, featureEpsilon}) =>
    stabilizer === 'max' && featureEpsilon > 0 ? SHIFTED_EPSILON : undefined,
  idle: ({stabilizer, scaledTwice, a}) => ({
    ...forms.kernel.idle(),
    ...GUARDS_IDLE,
    ...(!(stabilizer === 'max' && scaledTwice) && {stabilizer: SHIFT_CANCELS}),
    ...(stabilizer === 'log' && {
      featureEpsilon: LOG_HAS_NO_FEATURES,
      sums: LOG_HAS_NO_FEATURES,
      scaledTwice: LOG_HAS_NO_FEATURES,
    }),
    ...(stabilizer === 'max' && {
      sums: 'it changes nothing where there are as many keys as queries',
    }),
    ...(a !== null && {rule: 'a is given', sums: 'a is given'}),
  }),
}

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
  kernel,
  varianceLaw: 'optimal-positive',
  cost: shape => exponentialCost(shape, 2),
  refuses: ({stabilizer}) => (stabilizer === 'log' ? {} : {decode: NO_DECODER}),
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
        'scales by D^(-1/4) twice, so that it attends at scale 1/D; its two sides get different A, and stop pairing up, where there are not as many keys as queries; adds 1e-6 to every feature',
    },
  },
})

const NO_DECODER =
  'expected stabilizer "log" for decoding, got "max", whose key maximum needs the whole sequence'
