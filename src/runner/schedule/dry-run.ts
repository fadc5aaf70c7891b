/** What a plan will take, before anything runs. */
import {z} from 'zod'
import {RfaError} from '../../errors.js'
import {MOST_CELLS} from '../../experiments/cells.js'
import type {Job, PlannedRun} from '../../experiments/planned-run.js'
import {type Memory, readMemory} from '../../free-memory.js'
import {pluginOf} from '../../plugins/record.js'
import {type Block, list, text} from '../../report/document.js'
import {groupBy} from '../../report/groups.js'
import {neededMemory, plural, waitingTime} from '../../report/numbers.js'
import type {Plan} from '../../results/record.js'
import {PROCESS_SECONDS, predictedSeconds, type Schedule} from './schedule.js'

/** Name and version of what a dry run prints. */
export const DRY_RUN_SCHEMA = 'rfa.dry-run/1'

/**
 * Memory of the program that leads a run, in bytes: without cells; for each label, key and record; and what V8 leaves
 * uncollected, which stops growing after some two thousand cells. Measured peaks of error sweeps: 129 MB with 200 cells,
 * 300 MB with 2000, 449 MB with 20,000.
 */
const LEADER = {alone: 112e6, ofCell: 12e3, wasteOfCell: 82e3, mostWaste: 165e6}

/** Memory of the program that leads a run, by its number of cells. */
export function leaderBytes(cells: number): number {
  const {alone, ofCell, wasteOfCell, mostWaste} = LEADER
  return alone + cells * ofCell + Math.min(cells * wasteOfCell, mostWaste)
}

/** Most cells that are named one by one. */
const LABELLED = 10_000

/** A plan with what running it would mean, as `--dry-run --json` prints it. @param plan - schema of its plan */
export const dryRunSchema = (plan: z.ZodType<Plan>) =>
  z.object({
    schema: z.literal(DRY_RUN_SCHEMA).describe('Name and version of this format.'),
    plan: plan.describe('The plan as it would run.'),
    cells: z.int().describe('Number of cells that would run.'),
    kept_cells: z
      .int()
      .describe('Cells that the run to continue has already; they are not computed again.'),
    predicted_seconds: z
      .number()
      .meta({unit: 's', description: 'Time predicted by the cost models; rough.'}),
    predicted_peak_bytes: z.number().meta({
      unit: 'bytes',
      description:
        'Memory of the program and its concurrent processes, if the largest cells run at the same time.',
    }),
    cell_labels: z
      .array(z.string())
      .describe(`One line per cell, in the order of the plan; the first ${LABELLED} of more.`),
  })
export type DryRun = z.infer<ReturnType<typeof dryRunSchema>>

/**
 * Cells, predicted time and memory of a plan.
 *
 * @param kept - cells that the run to continue has already; they are not among the jobs
 */
export function describeRun(run: PlannedRun, schedule: Schedule, kept = 0): DryRun {
  const {plan, jobs} = run
  const {processes, fresh} = schedule
  const seconds = predictedSeconds(jobs, plan, schedule).reduce((sum, one) => sum + one, 0)
  return {
    schema: DRY_RUN_SCHEMA,
    plan,
    cells: jobs.length,
    kept_cells: kept,
    predicted_seconds: seconds / processes + (fresh ? 0 : PROCESS_SECONDS),
    predicted_peak_bytes: leaderBytes(jobs.length + kept) + bytesAtOnce(run, schedule),
    cell_labels: jobs.slice(0, LABELLED).map(({label}) => label),
  }
}

type AtOnce = Pick<Schedule, 'processes' | 'fresh' | 'open'>
type JobsOf = Pick<PlannedRun, 'experiment' | 'jobs'>

/**
 * The largest cells that are in memory at once. Fresh processes hold theirs while they wait for their turns; others
 * may keep the largest that they have run, and each plug-in has its own set of processes.
 */
function atOnce(jobs: readonly Job[], {processes, fresh, open}: AtOnce): Job[] {
  const most = fresh ? Math.max(processes, open) : processes
  const kinds = fresh ? [jobs] : groupBy(jobs, ({cell}) => pluginOf(cell) ?? '')
  return kinds.flatMap(sameKind => sameKind.toSorted(bySize).slice(0, most)).sort(bySize)
}

