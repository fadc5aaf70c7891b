/**
 * Generalised attention: features f(W x) or f(x) for any f, with the options that public code has. The kernel is
 * `E f(w.x) f(w.y)`, whatever f makes of it.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, section 2.4.
 */

import {z} from 'zod'
import {tf} from '../../tf.js'
import {project} from '../kernels/index.js'
import type {PhiInputs} from './feature-map.js'
import {
  featureEpsilon,
  GUARDS_IDLE,
  guardOptions,
  NORMALIZER_IDLE,
  normalizerEpsilon,
} from './options.js'

/** Options of every f. */
export const generalizedOptions = z.object({
  features: z
    .enum(['random', 'deterministic'])
    .default('random')
    .describe('random: f(W x); deterministic: f(x), no projection'),
  inputScaling: z
    .enum(['canonical', 'raw'])
    .default('canonical')
    .describe('canonical: inputs times sqrt(logit scale); raw: as they are'),
  featureEpsilon,
  normalizerEpsilon,
  ...guardOptions,
})
export type GeneralizedOptions = z.output<typeof generalizedOptions>

/** Facts that do not depend on f, as long as it is nowhere negative. */
export const generalizedFacts = {
  nonNegative: true,
  projection: {
    default: 'orth',
    used: ({features}: Pick<GeneralizedOptions, 'features'>) => features === 'random',
  },
  featureDim: (
    numFeatures: number,
    headDim: number,
    {features}: Pick<GeneralizedOptions, 'features'>,
  ) => (features === 'random' ? numFeatures : headDim),
  inputs: ({inputScaling}: Pick<GeneralizedOptions, 'inputScaling'>) => inputScaling,
} as const

/** What f is applied to: W x for random features, else x; `[B, H, n, F]`. */
export function generalizedArgument(
  tokens: tf.Tensor4D,
  {inputScale, projection, options}: Pick<PhiInputs<GeneralizedOptions>, ArgumentInputs>,
): tf.Tensor4D {
  const x: tf.Tensor4D = inputScale === 1 ? tokens : tf.mul(tokens, inputScale)
  return options.features === 'random' ? project(x, projection!) : x
}
type ArgumentInputs = 'inputScale' | 'projection' | 'options'

/**
 * phi of any f: `f(argument) + epsilon`, one value per row of W or per entry of x. The factor M^(-1/2) cancels in
 * the ratio and is left out.
 */
export function generalizedPhi(f: (argument: tf.Tensor4D) => tf.Tensor4D) {
  return (inputs: PhiInputs<GeneralizedOptions>) =>
    (tokens: tf.Tensor4D): tf.Tensor4D =>
      tf.add(f(generalizedArgument(tokens, inputs)), inputs.options.featureEpsilon)
}

/** Options that no kernel estimate knows; `deterministic` features have none. */
export const GENERALIZED_IDLE = {...GUARDS_IDLE, ...NORMALIZER_IDLE}

/**
 * The end of a kernel's formula: what epsilon is, and what x is where it is not canonical.
 *
 * @param epsilon - 0 for none
 */
export function generalizedSuffix(
  {inputScaling}: Pick<GeneralizedOptions, 'inputScaling'>,
  epsilon: string | number,
): string {
  const parts = [
    ...(epsilon === 0 ? [] : [`e = ${epsilon}`]),
    ...(inputScaling === 'raw' ? ['x = q'] : []),
  ]
  return parts.map(part => `, ${part}`).join('')
}
