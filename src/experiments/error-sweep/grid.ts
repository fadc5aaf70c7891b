/** An error sweep as cells and jobs: the grid, without the axes that do not apply to a method. */

import type {MeteredBackend} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {inputSizes, loadInput} from '../../inputs/load.js'
import {ENTROPY_BUDGET} from '../../inputs/statistics.js'
import {type DrawPoint, drawPoints, type MethodSpec} from '../axes.js'
import type {PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {
  callShape,
  type ForwardShape,
  matchedTarget,
  type ResolvedMethod,
  resolveMethod,
} from '../method.js'
import {contextBytes, sweepProcessBytes} from '../process-memory.js'
import {hostCost} from '../rates.js'
import {contextKey, KEPT_CONTEXTS} from './context.js'
import type {ErrorSweepCell, ErrorSweepPlan} from './schema.js'
import {targetOf} from './target.js'
import {FLOAT64_BUDGET} from './truth.js'

/** The whole grid, in plan order; reads no input. */
export async function errorSweepCells(plan: ErrorSweepPlan): Promise<ErrorSweepCell[]> {
  return (await gridPoints(plan)).map(({cell}) => cell)
}

/** The same with predictions, for which the input's sizes are read. */
export async function errorSweepJobs(
  plan: ErrorSweepPlan,
): Promise<PredictedCell<ErrorSweepCell>[]> {
  const lengths = plan.seq_lens ?? [null]
  const sizes = await inputSizes(plan.input, lengths)
  const shapes = new Map(lengths.map((length, i) => [length, sizes[i]!]))
  const points = await gridPoints(plan)
  const backend = await meteredBackend(plan.backend)
  const contexts = new Map<string, number>()
  const begun = new Set<string>()
  return points.map(point => {
    const {cell, method} = point
    const shape = shapes.get(cell.seq_len)!
    const key = contextKey(cell, targetOf(cell, method))
    const first = !begun.has(key) && begun.add(key) !== undefined
    return predicted(point, shape, {backend, first, contexts: keptContexts(contexts, point, shape)})
  })
}

/** Reads the file of a plan as its cells will. @throws what {@link loadInput} throws */
export async function checkErrorSweep({input, seed}: ErrorSweepPlan): Promise<void> {
  if (input.kind === 'file') await loadInput(input, {seqLen: null, seed, extras: false})
}

/** Bytes of the contexts that a process has in memory when it comes to a cell, its own among them. */
function keptContexts(
  kept: Map<string, number>,
  {cell, method}: Point,
  shape: ForwardShape,
): number {
  const key = contextKey(cell, targetOf(cell, method))
  if (!kept.has(key) && kept.size >= KEPT_CONTEXTS) kept.delete(kept.keys().next().value!)
  kept.set(key, contextBytes(shape, cell.scale))
  return [...kept.values()].reduce((sum, bytes) => sum + bytes, 0)
}

/** A cell of the grid with the method that it runs. */
interface Point {
  cell: ErrorSweepCell
  method: ResolvedMethod
}

async function gridPoints(plan: ErrorSweepPlan): Promise<Point[]> {
  const methods = await Promise.all(
    plan.methods.map(async spec => ({spec, method: await resolveMethod(spec)})),
  )
  const points: Point[] = []
  for (const seq_len of plan.seq_lens ?? [null]) {
    for (const scale of plan.scales) {
      for (const {spec, method} of methods) {
        for (const target of targetsOf(plan, method)) {
          for (const point of drawPoints(method, plan)) {
            const replicates = method.random ? plan.replicates : 1
            const cell = toCell(plan, spec, {seq_len, scale, target, ...point, replicates})
            points.push({cell, method})
          }
        }
      }
    }
  }
  return points
}

/** `matched` only where the method converges to something else than softmax of the given inputs. */
function targetsOf(plan: ErrorSweepPlan, method: ResolvedMethod): ('raw' | 'matched')[] {
  const hasOwn = matchedTarget(method) !== undefined
  if (!hasOwn) return ['raw']
  return plan.targets
}

function toCell(
  plan: ErrorSweepPlan,
  spec: MethodSpec,
  axes: DrawPoint & Pick<ErrorSweepCell, 'seq_len' | 'scale' | 'target' | 'replicates'>,
): ErrorSweepCell {
  const {input, causal, row_metrics, seed, backend} = plan
  return {...spec, input, ...axes, causal, row_metrics, seed, backend}
}

function predicted(
  {cell, method}: Point,
  shape: ForwardShape,
  {backend, contexts, first}: {backend: MeteredBackend; contexts: number; first: boolean},
): PredictedCell<ErrorSweepCell> {
  const {replicates, row_metrics: rowMetrics} = cell
  const call = callShape(shape, cell)
  // a column of ones among the values measures row sums
  const widened = {...call, valueDim: shape.valueDim + 1}
  const forward = method.estimator.cost(widened, method.options).flops
  const implied = rowMetrics
    ? method.estimator.cost({...call, valueDim: shape.keyLen}, method.options).flops
    : 0
  const host = hostOperations(call, {replicates, rowMetrics, first})
  return {
    cell,
    label: label(cell, shape),
    predictedCost: (forward + implied) * replicates + hostCost(host, cell.backend),
    predictedBytes: sweepProcessBytes(
      {backend, method, shape: call},
      {contexts, replicates, rowMetrics},
    ),
  }
}

/** What an exponential or a logarithm counts in host loops. */
const TRANSCENDENTAL = 20

/**
 * Operations on the host: exact output and entropies of a context, by the first of its cells; with row
 * metrics the exact weights again, and a distance per replicate.
 */
function hostOperations(
  shape: ForwardShape & {causal: boolean},
  {replicates, rowMetrics, first}: {replicates: number; rowMetrics: boolean; first: boolean},
): number {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, causal} = shape
  const pairs = batch * heads * queryLen * keyLen * (causal ? 0.5 : 1)
  const weights = pairs * (2 * headDim + TRANSCENDENTAL)
  const exact = Math.min(pairs * (headDim + valueDim), FLOAT64_BUDGET) * 2
  const entropy = Math.min(pairs * headDim, ENTROPY_BUDGET) * 2
  const context = first ? exact + entropy + 2 * pairs * TRANSCENDENTAL : 0
  return context + (rowMetrics ? weights + replicates * pairs * TRANSCENDENTAL : 0)
}

function label(cell: ErrorSweepCell, {queryLen}: ForwardShape): string {
  const scale = cell.scale === 1 ? [] : [`scale ${cell.scale}`]
  return [variantLabel(cell), `L=${queryLen}`, ...scale, cell.target].join(' ')
}
