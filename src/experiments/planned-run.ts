/** From a plan to its jobs: made once, then handed to the dry run, the memory check and the runner. */
import {cellKey} from '../results/keys.js'
import type {Plan} from '../results/record.js'
import type {Shard} from '../results/shard.js'
import {assertCount, type Cells, cellsFrom} from './cells.js'
import type {Experiment, PredictedCell} from './experiment.js'
import {experimentNamed} from './index.js'

/** A cell of a plan under the name that its record will have. */
export interface Job extends PredictedCell {
  readonly key: string
}

/** A plan, whose it is, and its jobs. */
export interface PlannedRun<Item extends PredictedCell = Job> {
  experiment: Experiment
  plan: Plan
  /** In the order in which they run; equal cells are one job. */
  jobs: Cells<Item>
  /** Which part of the plan they are. Default: all of it */
  shard?: Shard | undefined
}

/**
 * Lays out the jobs of a plan, which are made when they are asked for.
 *
 * @throws what reading the header of the plan's input or resolving its methods throws
 */
export async function layOut(plan: Plan): Promise<PlannedRun> {
  const {experiment, jobs} = await predictRun(plan)
  const named = function* () {
    for (const job of jobs) yield new NamedJob(experiment.schema, job)
  }
  return {experiment, plan, jobs: cellsFrom(jobs.length, named)}
}

/** The same without names: where nothing runs, nothing is saved. */
export async function predictRun(plan: Plan): Promise<PlannedRun<PredictedCell>> {
  const experiment = await experimentNamed(plan.experiment)
  return {experiment, plan, jobs: await experiment.jobs(plan)}
}

/** The same with all jobs at hand. @throws what {@link layOut} throws */
export async function planRun(plan: Plan): Promise<PlannedRun & {jobs: Job[]}> {
  const {experiment, jobs} = await predictRun(plan)
  return {experiment, plan, jobs: Array.from(jobs, job => jobOf(experiment.schema, job))}
}

/** From now on this process does not call plug-in estimators to count memory. */
export async function stopCountingPlugins({plugins = []}: Plan): Promise<void> {
  const {leaveUncounted} = await import('../attention/internal.js')
  leaveUncounted(plugins.flatMap(({methods}) => methods))
}

function jobOf(
  schema: string,
  {cell, label, predictedCost, serialCost, predictedBytes, shared}: PredictedCell,
): Job {
  const key = cellKey(schema, cell)
  return {key, cell, label, predictedCost, serialCost, predictedBytes, shared}
}

/** A job whose cell and key are made when they are asked for, once. */
class NamedJob implements Job {
  private made: object | undefined
  private named: string | undefined

  constructor(
    private readonly schema: string,
    private readonly job: PredictedCell,
  ) {}

  get cell(): object {
    this.made ??= this.job.cell
    return this.made
  }

  get key(): string {
    this.named ??= cellKey(this.schema, this.cell)
    return this.named
  }

  get label(): string {
    return this.job.label
  }

  get predictedCost(): number {
    return this.job.predictedCost
  }

  get serialCost(): number | undefined {
    return this.job.serialCost
  }

  get predictedBytes(): number {
    return this.job.predictedBytes
  }

  get shared(): PredictedCell['shared'] {
    return this.job.shared
  }
}

/** Most cells of a saved plan that are counted one by one: it may be anybody's. */
const MOST_COUNTED = 1e6

/**
 * The keys of a plan's cells, in the order of its jobs, each once. Reads no input, which may be gone
 * when a saved run is looked at.
 *
 * @throws {TOO_LARGE} for a grid of more than a million
 * @throws what resolving the plan's methods throws
 */
export async function planKeys(plan: Plan): Promise<string[]> {
  const experiment = await experimentNamed(plan.experiment)
  const cells = await experiment.cells(plan)
  assertCount(plan, cells.length, MOST_COUNTED)
  return Array.from(cells, cell => cellKey(experiment.schema, cell))
}

/** How progress calls cells of a plan; their keys where their input is not here. */
export async function planLabels(plan: Plan, keys: readonly string[]): Promise<string[]> {
  try {
    const {jobs} = await layOut(plan)
    const labels = new Map<string, string>()
    for (const {key, label} of jobs) {
      if (keys.includes(key)) labels.set(key, label)
      if (labels.size === keys.length) break
    }
    return keys.map(key => labels.get(key) ?? key)
  } catch {
    return [...keys]
  }
}
