/** Means over replicates and whether they are worth comparing. */

import {finiteOrNull, mean, variance} from '../../../stats/index.js'
import type {ResolvedMethod} from '../../method.js'
import {type ErrorSweepResult, LEAST_FOR_ERRORS, type MeansUnknown} from '../schema.js'
import type {ErrorSplit} from './moments.js'
import type {Replicate} from './replicates.js'

/** The split of the mean squared error, the standard errors of its parts, or why there are none. */
type Means = Pick<
  ErrorSweepResult,
  | 'bias_squared'
  | 'variance'
  | 'mse_standard_error'
  | 'bias_squared_standard_error'
  | 'variance_standard_error'
  | 'means_unknown'
>

/** All of one draw's share of the squared error that a mean over draws can bear. */
const LARGEST_SHARE = 0.5

/**
 * Bias, variance and standard errors of a cell. A method that draws nothing has bias only, without
 * error. Standard errors that would mislead are left out: a squared error without a mean (see
 * `MEANS_UNKNOWN`) has averages and spreads of every size, whatever the number of draws.
 */
export function means(
  method: Pick<ResolvedMethod, 'random' | 'estimator'>,
  {replicates, split}: {replicates: readonly Replicate[]; split: ErrorSplit},
): Means {
  const errors = replicates.map(({all}) => all.mse)
  if (!method.random && replicates.length === 1 && Number.isFinite(errors[0])) {
    return {...nothingDrawn, bias_squared: errors[0]!, variance: 0}
  }
  const unknown = whyUnknown(method, replicates)
  const known = (value: number | null) => (unknown === null ? value : null)
  return {
    bias_squared: split.biasSquared.value,
    variance: split.variance.value,
    mse_standard_error: known(finiteOrNull(Math.sqrt(variance(errors) / errors.length))),
    bias_squared_standard_error: known(split.biasSquared.standardError),
    variance_standard_error: known(split.variance.standardError),
    means_unknown: unknown,
  }
}

const nothingDrawn = {
  mse_standard_error: 0,
  bias_squared_standard_error: 0,
  variance_standard_error: 0,
  means_unknown: null,
}

function whyUnknown(
  {estimator}: Pick<ResolvedMethod, 'estimator'>,
  replicates: readonly Replicate[],
): MeansUnknown | null {
  const errors = replicates.map(({all}) => all.mse)
  if (!errors.every(Number.isFinite)) return 'not_finite'
  // a density that is positive at zero: 1 / den^2 has no mean
  if (!estimator.nonNegative && replicates.some(({negativePct}) => negativePct > 0)) {
    return 'sign_changes'
  }
  if (replicates.length < LEAST_FOR_ERRORS) return 'few_replicates'
  const share = Math.max(...errors) / (mean(errors) * errors.length)
  return share > LARGEST_SHARE ? 'one_draw' : null
}