function bySize(a: Job, b: Job): number {
  return b.predictedBytes - a.predictedBytes
}

/** Their bytes; what cells of one process have in common counts once. */
function bytesAtOnce({experiment, jobs}: JobsOf, schedule: AtOnce): number {
  const common = new Map<string, number>()
  let sum = 0
  for (const {cell, predictedBytes, commonBytes = 0} of atOnce(jobs, schedule)) {
    sum += predictedBytes
    const key = experiment.processes?.sharingKey?.(cell)
    if (key === undefined) continue
    const known = common.get(key) ?? 0
    common.set(key, Math.max(known, commonBytes))
    sum -= Math.min(known, commonBytes)
  }
  return sum
}

/** What is known of memory when a plan is let in. */
export interface FreeMemory {
  /** What there is. Default: read from the system, this process being counted as used. */
  memory?: () => Memory
  /** Held by a process that is gone, or computes cells, when they run: their prediction counts it. */
  heldBytes?: number
}

/**
 * Refuses a plan that needs more memory than is free. What this process has now is used already.
 *
 * @throws {TOO_LARGE} with the figure that {@link describeRun} gives, less {@link leaderBytes} of no cell
 */
export function assertFits(
  run: JobsOf,
  schedule: AtOnce,
  {memory = readMemory, heldBytes = 0}: FreeMemory = {},
): void {
  const largest = atOnce(run.jobs, schedule)
  const needed = leaderBytes(run.jobs.length) - leaderBytes(0) + bytesAtOnce(run, schedule)
  const {free: left, total} = memory()
  const free = Math.min(total, left + heldBytes)
  if (needed <= free) return
  const several = largest.length > 1
  const each = several
    ? ` (${largest.length} ${schedule.fresh ? 'cells' : 'processes'} at once)`
    : ''
  throw new RfaError(
    'TOO_LARGE',
    `plan: expected to fit into memory, got one that needs about ${gibibytes(needed)}, ${gibibytes(free)} free (${gibibytes(total)} in all); most for "${largest[0]?.label ?? ''}"${each}`,
    {
      suggestions: [
        ...whatIsLarge(largest[0]),
        ...(several && !schedule.fresh ? ['lower `threads`: each has a cell in memory'] : []),
        'run it all the same with `force`',
      ],
    },
  )
}

/** What to ask less of, for the sake of the largest cell. */
function whatIsLarge(largest: Job | undefined): string[] {
  const cell: object = largest?.cell ?? {}
  const [method, numFeatures, seqLen] = ['method', 'num_features', 'seq_len'].map(field =>
    Reflect.get(cell, field),
  )
  const sizes = 'lower `seqLen`, `batch` or `heads`'
  if (Number(numFeatures) > (Number(seqLen) || 0)) return ['lower `numFeatures`', sizes]
  if (method !== 'softmax') return [sizes]
  return [sizes, 'take softmax-online in place of softmax, which holds L x L weights (`methods`)']
}

function gibibytes(size: number): string {
  return `${(size / 2 ** 30).toPrecision(3)} GiB`
}

/** Cells that the terminal lists. */
const LISTED = 40

export function dryRunReport(run: DryRun): Block[] {
  const {plan, cells, cell_labels: labels} = run
  const time = waitingTime(run.predicted_seconds * 1e9)
  const rest = cells - Math.min(labels.length, LISTED)
  const all = labels.length === cells ? 'all' : `the first ${labels.length}`
  const missing =
    run.kept_cells === 0
      ? plural(cells, 'cell')
      : `${cells} of ${plural(cells + run.kept_cells, 'cell')} missing`
  return [
    text(
      `${plan.experiment}${plan.causal ? ', causal' : ''}: ${missing}, predicted time ${time}, predicted peak memory ${neededMemory(run.predicted_peak_bytes)}`,
    ),
    ...list(labels.slice(0, LISTED)),
    ...(rest > 0 ? [text(`and ${rest} more; --json lists ${all}`)] : []),
    ...(cells > MOST_CELLS
      ? [text(`More than ${MOST_CELLS} cells are run with --force only.`)]
      : []),
  ]
}
