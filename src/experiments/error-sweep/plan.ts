/** An error sweep as jobs: the grid, without the axes that do not apply to a method. */
import type {Cost} from '../../attention/types.js'
import {loadInput} from '../../inputs/load.js'
import {cellKey} from '../../results/keys.js'
import {
  ERROR_SWEEP_SCHEMA,
  type ErrorSweepCell,
  type ErrorSweepPlan,
  type MethodSpec,
} from '../../results/schemas/index.js'
import {type ForwardShape, forwardBytes, type Job} from '../job.js'
import {
  type DrawAxes,
  drawAxes,
  matchedTarget,
  methodLabel,
  type ResolvedMethod,
  resolveMethod,
} from '../method.js'

/** All jobs of a plan, in plan order. */
export async function errorSweepJobs(plan: ErrorSweepPlan): Promise<Job[]> {
  const shapes = new Map<number | null, ForwardShape>()
  for (const seqLen of plan.seq_lens ?? [null]) shapes.set(seqLen, await inputShape(plan, seqLen))
  const points = await errorSweepPoints(plan)
  return points.map(({cell, spec, method}) => toJob(cell, spec, method, shapes.get(cell.seq_len)!))
}

/** A cell of the grid with the method that it runs. */
interface Point {
  cell: ErrorSweepCell
  spec: MethodSpec
  method: ResolvedMethod
}

/** The whole grid, in plan order; reads no input. */
export async function errorSweepPoints(plan: ErrorSweepPlan): Promise<Point[]> {
  const methods = await Promise.all(
    plan.methods.map(async spec => ({spec, method: await resolveMethod(spec)})),
  )
  const points: Point[] = []
  for (const seq_len of plan.seq_lens ?? [null]) {
    for (const scale of plan.scales) {
      for (const {spec, method} of methods) {
        for (const target of targetsOf(plan, method)) {
          for (const axes of drawAxes(method, plan)) {
            const cell = toCell(plan, spec, {seq_len, scale, target, ...axes})
            points.push({cell, spec, method})
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
  axes: DrawAxes & Pick<ErrorSweepCell, 'seq_len' | 'scale' | 'target'>,
): ErrorSweepCell {
  const {input, causal, row_metrics, seed, backend} = plan
  return {...spec, input, ...axes, causal, row_metrics, seed, backend}
}

function toJob(
  cell: ErrorSweepCell,
  spec: MethodSpec,
  {estimator, options}: ResolvedMethod,
  shape: ForwardShape,
): Job {
  const costShape = {
    ...shape,
    valueDim: shape.valueDim + 1, // the column of ones that measures row sums
    numFeatures: cell.num_features ?? 0,
    causal: cell.causal,
  }
  const cost = estimator.cost(costShape, options)
  return {
    key: cellKey(ERROR_SWEEP_SCHEMA, cell),
    schema: ERROR_SWEEP_SCHEMA,
    cell,
    label: label(cell, spec, shape),
    predictedCost: cost.flops * cell.replicates * (cell.row_metrics ? 2 : 1),
    predictedBytes: cellBytes(cell, shape, cost),
  }
}

/** Inputs in float32 and as given, double-precision truth and sums, and the weights for row metrics. */
function cellBytes(cell: ErrorSweepCell, shape: ForwardShape, cost: Cost): number {
  const {batch, heads, queryLen, keyLen, valueDim} = shape
  const outputs = batch * heads * queryLen * valueDim * 8 * 4
  const rows = cell.row_metrics ? batch * heads * queryLen * keyLen * (8 + 3 * 4) : 0
  return 2 * forwardBytes(shape, cost) + outputs + rows
}

function label(cell: ErrorSweepCell, spec: MethodSpec, shape: ForwardShape): string {
  const random = [cell.projection ?? [], cell.num_features === null ? [] : `M=${cell.num_features}`]
  const scale = cell.scale === 1 ? [] : [`scale ${cell.scale}`]
  return [methodLabel(spec), ...random.flat(), `L=${shape.queryLen}`, ...scale, cell.target].join(
    ' ',
  )
}

/** Sizes of the input at one length; reading it here also finds a bad file before anything runs. */
async function inputShape(plan: ErrorSweepPlan, seqLen: number | null): Promise<ForwardShape> {
  const input = await loadInput(plan.input, {seqLen, seed: plan.seed, extras: false})
  const [batch, heads, queryLen, headDim] = input.query.shape
  const [, , keyLen, valueDim] = input.value.shape
  return {batch, heads, queryLen, keyLen, headDim, valueDim}
}
