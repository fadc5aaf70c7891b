/** A variance experiment as cells and jobs: methods x numbers of features x dimensions x norms x angles. */
import type {MeteredBackend} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {drawSettingsOf, type MethodSpec} from '../axes.js'
import {type Cells, cellsFrom, distinct, distinctMethods} from '../cells.js'
import type {PredictedCell} from '../experiment.js'
import {methodLabel} from '../labels.js'
import {type ResolvedMethod, resolveMethod} from '../method.js'
import {runtimeBytes} from '../process-memory.js'
import {type Batch, batchOf, NO_PROJECTION} from './measure/batch.js'
import {type PairFields, pairText} from './pair-text.js'
import {sumPair} from './pairs.js'
import {type DrawCounts, mostDraws, type VarianceCell, type VariancePlan} from './schema.js'

/**
 * All jobs of a plan, in plan order.
 *
 * @throws what resolving the plan's methods throws
 */
export async function varianceJobs(
  plan: VariancePlan,
): Promise<Cells<PredictedCell<VarianceCell>>> {
  const backend = await meteredBackend(plan.backend)
  const blocks = await Promise.all(
    distinctMethods(plan.methods).map(async spec => ({spec, method: await resolveMethod(spec)})),
  )
  return cellsFrom(countOf(plan), function* () {
    for (const {spec, method} of blocks) {
      for (const budget of budgetsOf(plan)) {
        const prediction = predictionOf({...plan, ...budget}, method, backend)
        for (const pair of pairsOf(plan)) yield jobOf(toCell(plan, spec, budget, pair), prediction)
      }
    }
  })
}

/** The whole grid, in plan order. */
export function varianceCells(plan: VariancePlan): Cells<VarianceCell> {
  return cellsFrom(countOf(plan), function* () {
    for (const spec of distinctMethods(plan.methods)) {
      for (const budget of budgetsOf(plan)) {
        for (const pair of pairsOf(plan)) yield toCell(plan, spec, budget, pair)()
      }
    }
  })
}

function countOf({methods, ...axes}: VariancePlan): number {
  const {head_dims, num_features} = axes
  return [head_dims, num_features].reduce(
    (product, axis) => product * distinct(axis).length,
    distinctMethods(methods).length * pairCount(axes),
  )
}

/** Sizes that decide what a cell takes. */
type Budget = Pick<VarianceCell, 'head_dim' | 'num_features'>

function* budgetsOf(plan: VariancePlan): Generator<Budget> {
  for (const head_dim of distinct(plan.head_dims)) {
    for (const num_features of distinct(plan.num_features)) yield {head_dim, num_features}
  }
}

/** Vectors, on which that does not depend: by norms and angles, then by sums and differences, then those of an input. */
function* pairsOf(plan: PairAxes): Generator<PairFields> {
  for (const norm of distinct(plan.norms)) {
    for (const angle_deg of distinct(plan.angles_deg)) {
      for (const key_norm of distinct(plan.key_norms ?? [norm])) {
        yield key_norm === norm ? {norm, angle_deg} : {norm, key_norm, angle_deg}
      }
    }
  }
  for (const sum of distinct(plan.sum_norms ?? [])) {
    for (const difference of distinct(plan.difference_norms ?? [])) yield sumPair(sum, difference)
  }
  yield* plan.sampled?.pairs ?? []
}

type PairAxes = Pick<
  VariancePlan,
  'norms' | 'key_norms' | 'angles_deg' | 'sum_norms' | 'difference_norms' | 'sampled'
>

function pairCount(plan: PairAxes): number {
  const {norms, key_norms = [0], angles_deg, sum_norms = [], difference_norms = []} = plan
  const size = (...axes: (readonly number[])[]) =>
    axes.reduce((product, axis) => product * distinct(axis).length, 1)
  const sampled = plan.sampled?.pairs.length ?? 0
  return size(norms, key_norms, angles_deg) + size(sum_norms, difference_norms) + sampled
}

function toCell(plan: VariancePlan, spec: MethodSpec, budget: Budget, pair: PairFields) {
  const {projections, replicates, seed, backend} = plan
  const {num_features, head_dim} = budget
  const shared = {
    projections,
    ...drawSettingsOf(plan),
    replicates,
    ...stoppingOf(plan),
    seed,
    backend,
  }
  return (): VarianceCell => ({...spec, ...shared, num_features, head_dim, ...pair})
}

/** What stops draws early, where something does. */
function stoppingOf({until_ci, precision, max_draws}: VariancePlan) {
  return {
    ...(until_ci && {until_ci}),
    ...(precision !== undefined && {precision}),
    ...(max_draws !== undefined && {max_draws}),
  }
}

function jobOf(make: () => VarianceCell, prediction: Prediction): PredictedCell<VarianceCell> {
  return {
    get cell() {
      return make()
    },
    get label() {
      const cell = make()
      return `${methodLabel(cell)} M=${cell.num_features} D=${cell.head_dim} ${pairText(cell)}`
    },
    ...prediction,
  }
}

type Prediction = Pick<PredictedCell, 'predictedCost' | 'predictedBytes'>

function predictionOf(
  cell: Budget & DrawCounts & Pick<VarianceCell, 'projections' | 'orth_sign'>,
  method: ResolvedMethod,
  backend: MeteredBackend,
): Prediction {
  const replicates = mostDraws(cell)
  const names = method.projected ? cell.projections : [NO_PROJECTION]
  const batches = names.map(projection => batchOf({cell, projection, ...method}))
  return {
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
