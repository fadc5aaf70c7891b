/** A swap as cells and jobs: sets of layers, methods, draws. */
import {meteredBackend} from '../../backends/index.js'
import {openModel} from '../../model/index.js'
import {drawGrid, type MethodSpec} from '../axes.js'
import {distinctMethods} from '../cells.js'
import type {Grid, PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {type ResolvedMethod, resolveMethod} from '../method.js'
import {runtimeBytes} from '../process-memory.js'
import {layersRun} from './layers-run.js'
import {layersText} from './layers-text.js'
import type {SwapCell, SwapPlan} from './schema.js'

/** All cells of a plan. */
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
  const {model, texts, max_tokens, causal, budget, seed, backend} = plan
  const draws = drawGrid(method, plan)
  const replicates = method.random ? plan.replicates : 1
  return Array.from({length: draws.length}, (_, index) => ({
    ...{...spec, ...draws.at(index), layers, model, texts, max_tokens, causal},
    ...{replicates, seed, backend, ...(budget !== undefined && {budget})},
  }))
}

async function jobsOf(plan: SwapPlan, cells: SwapCell[]): Promise<PredictedCell<SwapCell>[]> {
  const {layers, width} = (await openModel(plan.model.folder)).facts
  const tokens = plan.texts.count * plan.max_tokens
  // products of one layer: queries, keys, values and output, and a network of four times the width behind them
  const layer = 2 * tokens * width * 12 * width
  const hidden = 4 * tokens * width
  const base = runtimeBytes(await meteredBackend(plan.backend))
  return cells.map(cell => ({
    cell,
    label: jobLabel(cell, layers),
    predictedCost: cell.replicates * layersRun(cell, layers) * layer,
    predictedBytes: base + (layers + 1 + 2 * cell.replicates) * hidden,
    shared: [{id: 'original', cost: layers * layer}],
  }))
}

function jobLabel(cell: SwapCell, layers: number): string {
  const where = layersText(cell.layers, layers)
  const what = cell.budget === undefined ? where : `${where}, within ${cell.budget}`
  return `${variantLabel(cell)} in ${what}`
}
