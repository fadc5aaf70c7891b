/** From a plan to its jobs: made once, then handed to the dry run, the memory check and the runner. */

import type {Shard} from '../results/folder/shard.js'
import {cellKey} from '../results/keys.js'
import type {Plan} from '../results/record.js'
import {assertCount, MOST_FORCED} from './cells.js'
import type {Experiment, PredictedCell} from './experiment.js'
import {experimentNamed} from './index.js'

/** A cell of a plan under the name that its record will have. */
export interface Job extends PredictedCell {
  readonly key: string
}

export interface PlannedRun {
  experiment: Experiment
  plan: Plan
  /** In the order in which they run; equal cells are one job. */
  jobs: readonly Job[]
  /** Which part of the plan they are. Default: all of it */
  shard?: Shard | undefined
}

/**
 * Makes the jobs of a plan.
 *
 * @param most - cells that are let in
 * @throws {TOO_LARGE} for more, before any is made
 */
export async function planRun(plan: Plan, most: number = MOST_FORCED): Promise<PlannedRun> {
  const experiment = await experimentNamed(plan.experiment)
  const grid = await experiment.grid(plan)
  assertCount(plan, grid.count, most)
  const {schema} = experiment
  const jobs = (await grid.jobs()).map(job => ({key: cellKey(schema, job.cell), ...job}))
  return {experiment, plan, jobs}
}

/** From now on this process does not call plug-in estimators to count memory. */
export async function stopCountingPlugins({plugins = []}: Plan): Promise<void> {
  const {leaveUncounted} = await import('../attention/internal.js')
  leaveUncounted(plugins.flatMap(({methods}) => methods))
}

/**
 * The keys of a plan's cells, in the order of its jobs, each once. Reads no input, which may be gone
 * when a saved run is looked at.
 *
 * @throws {TOO_LARGE} for a grid of more than a million: the plan may come from anywhere
 */
export async function planKeys(plan: Plan): Promise<string[]> {
  const experiment = await experimentNamed(plan.experiment)
  const {count, cells} = await experiment.grid(plan)
  assertCount(plan, count, MOST_FORCED)
  return cells().map(cell => cellKey(experiment.schema, cell))
}

/** How progress calls cells of a plan; their keys where their input is not here. */
export async function planLabels(plan: Plan, keys: readonly string[]): Promise<string[]> {
  try {
    const {jobs} = await planRun(plan)
    const labels = new Map(jobs.map(({key, label}) => [key, label]))
    return keys.map(key => labels.get(key) ?? key)
  } catch {
    return [...keys]
  }
}
