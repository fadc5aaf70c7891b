/** A swap as cells and jobs: sets of layers, methods, draws. */
import {drawGrid, type MethodSpec} from '../axes.js'
import {distinctMethods} from '../cells.js'
import type {Grid, PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {layersText} from '../layers-text.js'
import {drawsOf, type ResolvedMethod, resolveMethod} from '../method.js'
import {swapCosts} from './cost.js'
import type {SwapCell, SwapPlan} from './schema.js'

export async function swapGrid(plan: SwapPlan): Promise<Grid<SwapCell>> {
  const methods = await Promise.all(
    distinctMethods(plan.methods).map(async spec => ({spec, method: await resolveMethod(spec)})),
  )
  const cells = () =>
    plan.layer_sets.flatMap(layers =>
      methods.flatMap(({spec, method}) => cellsOf(plan, {layers, spec, method})),
    )
  return {
    count:
      plan.layer_sets.length *
      methods.reduce((sum, {method}) => sum + drawGrid(method, plan).length, 0),
    cells,
    jobs: () => jobsOf(plan, cells()),
  }
}

function cellsOf(
  plan: SwapPlan,
  {layers, spec, method}: {layers: number[]; spec: MethodSpec; method: ResolvedMethod},
): SwapCell[] {
  const {model, original, texts, max_tokens, causal, budget, seed, backend, engine, device} = plan
  const draws = drawGrid(method, plan)
  const replicates = drawsOf(method, plan.replicates)
  return Array.from({length: draws.length}, (_, index) => ({
    ...{...spec, ...draws.at(index), layers, model, ...(original && {original})},
    ...{texts, max_tokens, causal},
    ...{replicates, seed, backend, ...(budget !== undefined && {budget})},
    ...(engine && {engine: engine.name}),
    ...(device && {device}),
  }))
}

async function jobsOf(plan: SwapPlan, cells: SwapCell[]): Promise<PredictedCell<SwapCell>[]> {
  const {costs, original, layers} = await swapCosts(plan)
  return Promise.all(
    cells.map(async cell => ({
      cell,
      label: jobLabel(cell, layers),
      ...costs(cell, await resolveMethod(cell)),
      shared: [original],
    })),
  )
}

function jobLabel(cell: SwapCell, layers: number): string {
  const where = layersText(cell.layers, layers)
  const what = cell.budget === undefined ? where : `${where}, within ${cell.budget}`
  return `${variantLabel(cell)} in ${what}`
}
