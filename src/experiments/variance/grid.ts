/** A variance experiment as cells and jobs: methods x numbers of features x dimensions x norms x angles. */
import type {MeteredBackend} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import type {MethodSpec} from '../axes.js'
import type {PredictedCell} from '../experiment.js'
import {methodLabel} from '../labels.js'
import {type ResolvedMethod, resolveMethod} from '../method.js'
import {runtimeBytes} from '../process-memory.js'
import {type Batch, batchOf, NO_PROJECTION} from './batch.js'
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
  const {num_features, head_dim, norm, angle_deg, replicates} = cell
  const names = method.projected ? cell.projections : [NO_PROJECTION]
  const batches = names.map(projection => batchOf({cell, projection, ...method}))
  return {
    cell,
    label: `${methodLabel(cell)} M=${num_features} D=${head_dim} norm ${norm} angle ${angle_deg}`,
    predictedCost: replicates * batches.reduce((sum, {operations}) => sum + operations, 0),
    predictedBytes: runtimeBytes(backend) + drawBytes(batches, replicates, backend),
  }
}

const DOUBLE = 8

/** Arrays of batches before the last are collected when about so many bytes of them have come together. */
const UNCOLLECTED = 32e6

/** Estimates, the largest batch, and what others have left: next to nothing on tfjs-wasm, which keeps tensors itself. */
function drawBytes(batches: readonly Batch[], replicates: number, backend: MeteredBackend): number {
  const each = batches.map(({drawnBytes, madeBytes}) => drawnBytes + madeBytes)
  const held = batches.map(({draws}, at) => Math.min(draws, replicates) * each[at]!)
  const made = replicates * each.reduce((sum, bytes) => sum + bytes, 0)
  const left = backend === 'wasm' ? 0 : Math.min(made, UNCOLLECTED)
  return Math.max(...held) + left + batches.length * DOUBLE * replicates
}
