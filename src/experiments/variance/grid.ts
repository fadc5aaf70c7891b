/** A variance experiment as cells and jobs: methods x numbers of features x dimensions x norms x angles. */
import {type MeteredBackend, noiseSpecs} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import type {MethodSpec} from '../axes.js'
import type {PredictedCell} from '../experiment.js'
import {methodLabel} from '../labels.js'
import {type ResolvedMethod, resolveMethod} from '../method.js'
import {runtimeBytes} from '../process-memory.js'
import {batchShape, DRAWS_AT_ONCE} from './batch.js'
import type {VarianceCell, VariancePlan} from './schema.js'

/**
 * All jobs of a plan, in plan order.
 *
 * @throws what resolving the plan's methods throws
 */
export async function varianceJobs(plan: VariancePlan): Promise<PredictedCell<VarianceCell>[]> {
  const backend = await meteredBackend(plan.backend)
  const jobs = plan.methods.map(async spec => {
    const method = await resolveMethod(spec)
    return methodCells(plan, spec).map(cell => predicted(cell, method, backend))
  })
  return (await Promise.all(jobs)).flat()
}

/** The whole grid, in plan order. */
export function varianceCells(plan: VariancePlan): VarianceCell[] {
  return plan.methods.flatMap(spec => methodCells(plan, spec))
}

function methodCells(plan: VariancePlan, spec: MethodSpec): VarianceCell[] {
  const {projections, orth_sign, replicates, seed, backend} = plan
  const shared = {projections, orth_sign, replicates, seed, backend}
  return plan.head_dims.flatMap(head_dim =>
    plan.num_features.flatMap(num_features =>
      plan.norms.flatMap(norm =>
        plan.angles_deg.map(angle_deg => ({
          ...spec,
          ...shared,
          num_features,
          head_dim,
          norm,
          angle_deg,
        })),
      ),
    ),
  )
}

function predicted(
  cell: VarianceCell,
  method: ResolvedMethod,
  backend: MeteredBackend,
): PredictedCell<VarianceCell> {
  const {num_features, head_dim, norm, angle_deg, replicates, projections} = cell
  const drawn = num_features * head_dim * projections.length
  return {
    cell,
    label: `${methodLabel(cell)} M=${num_features} D=${head_dim} norm ${norm} angle ${angle_deg}`,
    // a normal costs about 50 operations, orthogonalising a row 2 min(M, D) of them per entry
    predictedCost: replicates * drawn * (50 + 2 * Math.min(num_features, head_dim)),
    predictedBytes: runtimeBytes(backend) + batchBytes(cell, method) + DOUBLE * replicates,
  }
}

const FLOAT = 4
const DOUBLE = 8

/** What draws estimated together hold: projections, other random arrays and the features of both sides. */
function batchBytes(cell: VarianceCell, {estimator, options, projected}: ResolvedMethod): number {
  const {num_features, head_dim} = cell
  // drawn in double precision, then rounded, then a tensor
  const rows = projected ? num_features * head_dim * (DOUBLE + 2 * FLOAT) : 0
  const specs = Object.values(noiseSpecs(estimator, batchShape(cell, DRAWS_AT_ONCE), options))
  // drawn, then a tensor
  const noise = specs.reduce((sum, spec) => sum + spec.rows * spec.columns, 0) * 2 * FLOAT
  const features = 2 * estimator.featureDim(num_features, head_dim, options) * FLOAT
  return DRAWS_AT_ONCE * (rows + noise + features)
}
