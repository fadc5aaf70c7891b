import {z} from 'zod'
import {computedBy, methodSpec, nullableNumber, orthSign, recordSchema} from './common.js'

export const VARIANCE_SCHEMA = 'rfa.variance/1'

/** Everything that determines a variance experiment. */
export const variancePlan = z.object({
  experiment: z.literal('variance'),
  methods: z.array(methodSpec).min(1),
  projections: z.array(z.string()).min(1),
  orth_sign: orthSign,
  num_features: z.array(z.number().int().positive()).min(1),
  head_dims: z.array(z.number().int().positive()).min(1),
  /** Euclidean norms of both canonical vectors. */
  norms: z.array(z.number().nonnegative()).min(1),
  /** Angles between them, in degrees. */
  angles_deg: z.array(z.number()).min(1),
  replicates: z.number().int().min(2),
  seed: z.number().int().nonnegative(),
  backend: z.string(),
})
export type VariancePlan = z.infer<typeof variancePlan>

/** One method at one budget: all pairs (norm, angle), all projections, so that ratios are paired. */
export const varianceCell = z.object({
  ...methodSpec.shape,
  projections: z.array(z.string()),
  orth_sign: orthSign,
  num_features: z.number().int().positive(),
  head_dim: z.number().int().positive(),
  norm: z.number(),
  angle_deg: z.number(),
  replicates: z.number().int(),
  seed: z.number().int(),
  backend: z.string(),
})
export type VarianceCell = z.infer<typeof varianceCell>

export const varianceResult = z.object({
  ...computedBy,
  feature_dim: z.number().int(),
  kernel: z.string(),
  /** Closed forms for i.i.d. rows. */
  expectation: z.number(),
  closed_form_variance: z.number(),
  per_projection: z.array(
    z.object({
      projection: z.string(),
      mean: z.number(),
      /** (mean - expectation) / standard error. */
      bias_z: nullableNumber,
      variance: z.number(),
      variance_low: z.number(),
      variance_high: z.number(),
      relative_mse: nullableNumber,
      /** Variance over that of `iid` at the same M, with a 95 % bootstrap interval. */
      ratio_to_iid: nullableNumber,
      ratio_low: nullableNumber,
      ratio_high: nullableNumber,
    }),
  ),
})
export type VarianceResult = z.infer<typeof varianceResult>

export const varianceRecord = recordSchema(VARIANCE_SCHEMA, varianceCell, varianceResult)
export type VarianceRecord = z.infer<typeof varianceRecord>
