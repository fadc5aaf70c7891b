import {z} from 'zod'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
  seed,
} from '../../results/record.js'
import {drawAxes, drawSettings, featureDim, methodAxes, methodSpec, sizeFields} from '../axes.js'
import {type Counted, mostReplicates, untilCi} from '../until-ci.js'

const index = (what: string) => z.int().nonnegative().describe(`Index of the ${what} of the pair.`)

/** Where a pair stands in an input. */
const sampledPlace = {
  batch: index('sequence'),
  head: index('head'),
  query_index: index('query'),
  key_index: index('key'),
}

const sampledPair = z.object({
  ...sampledPlace,
  norm: z.number().nonnegative().describe('Euclidean norm of the canonical query.'),
  key_norm: z.number().nonnegative().describe('Euclidean norm of the canonical key.'),
  angle_deg: z.number().meta({unit: 'degrees', description: 'Angle between them.'}),
})
export type SampledPair = z.infer<typeof sampledPair>

/** Pairs of an input, or by norms and angles, or by sums and differences, each of them whole. */
function hasPairs(plan: {
  norms: readonly number[]
  angles_deg: readonly number[]
  sum_norms?: readonly number[] | undefined
  difference_norms?: readonly number[] | undefined
  sampled?: object | undefined
}): boolean {
  const byNorm = [plan.norms, plan.angles_deg].filter(axis => axis.length > 0).length
  const bySum = [plan.sum_norms, plan.difference_norms].filter(axis => axis !== undefined).length
  if (plan.sampled) return byNorm + bySum === 0
  return byNorm !== 1 && bySum !== 1 && byNorm + bySum > 0
}

/** What stops draws before the last one. */
const stopping = {
  until_ci: untilCi
    .optional()
    .describe(
      'The number of draws doubles until every interval (of the ratio to iid, or else of the variance) is narrow enough, starting from `replicates`. Absent: it is `replicates`.',
    ),
  precision: z
    .number()
    .positive()
    .optional()
    .describe('Earlier name of `until_ci.relative_half_width`; still read, no longer written.'),
  max_draws: z
    .int()
    .min(2)
    .optional()
    .describe('Earlier name of `until_ci.max_replicates`; still read, no longer written.'),
}

const norms = z.array(z.number().nonnegative())

/** Everything that determines a variance experiment. */
export const variancePlan = z
  .object({
    experiment: z.literal('variance').describe('Name of the experiment.'),
    ...methodAxes,
    ...drawAxes,
    head_dims: z
      .array(z.int().positive())
      .min(1)
      .describe('D, entries of a vector.')
      .meta({flag: 'head-dim'}),
    norms: norms.describe(
      'Euclidean norms of both canonical vectors; empty where pairs are given by sum and difference.',
    ),
    key_norms: norms
      .min(1)
      .optional()
      .describe(
        'Euclidean norms of y, each combined with each of `norms` for x; absent: both vectors have one norm.',
      ),
    angles_deg: z.array(z.number()).meta({
      unit: 'degrees',
      description: 'Angles between the vectors; empty as `norms`.',
      flag: 'angles',
    }),
    sum_norms: norms
      .min(1)
      .optional()
      .describe('|x + y| of pairs of equal norms that are given by |x + y| and |x - y|.'),
    difference_norms: norms
      .min(1)
      .optional()
      .describe('|x - y|, each combined with each of `sum_norms`.'),
    sampled: z
      .object({
        input: z.string().describe('Name of the input.'),
        pairs: z.array(sampledPair).min(1).describe('Pairs of a query and a key.'),
      })
      .optional()
      .describe(
        'Pairs of an input, by norms and angle, in planes that the seed chooses, or each draw if rows treat directions differently.',
      )
      .meta({flag: 'pairs'}),
    replicates: z.int().min(2).describe('R, independent draws; with `until_ci` the first of them.'),
    ...stopping,
    seed,
    backend: backendChoice,
  })
  .refine(hasPairs, {
    path: ['norms'],
    error: 'expected norms and angles_deg, or sum_norms and difference_norms, or sampled alone',
  })
export type VariancePlan = z.infer<typeof variancePlan>

/** One method at one budget: all pairs (norm, angle), all projections, so that ratios are paired. */
export const varianceCell = z.object({
  ...methodSpec.shape,
  projections: drawAxes.projections,
  ...drawSettings,
  num_features: z.int().positive().describe('M, number of random vectors.'),
  head_dim: sizeFields.head_dim,
  norm: z.number().describe('Euclidean norm of both canonical vectors, or of x.'),
  key_norm: z.number().optional().describe('Euclidean norm of y, if different.'),
  angle_deg: z.number().meta({unit: 'degrees', description: 'Angle between the vectors.'}),
  sum_norm: z
    .number()
    .optional()
    .describe('|x + y| of a pair that is given by it; norm and angle follow, to rounding.'),
  difference_norm: z.number().optional().describe('|x - y| of such a pair.'),
  batch: sampledPlace.batch.optional(),
  head: sampledPlace.head.optional(),
  query_index: sampledPlace.query_index.optional(),
  key_index: sampledPlace.key_index.optional(),
  replicates: z.int().describe('R, independent draws; with `until_ci` the first of them.'),
  ...stopping,
  seed,
  backend: backendChoice,
})
export type VarianceCell = z.infer<typeof varianceCell>

