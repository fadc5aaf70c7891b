import {z} from 'zod'
import {
  backendChoice,
  type CellRecord,
  type Completed,
  computedBy,
  nullableNumber,
} from '../../results/record.js'
import {itemTable} from '../../results/tables.js'
import {drawAxes, drawPoint, methodSpec} from '../axes.js'
import {defineExperiment} from '../experiment.js'

/** Everything that determines a variance experiment. */
export const variancePlan = z.object({
  experiment: z.literal('variance'),
  methods: z.array(methodSpec).min(1),
  ...drawAxes,
  head_dims: z.array(z.number().int().positive()).min(1),
  /** Euclidean norms of both canonical vectors. */
  norms: z.array(z.number().nonnegative()).min(1),
  /** Angles between them, in degrees. */
  angles_deg: z.array(z.number()).min(1),
  replicates: z.number().int().min(2),
  seed: z.number().int().nonnegative(),
  backend: backendChoice,
})
export type VariancePlan = z.infer<typeof variancePlan>

/** One method at one budget: all pairs (norm, angle), all projections, so that ratios are paired. */
export const varianceCell = z.object({
  ...methodSpec.shape,
  projections: drawAxes.projections,
  orth_sign: drawPoint.orth_sign,
  num_features: z.number().int().positive(),
  head_dim: z.number().int().positive(),
  norm: z.number(),
  angle_deg: z.number(),
  replicates: z.number().int(),
  seed: z.number().int(),
  backend: backendChoice,
})
export type VarianceCell = z.infer<typeof varianceCell>

export const varianceResult = z.object({
  ...computedBy,
  feature_dim: z.number().int(),
  /** The kernel that these options estimate. */
  kernel: z.string(),
  /** Moments for i.i.d. rows, exact; `null` where they leave the range of doubles, or do not exist. */
  expectation: nullableNumber,
  closed_form_variance: nullableNumber,
  /** Excess kurtosis of one estimate. */
  closed_form_kurtosis: nullableNumber,
  /** Pairs that data-dependent features were set by; `null` for features that depend on none. */
  calibration_pairs: z.number().int().nullable(),
  /** Options and values of the preset that have no part in a kernel estimate, with the reason. */
  without_effect: z.record(z.string(), z.string()),
  per_projection: z.array(
    z.object({
      projection: z.string(),
      /** Why numbers of this row are `null`; `null` where all were measured. */
      withheld: z.string().nullable(),
      /** Of a measured variance; for rows that are not i.i.d. an estimate, joint cumulants of theirs taken to vanish. */
      variance_relative_standard_error: nullableNumber,
      /** Least replicates with which the row is measured; `null` where it is, or where no number is enough. */
      needed_replicates: nullableNumber,
      mean: nullableNumber,
      /** (mean - expectation) / standard error. */
      bias_z: nullableNumber,
      /** With a 95 % interval from the kurtosis, or from the estimate of it for rows that are not i.i.d. */
      variance: nullableNumber,
      variance_low: nullableNumber,
      variance_high: nullableNumber,
      relative_mse: nullableNumber,
      /** Variance over that of `iid` at the same M, with a 95 % interval; `null` too where that is withheld. */
      ratio_to_iid: nullableNumber,
      ratio_low: nullableNumber,
      ratio_high: nullableNumber,
    }),
  ),
})
export type VarianceResult = z.infer<typeof varianceResult>

export type VarianceRecord = CellRecord<VarianceCell, VarianceResult>
export type CompletedVariance = Completed<VarianceCell, VarianceResult>

const schemas = {cell: varianceCell, result: varianceResult}

/** Bias and variance of kernel estimates of pairs of vectors, against their closed forms. */
export default defineExperiment({
  name: 'variance',
  title: 'a variance experiment',
  version: 2,
  plan: variancePlan,
  ...schemas,
  isolation: 'shared',
  tables: [itemTable(schemas, 'per_projection')],
  cells: async plan => (await import('./grid.js')).varianceCells(plan),
  jobs: async plan => (await import('./grid.js')).varianceJobs(plan),
  load: () => Promise.all([import('./grid.js'), import('./cell.js')]),
  run: async (cell, context) => (await import('./cell.js')).runVarianceCell(cell, context),
  report: async records => (await import('./report.js')).varianceReport(records),
})
