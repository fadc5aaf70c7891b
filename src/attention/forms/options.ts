/** Option fragments that several estimators share. */
import {z} from 'zod'
import {denominatorGuard, type Guard, parseGuard} from '../kernels/guard.js'

/** Guard on the denominator; the causal form of some libraries uses another one. */
export const guardOptions = {
  denGuard: denominatorGuard.default('none').describe('guard on the denominator'),
  causalDenGuard: denominatorGuard
    .nullable()
    .default(null)
    .describe('guard of the causal form; null: as denGuard'),
}

/** The guard in force; none for methods without such options. */
export function guardOf(
  options: {denGuard?: string; causalDenGuard?: string | null},
  causal: boolean,
): Guard {
  return parseGuard((causal ? options.causalDenGuard : null) ?? options.denGuard ?? 'none')
}

/** Why guards have no part in kernel estimates. */
export const GUARDS_IDLE = {
  denGuard: 'a guard acts on the denominator, not on phi',
  causalDenGuard: 'a guard acts on the denominator, not on phi',
} as const

/** Why this epsilon has none. */
export const NORMALIZER_IDLE = {
  normalizerEpsilon: 'it is added to sums over keys, not to phi',
} as const

/** Why a pair has no estimate where an epsilon is added to features that were shifted by a maximum. */
export const SHIFTED_EPSILON =
  'stabilizer "max" makes featureEpsilon count by the largest feature of the sequence, and a pair by itself has no sequence (try stabilizer=none)'

/** Why a shift has no part in kernel estimates. */
export const SHIFT_CANCELS = 'its shift cancels in the ratio of attention'

/** Why options on features have no effect where only logarithms are formed. */
export const LOG_HAS_NO_FEATURES = 'stabilizer "log" forms no features to scale or to add to'

/** Why guards do nothing there either. */
const LOG_HAS_NO_DENOMINATOR =
  'stabilizer "log" divides by no sum that could vanish, so there is nothing to guard'

/** Guards where only logarithms of features are formed. */
export const GUARDS_UNUSED = {
  denGuard: LOG_HAS_NO_DENOMINATOR,
  causalDenGuard: LOG_HAS_NO_DENOMINATOR,
} as const

/** Epsilon added to every feature after the nonlinearity. */
export const featureEpsilon = z
  .number()
  .nonnegative()
  .default(0)
  .describe('added to every feature: pulls the output towards the mean of V')

/** Epsilon added to every running sum of key features in the causal form. */
export const normalizerEpsilon = z
  .number()
  .nonnegative()
  .default(0)
  .describe('causal only: added to each running sum of key features')

/** A number of tokens, or of rows or columns of them: at most a million. */
export const tokenCount = z
  .int()
  .positive()
  .max(2 ** 20)

/** Spread of noise around a centre. */
export const noiseScale = z
  .enum(['canonical', 'official'])
  .default('canonical')
  .describe(
    'canonical: N(0, I) around scaled vectors; official: N(0, I) around unscaled ones, which is too narrow',
  )

/** Standard deviation of the noise in units of unscaled vectors. */
export function noiseDeviation(scale: z.output<typeof noiseScale>, inputScale: number): number {
  return scale === 'canonical' ? 1 / inputScale : 1
}
