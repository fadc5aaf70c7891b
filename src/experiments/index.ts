/** The experiments: plans become jobs, jobs become outcomes. */
import {expected, RfaError} from '../errors.js'
import {type Memory, readMemory} from '../free-memory.js'
import {cellKey} from '../results/keys.js'
import {
  type AnyCell,
  type AnyPlan,
  BENCH_SCHEMA,
  type BenchCell,
  ERROR_SWEEP_SCHEMA,
  type ErrorSweepCell,
  VARIANCE_SCHEMA,
  type VarianceCell,
} from '../results/schemas/index.js'
import type {CellOutcome, Job} from './job.js'
import {rateOf} from './rates.js'

export type {CellOutcome, Job} from './job.js'

/**
 * All jobs of a plan, in the order in which they run.
 *
 * @throws what reading the plan's input or resolving its methods throws
 */
export async function planJobs(plan: AnyPlan): Promise<Job[]> {
  switch (plan.experiment) {
    case 'error-sweep':
      return (await import('./error-sweep/grid.js')).errorSweepJobs(plan)
    case 'bench':
      return (await import('./bench/grid.js')).benchJobs(plan)
    case 'variance':
      return (await import('./variance/grid.js')).varianceJobs(plan)
  }
}

/** Most cells that are counted one by one: a saved plan may be anybody's. */
const MAX_COUNTED = 1e6

/**
 * The keys of a plan's cells, in the order of its jobs, each once. Reads no input, which may be gone
 * when a saved run is looked at.
 *
 * @throws {TOO_LARGE} for a grid that may have more than a million
 * @throws what resolving the plan's methods throws
 */
export async function planKeys(plan: AnyPlan): Promise<string[]> {
  const axes = Object.values(plan).filter(Array.isArray)
  if (axes.reduce((product, axis) => product * axis.length, 1) > MAX_COUNTED) {
    throw expected('TOO_LARGE', 'plan', `at most ${MAX_COUNTED} cells`, 'more')
  }
  return [...new Set(await allKeys(plan))]
}

async function allKeys(plan: AnyPlan): Promise<string[]> {
  switch (plan.experiment) {
    case 'error-sweep': {
      const points = await (await import('./error-sweep/grid.js')).errorSweepPoints(plan)
      return points.map(({cell}) => cellKey(ERROR_SWEEP_SCHEMA, cell))
    }
    case 'bench': {
      const points = await (await import('./bench/grid.js')).benchPoints(plan)
      return points.map(({cell}) => cellKey(BENCH_SCHEMA, cell))
    }
    case 'variance': {
      const {varianceCells} = await import('./variance/grid.js')
      return varianceCells(plan).map(cell => cellKey(VARIANCE_SCHEMA, cell))
    }
  }
}

/** Runs one cell in this process. */
export async function runCell(schema: string, cell: AnyCell): Promise<CellOutcome> {
  switch (schema) {
    case ERROR_SWEEP_SCHEMA:
      return (await import('./error-sweep/cell.js')).runErrorSweepCell(cell as ErrorSweepCell)
    case BENCH_SCHEMA:
      return (await import('./bench/cell.js')).runBenchCell(cell as BenchCell)
    case VARIANCE_SCHEMA:
      return (await import('./variance/cell.js')).runVarianceCell(cell as VarianceCell)
    default:
      throw new RfaError(
        'UNKNOWN_SCHEMA',
        `cell: expected an experiment of this version, got ${schema}`,
      )
  }
}

/** What a plan will take, before anything runs. */
export interface PlanDescription {
  cells: number
  cellLabels: string[]
  /** A rough figure from the cost models; `null` when the backend's speed is unknown. */
  predictedSeconds: number | null
  /** Predicted memory of the processes that run at once, should the largest cells meet. */
  peakBytes: number
}

/** Start of one process with its backend, seconds. */
const PROCESS_SECONDS = 0.7

/**
 * Cells, predicted time and memory of a plan.
 *
 * @param concurrency - processes at once
 */
export async function describePlan(plan: AnyPlan, concurrency = 1): Promise<PlanDescription> {
  const jobs = await planJobs(plan)
  const rate = rateOf(plan.backend)
  const flops = jobs.reduce((sum, job) => sum + job.predictedCost, 0)
  const processes = plan.experiment === 'bench' ? jobs.length : 1
  return {
    cells: jobs.length,
    cellLabels: jobs.map(job => job.label),
    predictedSeconds:
      rate === undefined ? null : flops / rate / concurrency + processes * PROCESS_SECONDS,
    peakBytes: bytesAtOnce(jobs, concurrency),
  }
}

/** Memory of so many of the largest cells: a process that has run one may keep it while it runs others. */
function bytesAtOnce(jobs: readonly Job[], concurrency: number): number {
  const sizes = jobs.map(({predictedBytes}) => predictedBytes).sort((a, b) => b - a)
  return sizes.slice(0, concurrency).reduce((sum, bytes) => sum + bytes, 0)
}

/** What {@link assertFits} goes by. */
export interface FitOptions {
  /** Let everything pass. */
  force: boolean
  /** Processes at once. Default 1. */
  concurrency?: number
  /** What there is, this process being counted as used. Default: read from the system. */
  memory?: () => Memory
}

/**
 * Refuses a plan that needs more memory than is free.
 *
 * @throws {TOO_LARGE} with the figure that {@link describePlan} gives, unless forced
 */
export async function assertFits(
  plan: AnyPlan,
  {force, concurrency = 1, memory = readMemory}: FitOptions,
): Promise<void> {
  if (force) return
  const jobs = await planJobs(plan)
  const needed = bytesAtOnce(jobs, concurrency)
  const {free, total} = memory()
  if (needed <= free) return
  const largest = jobs.reduce((top, job) => (job.predictedBytes > top.predictedBytes ? job : top))
  const atOnce = Math.min(concurrency, jobs.length)
  const each = atOnce > 1 ? ` (${atOnce} processes at once)` : ''
  throw new RfaError(
    'TOO_LARGE',
    `plan: expected to fit into memory, got one that needs about ${gibibytes(needed)}, ${gibibytes(free)} free (${gibibytes(total)} in all); most for "${largest.label}"${each}`,
    {
      suggestions: [
        'lower --seq-len, --batch or --heads',
        'leave out the materialised softmax (--methods) or --row-metrics',
        ...(atOnce > 1 ? ['lower --threads: each has a cell in memory'] : []),
        'run it all the same with --force',
      ],
    },
  )
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toPrecision(3)} GiB`
}