export type DrawCounts = Pick<VarianceCell, 'replicates' | keyof typeof stopping>

/** The same in the words of this version. */
export function replicatesOf({
  replicates,
  until_ci,
  precision,
  max_draws: most = replicates,
}: DrawCounts): Counted {
  if (precision === undefined) return {replicates, until_ci}
  const max_replicates = Math.max(most, replicates)
  return {replicates, until_ci: {relative_half_width: precision, max_replicates}}
}

export function mostDraws(cell: DrawCounts): number {
  return mostReplicates(replicatesOf(cell))
}

const projectionResult = z.object({
  projection: z.string().describe('Random matrix [M, D]; `none`: the method takes no matrix.'),
  all_directions: z
    .boolean()
    .default(false)
    .describe(
      'These rows treat directions differently, and each draw has a fresh one: numbers are averages over directions.',
    ),
  withheld: z
    .string()
    .nullable()
    .describe('Why numbers of this row are `null`; `null`: all were measured.'),
  estimator: z
    .enum(['plain', 'tilted'])
    .default('plain')
    .describe(
      '`plain`: draws are as the projection has them; `tilted`: a third are, in two thirds one row has the law that makes the first or second moment of its product, and draws have weights.',
    ),
  row_draws: z
    .int()
    .nullable()
    .default(null)
    .describe(
      'Draws of this row, of `tilted` ones a third of R, or R where a third leaves any of a cell with an error above 10 %, or more than 3 standard errors from what is exact; 0: none, as they would not do; `null`: of earlier records, not said.',
    ),
  variance_relative_standard_error: nullableNumber.describe(
    'Standard error of a measured variance: of `tilted` rows from the spread of weighted squares, else from the kurtosis; for `plain` rows that are not i.i.d. an estimate that takes joint cumulants as zero.',
  ),
  needed_replicates: nullableNumber.describe(
    'Fewest draws that would measure the row; `null`: it is measured, or no number is enough.',
  ),
  mean: nullableNumber.describe('Mean of the estimates.'),
  bias_z: nullableNumber.describe('(mean - expectation) / standard error.'),
  variance: nullableNumber.describe('Variance of the estimates over draws.'),
  variance_low: nullableNumber.describe('Lower end of a 95 % interval of the variance.'),
  variance_high: nullableNumber.describe('Upper end of that interval.'),
  relative_mse: nullableNumber.describe('Mean squared error over the square of the expectation.'),
  ratio_to_iid: nullableNumber.describe(
    'Variance over the variance of `iid` at the same M; `null` also where that is withheld.',
  ),
  ratio_low: nullableNumber.describe('Lower end of a 95 % interval of that ratio.'),
  ratio_high: nullableNumber.describe('Upper end of that interval.'),
  logarithms: z
    .object({
      draws: z.int().describe('R of these.'),
      mean: nullableNumber.describe('Mean; `null` where an estimate is not positive.'),
      low: nullableNumber.describe('5 % quantile; `null` where it is not positive.'),
      median: nullableNumber.describe('Median.'),
      high: nullableNumber.describe('95 % quantile.'),
    })
    .nullable()
    .default(null)
    .describe('ln(estimate / expectation), where the tail is too heavy for anything else.'),
  exact_variance: nullableNumber
    .default(null)
    .describe(
      'Variance of the estimate with these rows, exact; `null` where no closed form is known.',
    ),
  exact_z: nullableNumber
    .default(null)
    .describe('ln(variance / exact_variance) over the relative standard error of the variance.'),
  exact_ratio: nullableNumber
    .default(null)
    .describe('exact_variance over `closed_form_variance`; `null` as above, and for i.i.d. rows.'),
  theorem_bound: nullableNumber
    .default(null)
    .describe(
      'Upper bound on the mean squared error of positive features with orthogonal rows (arXiv:2009.14794v3 and later, Theorem 2); `null` elsewhere.',
    ),
})

export const varianceResult = z.object({
  ...computedBy,
  feature_dim: featureDim,
  kernel: z.string().describe('The kernel that these options estimate.'),
  expectation: nullableNumber.describe(
    'Expectation of the estimate with i.i.d. rows, exact; `null` where it leaves the range of doubles.',
  ),
  closed_form_variance: nullableNumber.describe(
    'Variance of the estimate with i.i.d. rows, exact; `null` as above, or where there is none.',
  ),
  closed_form_kurtosis: nullableNumber.describe(
    'Excess kurtosis of the estimate with i.i.d. rows, exact; `null` as above.',
  ),
  calibration_pairs: z
    .int()
    .nullable()
    .describe('Pairs that set the features; `null`: features do not depend on data.'),
  without_effect: z
    .record(z.string(), z.string())
    .describe('Options and values of the preset that do not change a kernel estimate, and why.'),
  draws: z
    .int()
    .nullable()
    .default(null)
    .describe(
      'R that were drawn, where an interval decides; 0: the allowed number is too small for every row.',
    ),
  per_projection: z.array(projectionResult).describe('Measurements of each projection.'),
})
export type VarianceResult = z.infer<typeof varianceResult>

export type VarianceRecord = CellRecord<VarianceCell, VarianceResult>
export type CompletedVariance = Completed<VarianceCell, VarianceResult>
