/** A variance experiment as cells and jobs: methods x numbers of features x dimensions x norms x angles. */
import type {MeteredBackend} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {drawSettingsOf, type MethodSpec} from '../axes.js'
import {distinct, distinctMethods} from '../cells.js'
import type {Grid, PredictedCell} from '../experiment.js'
import {methodLabel} from '../labels.js'
import {type ResolvedMethod, resolveMethod} from '../method.js'
import {runtimeBytes} from '../process-memory.js'
import {type Batch, batchOf, NO_PROJECTION} from './measure/batch.js'
import {type PairFields, pairText} from './pair-text.js'
import {sumPair} from './pairs.js'
import {type DrawCounts, mostDraws, type VarianceCell, type VariancePlan} from './schema.js'

export async function varianceGrid(plan: VariancePlan): Promise<Grid<VarianceCell>> {
  const methods = distinctMethods(plan.methods)
  return {
    count: countOf(plan, methods.length),
    cells: () => methods.flatMap(spec => budgetsOf(plan).flatMap(at => cellsOf(plan, spec, at))),
    jobs: async () => {
      const backend = await meteredBackend(plan.backend)
      const each = methods.map(async spec => {
        const method = await resolveMethod(spec)
        return budgetsOf(plan).flatMap(budget => {
          const prediction = predictionOf({...plan, ...budget}, method, backend)
          const cells = cellsOf(plan, spec, budget)
          return cells.map(cell => ({cell, label: labelOf(cell), ...prediction}))
        })
      })
      return (await Promise.all(each)).flat()
    },
  }
}

/** @param methods - how many */
function countOf(plan: VariancePlan, methods: number): number {
  const {head_dims, num_features} = plan
  return methods * distinct(head_dims).length * distinct(num_features).length * pairCount(plan)
}

/** Sizes that decide what a cell takes. */
type Budget = Pick<VarianceCell, 'head_dim' | 'num_features'>

function budgetsOf(plan: VariancePlan): Budget[] {
  const counts = distinct(plan.num_features)
  return distinct(plan.head_dims).flatMap(head_dim =>
    counts.map(num_features => ({head_dim, num_features})),
  )
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

/** The cells of a method and its sizes, one for each pair. */
function cellsOf(plan: VariancePlan, spec: MethodSpec, budget: Budget): VarianceCell[] {
  const {projections, replicates, seed, backend} = plan
  const {num_features, head_dim} = budget
  const drawn = {projections, ...drawSettingsOf(plan), replicates}
  const shared = {...drawn, ...stoppingOf(plan), seed, backend}
  return Array.from(pairsOf(plan), pair => ({...spec, ...shared, num_features, head_dim, ...pair}))
}

function labelOf(cell: VarianceCell): string {
  return `${methodLabel(cell)} M=${cell.num_features} D=${cell.head_dim} ${pairText(cell)}`
}

/** What stops draws early, where something does. */
function stoppingOf({until_ci, precision, max_draws}: VariancePlan) {
  return {
    ...(until_ci && {until_ci}),
    ...(precision !== undefined && {precision}),
    ...(max_draws !== undefined && {max_draws}),
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

/** Arrays of batches before the last are collected when about this many bytes have accumulated. */
const UNCOLLECTED = 32e6

/** Estimates, the largest batch, and what others have left: next to nothing on tfjs-wasm, which keeps tensors itself. */
function drawBytes(batches: readonly Batch[], replicates: number, backend: MeteredBackend): number {
  const each = batches.map(({drawnBytes, madeBytes}) => drawnBytes + madeBytes)
  const held = batches.map(({draws}, at) => Math.min(draws, replicates) * each[at]!)
  const made = replicates * each.reduce((sum, bytes) => sum + bytes, 0)
  const left = backend === 'wasm' ? 0 : Math.min(made, UNCOLLECTED)
  return Math.max(...held) + left + batches.length * DOUBLE * replicates
}
