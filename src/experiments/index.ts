/** The experiments: plans become jobs, jobs become outcomes. */
import {freemem, totalmem} from 'node:os'
import {expected, RfaError} from '../errors.js'
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

export type {CellOutcome, Job} from './job.js'

/**
 * All jobs of a plan, in the order in which they run.
 *
 * @throws what reading the plan's input or resolving its methods throws
 */
export async function planJobs(plan: AnyPlan): Promise<Job[]> {
  switch (plan.experiment) {
    case 'error-sweep':
      return (await import('./error-sweep/plan.js')).errorSweepJobs(plan)
    case 'bench':
      return (await import('./bench/plan.js')).benchJobs(plan)
    case 'variance':
      return (await import('./variance/plan.js')).varianceJobs(plan)
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
  if (plan.experiment !== 'error-sweep') return (await planJobs(plan)).map(({key}) => key)
  const points = await (await import('./error-sweep/plan.js')).errorSweepPoints(plan)
  return points.map(({cell}) => cellKey(ERROR_SWEEP_SCHEMA, cell))
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
  /** Largest predicted memory of one process, times the processes that run at once. */
  peakBytes: number
}

/** Sustained floating-point rates, operations per second: orders of magnitude, the lowest for auto. */
const RATES: Record<string, number> = {
  auto: 4e9,
  native: 3e10,
  wasm: 4e9,
  tensorflow: 3e10,
  cpu: 4e8,
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
  const rate = RATES[plan.backend]
  const flops = jobs.reduce((sum, job) => sum + job.predictedCost, 0)
  const processes = plan.experiment === 'bench' ? jobs.length : 1
  const largest = jobs.reduce((top, job) => Math.max(top, job.predictedBytes), 0)
  return {
    cells: jobs.length,
    cellLabels: jobs.map(job => job.label),
    predictedSeconds:
      rate === undefined ? null : flops / rate / concurrency + processes * PROCESS_SECONDS,
    peakBytes: largest * Math.min(concurrency, jobs.length),
  }
}

/**
 * Refuses a plan that needs more memory than this machine has.
 *
 * @throws {TOO_LARGE} with the estimate, unless `force`
 */
export async function assertFits(
  plan: AnyPlan,
  {force, concurrency = 1}: {force: boolean; concurrency?: number},
): Promise<void> {
  const jobs = await planJobs(plan)
  const largest = jobs.reduce((top, job) => (job.predictedBytes > top.predictedBytes ? job : top))
  const atOnce = Math.min(concurrency, jobs.length)
  const needed = largest.predictedBytes * atOnce
  const available = Math.min(totalmem(), process.constrainedMemory() || Infinity)
  if (force || needed <= available) return
  const each = atOnce > 1 ? ` (${atOnce} processes at once)` : ''
  throw new RfaError(
    'TOO_LARGE',
    `plan: expected to fit into ${gibibytes(available)} of memory (${gibibytes(freemem())} free), got about ${gibibytes(needed)} for "${largest.label}"${each}`,
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
