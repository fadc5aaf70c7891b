/** Which cells of a plan a shard runs. */
import type {BackendChoice} from '../backends/index.js'
import {type Cells, cellsFrom} from '../experiments/cells.js'
import {type DealtCell, deal} from '../experiments/deal.js'
import type {PredictedCell} from '../experiments/experiment.js'
import {predictRun} from '../experiments/planned-run.js'
import {costForOthers} from '../experiments/shared-cost.js'
import type {Plan} from '../results/record.js'
import {cellSeconds} from './schedule.js'

/**
 * Cells as they are dealt. Their costs are those of one thread, and where the plan leaves the backend open those of the one
 * that `auto` takes first, whatever this machine has: all shards must come to the same.
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
  const {experiment, jobs} = await predictRun(nominal)
  const schedule = {fresh: experiment.isolation === 'fresh', threadShare: 1, processes: 1}
  const seconds = (predictedCost: number) => cellSeconds({predictedCost}, nominal, schedule)
  const shareSeconds = (predictedCost: number) =>
    cellSeconds({predictedCost}, nominal, {...schedule, fresh: false})
  return Array.from(jobs, ({predictedCost, shared, family}) => ({
    cost: seconds(predictedCost - costForOthers(shared)),
    family: family && {id: family.id, cost: shareSeconds(family.cost)},
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
export function ofShard<Item extends PredictedCell>(
  jobs: Cells<Item>,
  shards: readonly number[],
  index: number,
): Cells<Item> {
  const length = shards.reduce((sum, shard) => sum + (shard === index ? 1 : 0), 0)
  return cellsFrom(length, function* () {
    let at = 0
    for (const job of jobs) if (shards[at++] === index) yield job
  })
}
