/** A benchmark as cells and jobs: methods x projections x numbers of features x lengths. */

import type {CallShape} from '../../attention/index.js'
import type {MeteredBackend} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {randomStream} from '../../random/index.js'
import {drawPoints} from '../axes.js'
import type {PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {callShape, type ResolvedMethod, resolveMethod} from '../method.js'
import {benchProcessBytes} from '../process-memory.js'
import type {BenchCell, BenchPlan} from './schema.js'

/** The whole grid, in the order in which it runs. */
export async function benchCells(plan: BenchPlan): Promise<BenchCell[]> {
  return (await points(plan)).map(({cell}) => cell)
}

/** The same with predictions. */
export async function benchJobs(plan: BenchPlan): Promise<PredictedCell<BenchCell>[]> {
  const backend = await meteredBackend(plan.backend)
  return (await points(plan)).map(({cell, method}) => predicted(cell, method, backend))
}

/** A cell of the grid with the method that it runs. */
interface Point {
  cell: BenchCell
  method: ResolvedMethod
}

async function points(plan: BenchPlan): Promise<Point[]> {
  const {batch, heads, head_dim, value_dim, causal, timing, seed, backend, threads} = plan
  const shared = {batch, heads, head_dim, value_dim, causal, timing, seed, backend, threads}
  const listed: Point[] = []
  for (const seq_len of plan.seq_lens) {
    for (const spec of plan.methods) {
      const method = await resolveMethod(spec)
      for (const point of drawPoints(method, plan)) {
        const redraw = point.projection === null ? 'fixed' : plan.redraw
        listed.push({cell: {...spec, ...point, redraw, seq_len, ...shared}, method})
      }
    }
  }
  return plan.order === 'random' ? shuffled(listed, plan.seed) : listed
}

/** The call that a cell times. */
export function benchShape(cell: BenchCell): CallShape {
  const {batch, heads, seq_len, head_dim, value_dim} = cell
  const sizes = {batch, heads, queryLen: seq_len, keyLen: seq_len}
  return callShape({...sizes, headDim: head_dim, valueDim: value_dim}, cell)
}

function predicted(
  cell: BenchCell,
  method: ResolvedMethod,
  backend: MeteredBackend,
): PredictedCell<BenchCell> {
  const {timing} = cell
  const shape = benchShape(cell)
  const runs = timing.warmup_runs + timing.min_runs
  return {
    cell,
    label: `${variantLabel(cell)} L=${cell.seq_len}`,
    predictedCost: method.estimator.cost(shape, method.options).flops * runs,
    predictedBytes: benchProcessBytes({backend, method, shape}, runs),
  }
}

/** Fisher-Yates by the plan's seed: slow drift of the machine then hits all methods alike. */
function shuffled<T>(items: T[], seed: number): T[] {
  const stream = randomStream(seed, 'bench.order')
  const out = [...items]
  for (let i = out.length - 1; i > 0; i--) {
    const j = stream.integer(i + 1)
    ;[out[i], out[j]] = [out[j]!, out[i]!]
  }
  return out
}
