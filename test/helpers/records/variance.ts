/** Plan, cells and records of variance experiments, with round numbers. */

import varianceExperiment from '../../../src/experiments/variance/index.js'
import type {
  VarianceCell,
  VariancePlan,
  VarianceRecord,
  VarianceResult,
} from '../../../src/experiments/variance/schema.js'
import {cellKey} from '../../../src/results/keys.js'
import {madeBy} from './made-by.js'

export const VARIANCE_PLAN: VariancePlan = {
  experiment: 'variance',
  methods: [{method: 'favor-pos', preset: 'exact', options: {}}],
  ...{projections: ['iid', 'orth'], orth_sign: 'haar', num_features: [13, 29], head_dims: [7]},
  ...{norms: [1], angles_deg: [60], replicates: 31, seed: 3, backend: 'auto'},
}

export function varianceCell(changes: Partial<VarianceCell> = {}): VarianceCell {
  return {
    ...{method: 'favor-pos', preset: 'exact', options: {}, projections: ['iid', 'orth']},
    ...{orth_sign: 'haar', num_features: 32, head_dim: 17, norm: 0.5, angle_deg: 0},
    ...{replicates: 500, seed: 0, backend: 'auto'},
    ...changes,
  }
}

/** What a row has that was not measured. */
export const UNMEASURED = {
  ...{mean: null, bias_z: null, variance: null, variance_low: null, variance_high: null},
  ...{relative_mse: null, ratio_to_iid: null, ratio_low: null, ratio_high: null},
}

const MEASURED = {
  all_directions: false,
  estimator: 'plain' as const,
  ...{row_draws: 500, withheld: null, variance_relative_standard_error: 0.1},
  ...{needed_replicates: null, logarithms: null, exact_variance: null, exact_z: null},
  ...{exact_ratio: null, theorem_bound: null},
}

export type CompletedVariance = Extract<VarianceRecord, {status: 'completed'}>

/** A completed cell; rows of `orth` vary `ratio` times as much as i.i.d. ones. */
export function variance(changes: Partial<VarianceCell> = {}, ratio = 0.5): CompletedVariance {
  const cell = varianceCell(changes)
  return {
    schema: varianceExperiment.schema,
    key: cellKey(varianceExperiment.schema, cell),
    cell,
    status: 'completed',
    result: {
      ...madeBy({backend: 'wasm'}),
      ...{feature_dim: 32, kernel: 'exp(x.y)', expectation: 1.25, closed_form_variance: 0.08},
      ...{closed_form_kurtosis: 3, draws: null, calibration_pairs: null, without_effect: {}},
      per_projection: [
        {
          ...MEASURED,
          ...{projection: 'iid', mean: 1.26, bias_z: 0.5, variance: 0.08, variance_low: 0.07},
          ...{variance_high: 0.09, relative_mse: 0.05, ratio_to_iid: null, ratio_low: null},
          ratio_high: null,
        },
        {
          ...MEASURED,
          projection: 'orth',
          mean: 1.25,
          bias_z: -0.25,
          variance: 0.08 * ratio,
          variance_low: 0.06 * ratio,
          variance_high: 0.1 * ratio,
          relative_mse: 0.03,
          ratio_to_iid: ratio,
          ratio_low: ratio * 0.75,
          ratio_high: ratio * 1.25,
        },
      ],
    },
  }
}

export type VarianceRow = VarianceResult['per_projection'][number]

/** A cell with changes in its rows. */
export function withRows(
  record: CompletedVariance,
  of: (own: VarianceRow, at: number) => Partial<VarianceRow>,
): CompletedVariance {
  const per_projection = record.result.per_projection.map((own, at) => ({...own, ...of(own, at)}))
  return {...record, result: {...record.result, per_projection}}
}
