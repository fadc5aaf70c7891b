/** A variance experiment as jobs: methods x numbers of features x dimensions x norms x angles. */
import type {MeteredBackend} from '../../attention/footprint/index.js'
import {meteredBackend} from '../../backends/index.js'
import {cellKey} from '../../results/keys.js'
import {VARIANCE_SCHEMA, type VarianceCell, type VariancePlan} from '../../results/schemas/index.js'
import type {Job} from '../job.js'
import {methodLabel} from '../method.js'
import {runtimeBytes} from '../process-memory.js'

/** All jobs of a plan, in plan order. */
export async function varianceJobs(plan: VariancePlan): Promise<Job[]> {
  const backend = await meteredBackend(plan.backend)
  return varianceCells(plan).map(cell => toJob(cell, backend))
}

/** The whole grid, in plan order. */
export function varianceCells(plan: VariancePlan): VarianceCell[] {
  const {projections, orth_sign, replicates, seed, backend} = plan
  const shared = {projections, orth_sign, replicates, seed, backend}
  return plan.methods.flatMap(spec =>
    plan.head_dims.flatMap(head_dim =>
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
    ),
  )
}

function toJob(cell: VarianceCell, backend: MeteredBackend): Job {
  const {num_features, head_dim, norm, angle_deg, replicates, projections} = cell
  const drawn = num_features * head_dim * projections.length
  return {
    key: cellKey(VARIANCE_SCHEMA, cell),
    schema: VARIANCE_SCHEMA,
    cell,
    label: `${methodLabel(cell)} M=${num_features} D=${head_dim} norm ${norm} angle ${angle_deg}`,
    // a normal costs about 50 operations, orthogonalising a row 2 min(M, D) of them per entry
    predictedCost: replicates * drawn * (50 + 2 * Math.min(num_features, head_dim)),
    predictedBytes: runtimeBytes(backend) + 64 * num_features * head_dim * 16 + replicates * 8,
  }
}
