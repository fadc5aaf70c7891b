/** What draws say about bias and variance, and where they must not be asked. */

import {
  finiteOrNull,
  logInterval,
  mean,
  ratioStandardError,
  sampleKurtosis,
  squaresCorrelation,
  variance,
} from '../../../stats/index.js'
import {type Moments, varianceStandardError} from '../../../theory/moments.js'
import type {VarianceResult} from '../schema.js'
import type {ExactFields} from './exact.js'
import {roundingVariance} from './rounding.js'
import {pairedError, type WeightedMoments} from './weighted.js'

/** A row of the result, without what theory says of its rows and how they are seen. */
export type ProjectionRow = Omit<
  VarianceResult['per_projection'][number],
  keyof ExactFields | 'all_directions' | 'logarithms'
>

/** Largest relative standard error of a variance that is reported as measured. */
const LARGEST_ERROR = 0.1

/** What theory knows before anything is drawn. */
export interface Theory {
  /** For M i.i.d. rows. */
  moments: Moments
  /** The product of one row is bounded by a few standard deviations. */
  bounded: boolean
  /** F */
  featureDim: number
}

/** Estimates of one projection, drawn as its rows are, with what decides how far to trust them. */
export interface Sample {
  projection: string
  estimates: Float64Array
  variance: number
  /** Excess kurtosis of one estimate; for rows that are not i.i.d. an estimate of it. */
  kurtosis: number
}

/** Moments of a projection, from draws with weights. */
export interface WeightedSample {
  projection: string
  draws: number
  /** That these draws stand for. */
  replicates: number
  weighted: WeightedMoments
}

/** No number of this row was measured. */
const NOTHING = {
  mean: null,
  bias_z: null,
  variance: null,
  variance_low: null,
  variance_high: null,
  relative_mse: null,
  ratio_to_iid: null,
  ratio_low: null,
  ratio_high: null,
}

/**
 * A sample and its kurtosis. The kurtosis of i.i.d. rows is known; for other rows this is an estimate. If joint
 * cumulants of different products vanish, the fourth cumulant of their sum is the same as for i.i.d. rows, while
 * the variance changes by the factor rho (measured), so excess kurtosis becomes kurtosis / rho^2. Where rho > 1,
 * products repeat each other, rho of them counting as one, and it becomes rho kurtosis. Where products cancel in
 * the tail, too, joint cumulants are negative and the estimate is too large: intervals cover more often than they
 * say. It is never below the kurtosis of the sample; for bounded products the kurtosis of the sample is used
 * instead.
 *
 * @param independent - rows are i.i.d.
 */
export function sampleOf(
  projection: string,
  estimates: Float64Array,
  {moments, bounded}: Theory,
  independent: boolean,
): Sample {
  const spread = variance(estimates)
  if (independent) {
    const {kurtosis} = moments
    return {projection, estimates, variance: spread, kurtosis}
  }
  const seen = Math.max(moments.kurtosis, sampleKurtosis(estimates))
  const ratio = spread / moments.variance
  const scaled = moments.kurtosis * Math.max(ratio, 1 / ratio ** 2)
  return {
    projection,
    estimates,
    variance: spread,
    kurtosis: bounded ? seen : Math.max(seen, scaled),
  }
}

/**
 * Whether theory leaves nothing to measure: a variance of at most the square of the rounding error at the size of
 * the mean.
 */
export function isWithoutSpread({moments, featureDim}: Theory): boolean {
  return moments.variance <= roundingVariance(Math.abs(moments.mean), featureDim)
}

/**
 * Whether a number of draws is too small to measure a spread. This is known before any draw: the kurtosis that rows
 * are judged by only grows where they are not i.i.d., unless the kurtosis of a sample may be used.
 */
export function isHopeless({moments, bounded}: Theory, replicates: number): boolean {
  return !bounded && !(varianceStandardError(moments.kurtosis, replicates) <= LARGEST_ERROR)
}

/** The row of a projection without draws; the replicates it needs are at least those of i.i.d. rows. */
export function hopelessRow(
  projection: string,
  {moments}: Theory,
  replicates: number,
): ProjectionRow {
  const error = varianceStandardError(moments.kurtosis, replicates)
  return withheldRow({projection, estimator: 'plain', row_draws: 0}, {error, tried: replicates})
}

/** The row of one sample. @param iid - the sample of i.i.d. rows, where that is another one */
export function rowOf(
  sample: Sample,
  theory: Theory,
  iid: Sample | WeightedSample | undefined,
): ProjectionRow {
  const {projection, estimates, kurtosis} = sample
  const drawn = {projection, estimator: 'plain', row_draws: estimates.length} as const
  const unmeasured = {...drawn, needed_replicates: null, variance_relative_standard_error: null}
  if (isWithoutSpread(theory)) {
    const withheld = 'theory leaves no spread: what varies is rounding'
    return {...unmeasured, withheld, ...NOTHING, ...seenOf(sample, theory)}
  }
  if (!Number.isFinite(sample.variance)) return {...unmeasured, withheld: OUT_OF_RANGE, ...NOTHING}
  if (sample.variance <= roundingVariance(mean(estimates.map(Math.abs)), theory.featureDim)) {
    const withheld = 'these rows leave no spread: what varies is rounding'
    return {...unmeasured, withheld, ...NOTHING, ...seenOf(sample, theory)}
  }
  const error = varianceStandardError(kurtosis, estimates.length)
  if (!(error <= LARGEST_ERROR)) return withheldRow(drawn, {error, tried: estimates.length})
  return {
    ...unmeasured,
    withheld: null,
    variance_relative_standard_error: error,
    ...measured(sample, theory, error),
    ...ratioTo(iid, sample),
  }
}

