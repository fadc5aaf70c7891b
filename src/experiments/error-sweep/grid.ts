/** An error sweep as cells and jobs: the grid, without the axes that do not apply to a method. */

import type {MeteredBackend} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {inputFacts} from '../../inputs/load.js'
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
import {contextKey, inputKey, KEPT_CONTEXTS, unscaledInput} from './context.js'
import {contextCost, rowMetricsCost} from './host-cost.js'
import type {ErrorSweepCell, ErrorSweepPlan} from './schema.js'
import {targetOf} from './target.js'
import {replicatesTogether} from './together.js'

/** The whole grid, in plan order; reads no input. */
export async function errorSweepCells(plan: ErrorSweepPlan): Promise<ErrorSweepCell[]> {
  return (await gridPoints(plan)).map(({cell}) => cell)
}

/** The same with predictions, for which the input's sizes are read. */
export async function errorSweepJobs(
  plan: ErrorSweepPlan,
): Promise<PredictedCell<ErrorSweepCell>[]> {
  const lengths = plan.seq_lens ?? [null]
  const {sizes, loadingBytes} = await inputFacts(plan.input, lengths)
  const shapes = new Map(lengths.map((length, i) => [length, sizes[i]!]))
  const points = await gridPoints(plan)
  const backend = await meteredBackend(plan.backend)
  const contexts = new Map<string, Kept>()
  const begun = new Set<string>()
  return points.map(point => {
    const {cell, method} = point
    const shape = shapes.get(cell.seq_len)!
    const key = contextKey(cell, targetOf(cell, method))
    const first = !begun.has(key) && begun.add(key) !== undefined
    const kept = keptContexts(contexts, point, shape)
    return predicted(point, shape, {backend, first, contexts: kept, loading: loadingBytes})
  })
}

/** Reads the file of a plan as its cells will. @throws what {@link unscaledInput} throws */
export async function checkErrorSweep({input, seed}: ErrorSweepPlan): Promise<void> {
  if (input.kind === 'file') await unscaledInput({input, seq_len: null, seed})
}

/** A context that a process keeps. */
interface Kept {
  inputKey: string
  /** Of its input, which contexts of other targets share, and of its exact output. */
  bytes: {input: number; truth: number}
}

/** Bytes of the contexts that a process has in memory when it comes to a cell, its own among them. */
function keptContexts(kept: Map<string, Kept>, {cell, method}: Point, shape: ForwardShape): number {
  const key = contextKey(cell, targetOf(cell, method))
  if (!kept.has(key) && kept.size >= KEPT_CONTEXTS) kept.delete(kept.keys().next().value!)
  kept.set(key, {inputKey: inputKey(cell), bytes: contextBytes(shape, cell.scale)})
  const inputs = new Map([...kept.values()].map(({inputKey, bytes}) => [inputKey, bytes.input]))
  const truths = [...kept.values()].map(({bytes}) => bytes.truth)
  return [...inputs.values(), ...truths].reduce((sum, bytes) => sum + bytes, 0)
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
  {
    backend,
    first,
    ...memory
  }: {
    backend: MeteredBackend
    first: boolean
    contexts: number
    loading: number
  },
): PredictedCell<ErrorSweepCell> {
  const {replicates, row_metrics: rowMetrics} = cell
  const call = callShape(shape, cell)
  // a column of ones among the values measures row sums
  const widened = {...call, valueDim: shape.valueDim + 1}
  const forward = method.estimator.cost(widened, method.options).flops
  const implied = rowMetrics
    ? method.estimator.cost({...call, valueDim: shape.keyLen}, method.options).flops
    : 0
  const target = targetOf(cell, method)
  const reference = first ? contextCost(call, target, {backend, choice: cell.backend}) : 0
  const rows = rowMetrics ? rowMetricsCost(call, replicates, cell.backend) : 0
  return {
    cell,
    label: label(cell, shape),
    predictedCost: (forward + implied) * replicates + reference + rows,
    predictedBytes: sweepProcessBytes(
      {backend, method, shape: call},
      {...memory, replicates, together: replicatesTogether(cell, method, shape), rowMetrics},
    ),
  }
}

function label(cell: ErrorSweepCell, {queryLen}: ForwardShape): string {
  const scale = cell.scale === 1 ? [] : [`scale ${cell.scale}`]
  return [variantLabel(cell), `L=${queryLen}`, ...scale, cell.target].join(' ')
}
