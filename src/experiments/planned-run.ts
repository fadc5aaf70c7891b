/** From a plan to its jobs: made once, then handed to the dry run, the memory check and the runner. */
import {expected} from '../errors.js'
import {cellKey} from '../results/keys.js'
import type {Plan} from '../results/record.js'
import type {Experiment, PredictedCell} from './experiment.js'
import {experimentNamed} from './index.js'

/** A cell of a plan under the name that its record will have. */
export interface Job extends PredictedCell {
  key: string
}

/** A plan, whose it is, and its jobs. */
export interface PlannedRun {
  experiment: Experiment
  plan: Plan
  /** In the order in which they run; equal cells are one job. */
  jobs: readonly Job[]
}

/**
 * Makes the jobs of a plan.
 *
 * @throws what reading the plan's input or resolving its methods throws
 */
export async function planRun(plan: Plan): Promise<PlannedRun> {
  const experiment = await experimentNamed(plan.experiment)
  const jobs = new Map<string, Job>()
  for (const job of await experiment.jobs(plan)) {
    const key = cellKey(experiment.schema, job.cell)
    if (!jobs.has(key)) jobs.set(key, {key, ...job})
  }
  return {experiment, plan, jobs: [...jobs.values()]}
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
export async function planKeys(plan: Plan): Promise<string[]> {
  const axes = Object.values(plan).filter(Array.isArray)
  if (axes.reduce((product, axis) => product * axis.length, 1) > MAX_COUNTED) {
    throw expected('TOO_LARGE', 'plan', `at most ${MAX_COUNTED} cells`, 'more')
  }
  const experiment = await experimentNamed(plan.experiment)
  const cells = await experiment.cells(plan)
  return [...new Set(cells.map(cell => cellKey(experiment.schema, cell)))]
}