const OUT_OF_RANGE = 'estimates leave the range of float32'

/** The row of a sample with weights. @param iid - as {@link rowOf} takes it */
export function weightedRowOf(
  sample: WeightedSample,
  {moments}: Theory,
  iid: Sample | WeightedSample | undefined,
): ProjectionRow {
  const {projection, draws, replicates, weighted} = sample
  const {mean: average, meanError, variance: spread, error, meanSquare} = weighted
  const drawn = {projection, estimator: 'tilted', row_draws: draws} as const
  if (!Number.isFinite(spread) || !Number.isFinite(error)) {
    const unmeasured = {needed_replicates: null, variance_relative_standard_error: null}
    return {...drawn, ...unmeasured, withheld: OUT_OF_RANGE, ...NOTHING}
  }
  if (isTooWide(weighted)) return withheldRow(drawn, {error, tried: replicates})
  const {low, high} = logInterval(spread, error)
  return {
    ...drawn,
    withheld: null,
    needed_replicates: null,
    variance_relative_standard_error: error,
    mean: average,
    bias_z: (average - moments.mean) / meanError,
    variance: spread,
    variance_low: low,
    variance_high: high,
    relative_mse: finiteOrNull(meanSquare / moments.mean ** 2),
    ...ratioTo(iid, sample),
  }
}

/** Whether weighted draws are too few to be shown; more may do. */
export function isTooWide({variance: spread, error}: WeightedMoments): boolean {
  return Number.isFinite(spread) && error > LARGEST_ERROR
}

/** Standard errors beyond which a number is looked at again: one in 370 is, where nothing is wrong. */
const SURPRISING = 3

/**
 * Whether weighted draws are far from what is known of their rows. All draws then decide: chance goes, what is wrong stays.
 *
 * @param exact - the variance; `undefined`: nothing is known
 */
export function isSurprising(
  {mean: average, meanError, variance: spread, error}: WeightedMoments,
  {moments}: Theory,
  exact: number | undefined,
): boolean {
  if (exact === undefined || !(exact > 0)) return false
  const z = Math.max(
    Math.abs(average - moments.mean) / meanError,
    Math.abs(Math.log(spread / exact)) / error,
  )
  return z > SURPRISING
}

type Drawn = Pick<ProjectionRow, 'projection' | 'estimator' | 'row_draws'>

/** Without anything measured: these draws are too few to show the tail. */
function withheldRow(drawn: Drawn, {error, tried}: {error: number; tried: number}): ProjectionRow {
  const needed = Math.ceil(tried * (error / LARGEST_ERROR) ** 2)
  const withheld = Number.isFinite(needed)
    ? `${tried} replicates are too few for this tail`
    : 'no fourth moment that a double holds'
  return {
    ...drawn,
    withheld,
    variance_relative_standard_error: finiteOrNull(error),
    needed_replicates: finiteOrNull(needed),
    ...NOTHING,
  }
}

/** What a row says of a sample that does not vary. */
function seenOf(sample: Sample, theory: Theory) {
  return {
    mean: finiteOrNull(mean(sample.estimates)),
    variance: finiteOrNull(sample.variance),
    relative_mse: finiteOrNull(relativeMeanSquare(sample, theory)),
  }
}

function measured(sample: Sample, theory: Theory, error: number) {
  const {estimates, variance: spread} = sample
  const average = mean(estimates)
  const {low, high} = logInterval(spread, error)
  return {
    mean: average,
    bias_z: (average - theory.moments.mean) / Math.sqrt(spread / estimates.length),
    variance: spread,
    variance_low: low,
    variance_high: high,
    relative_mse: finiteOrNull(relativeMeanSquare(sample, theory)),
  }
}

function relativeMeanSquare({estimates}: Sample, {moments}: Theory): number {
  return mean(estimates.map(estimate => (estimate - moments.mean) ** 2)) / moments.mean ** 2
}

/**
 * Variance over that of i.i.d. rows at the same M. Rows are made from the same random numbers as the i.i.d. ones of the
 * same replicate: what errors of the two variances have in common is measured, whatever rows are made of. Draws with
 * weights and such without are independent.
 */
function ratioTo(iid: Sample | WeightedSample | undefined, sample: Sample | WeightedSample) {
  const none = {ratio_to_iid: null, ratio_low: null, ratio_high: null}
  if (!iid) return none
  const [own, other] = [spreadOf(sample), spreadOf(iid)]
  if (!Number.isFinite(other.variance) || !(other.error <= LARGEST_ERROR)) return none
  const ratio = own.variance / other.variance
  const {low, high} = logInterval(ratio, ratioError(sample, iid))
  return {ratio_to_iid: ratio, ratio_low: low, ratio_high: high}
}

function spreadOf(sample: Sample | WeightedSample): {variance: number; error: number} {
  if ('weighted' in sample) return sample.weighted
  const {variance: spread, kurtosis, estimates} = sample
  return {variance: spread, error: varianceStandardError(kurtosis, estimates.length)}
}

function ratioError(sample: Sample | WeightedSample, iid: Sample | WeightedSample): number {
  if ('weighted' in sample && 'weighted' in iid) return pairedError(sample.weighted, iid.weighted)
  const [own, other] = [spreadOf(sample).error, spreadOf(iid).error]
  if ('weighted' in sample || 'weighted' in iid) return Math.hypot(own, other)
  return ratioStandardError(own, other, squaresCorrelation(sample.estimates, iid.estimates))
}
