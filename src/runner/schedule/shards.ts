/** Which cells of a plan a shard runs. */
import type {BackendChoice} from '../../backends/index.js'
import {type DealtCell, deal} from '../../experiments/deal.js'
import {experimentNamed} from '../../experiments/index.js'
import {rateOf} from '../../experiments/rates.js'
import type {Plan} from '../../results/record.js'
import {predictedSeconds} from './schedule.js'

/**
 * Cells as they are dealt. Costs are for one thread and, where the plan leaves the backend open, for the first
 * choice of `auto`, whatever this machine has: all shards must get the same result.
 *
 * @param plan - with its input pinned
 * @returns costs in seconds, in the order of the plan
 */
export async function dealtCells(plan: Plan): Promise<DealtCell[]> {
  const nominal: Plan = {
    ...plan,
    backend: Array.isArray(plan.backend) ? plan.backend.map(decided) : decided(plan.backend),
    ...(plan.threads === null && {threads: 1}),
  }
  const {grid, isolation} = await experimentNamed(plan.experiment)
  const jobs = await (await grid(nominal)).jobs()
  const alone = jobs.map(({shared: _, ...job}) => job)
  const how = {fresh: isolation === 'fresh', threadShare: 1, processes: 1}
  const seconds = predictedSeconds(alone, nominal, how)
  const rate = rateOf([nominal.backend].flat()[0]!)
  return jobs.map(({shared = []}, at) => ({
    cost: seconds[at]!,
    shared: shared.map(({id, cost}) => ({id, cost: cost / rate})),
  }))
}

function decided(choice: BackendChoice): BackendChoice {
  return choice === 'auto' ? 'native' : choice
}

/** The shard of each cell of a plan, from 1, in the order of the plan. */
export async function shardsOf(plan: Plan, count: number): Promise<number[]> {
  return deal(await dealtCells(plan), count).map(shard => shard + 1)
}

/** The jobs of one shard. @param shards - of all jobs */
export function ofShard<Item>(
  jobs: readonly Item[],
  shards: readonly number[],
  index: number,
): Item[] {
  return jobs.filter((_, at) => shards[at] === index)
}
