/** A plan, described before anything of it runs. */
import type {PlannedRun} from '../../experiments/planned-run.js'
import type {Plan} from '../../results/record.js'
import {type DryRun, describeRun} from '../../runner/schedule/dry-run.js'
import {schedule} from '../../runner/schedule/schedule.js'
import type {Services} from '../program/services.js'

/**
 * What a plan runs, and what that is predicted to take.
 *
 * @param threads - of the whole run. Default: one per processor
 * @throws what planning throws
 */
export async function describedPlan(
  plan: Plan,
  threads: number | undefined,
  {prepareDryRun}: Pick<Services, 'prepareDryRun'>,
): Promise<{run: PlannedRun; described: DryRun}> {
  const run = await prepareDryRun(plan)
  return {run, described: describeRun(run, schedule(run, threads, run.threading))}
}
