/** What a plan will take, before anything runs. */
import {z} from 'zod'
import {RfaError} from '../errors.js'
import type {Job, PlannedRun} from '../experiments/planned-run.js'
import {rateOf} from '../experiments/rates.js'
import {type Memory, readMemory} from '../free-memory.js'
import {type Block, list, text} from '../report/document.js'
import {bytes, nanoseconds, plural} from '../report/numbers.js'
import type {Plan} from '../results/record.js'
import type {Schedule} from './schedule.js'

const DRY_RUN_SCHEMA = 'rfa.dry-run/1'

/** A plan with what running it would mean, as `--dry-run --json` prints it. @param plan - schema of its plan */
export const dryRunSchema = (plan: z.ZodType<Plan>) =>
  z.object({
    schema: z.literal(DRY_RUN_SCHEMA).describe('Name and version of this format.'),
    plan: plan.describe('The plan as it would run.'),
    cells: z.number().int().describe('Number of cells.'),
    predicted_seconds: z
      .number()
      .meta({unit: 's', description: 'Time that the cost models predict, a rough figure.'}),
    predicted_peak_bytes: z.number().meta({
      unit: 'bytes',
      description: 'Memory of the processes that run at once, should the largest cells meet.',
    }),
    cell_labels: z.array(z.string()).describe('One line per cell, in the order of the plan.'),
  })
export type DryRun = z.infer<ReturnType<typeof dryRunSchema>>

/** Start of one process with its backend, seconds. */
export const PROCESS_SECONDS = 0.7

/** Cells, predicted time and memory of a plan. */
export function describeRun(
  {plan, jobs}: PlannedRun,
  {processes, fresh, threadShare = 1}: Schedule,
): DryRun {
  const rate = rateOf(plan.backend)
  const threads = processes * threadShare
  const flops = jobs.reduce((sum, job) => sum + job.predictedCost, 0)
  const starts = fresh ? jobs.length : 1
  return {
    schema: DRY_RUN_SCHEMA,
    plan,
    cells: jobs.length,
    predicted_seconds: flops / rate / threads + starts * PROCESS_SECONDS,
    predicted_peak_bytes: bytesAtOnce(jobs, processes),
    cell_labels: jobs.map(({label}) => label),
  }
}

/** Memory of so many of the largest cells: a process that has run one may keep it while it runs others. */
function bytesAtOnce(jobs: readonly Job[], processes: number): number {
  const sizes = jobs.map(({predictedBytes}) => predictedBytes).sort((a, b) => b - a)
  return sizes.slice(0, processes).reduce((sum, size) => sum + size, 0)
}

/**
 * Refuses a plan that needs more memory than is free.
 *
 * @param memory - what there is, this process being counted as used. Default: read from the system
 * @throws {TOO_LARGE} with the figure that {@link describeRun} gives
 */
export function assertFits(
  {jobs}: Pick<PlannedRun, 'jobs'>,
  {processes}: Pick<Schedule, 'processes'>,
  memory: () => Memory = readMemory,
): void {
  const needed = bytesAtOnce(jobs, processes)
  const {free, total} = memory()
  if (needed <= free) return
  const largest = jobs.reduce((top, job) => (job.predictedBytes > top.predictedBytes ? job : top))
  const atOnce = Math.min(processes, jobs.length)
  const each = atOnce > 1 ? ` (${atOnce} processes at once)` : ''
  throw new RfaError(
    'TOO_LARGE',
    `plan: expected to fit into memory, got one that needs about ${gibibytes(needed)}, ${gibibytes(free)} free (${gibibytes(total)} in all); most for "${largest.label}"${each}`,
    {
      suggestions: [
        'lower `seqLen`, `batch` or `heads`',
        'leave out the materialised softmax (`methods`) or `rowMetrics`',
        ...(atOnce > 1 ? ['lower `threads`: each has a cell in memory'] : []),
        'run it all the same with `force`',
      ],
    },
  )
}

function gibibytes(size: number): string {
  return `${(size / 2 ** 30).toPrecision(3)} GiB`
}

/** Cells that the terminal lists; `--json` has all of them. */
const LISTED = 40

/** What `--dry-run` prints. */
export function dryRunReport(run: DryRun): Block[] {
  const {plan, cells, cell_labels: labels} = run
  const time = nanoseconds(run.predicted_seconds * 1e9)
  const rest = labels.length - LISTED
  return [
    text(
      `${plan.experiment}: ${plural(cells, 'cell')}, predicted time ${time}, predicted peak memory ${bytes(run.predicted_peak_bytes)}`,
    ),
    ...list(labels.slice(0, LISTED)),
    ...(rest > 0 ? [text(`and ${rest} more; --json lists all`)] : []),
  ]
}
