/** Cells computed in this process, as a worker would. */
import {benchGrid} from '../../src/experiments/bench/grid.js'
import type {BenchPlan} from '../../src/experiments/bench/schema.js'
import type {CellOutcome} from '../../src/experiments/experiment.js'
import {planRun} from '../../src/experiments/planned-run.js'
import type {Plan} from '../../src/results/record.js'

/** One function per cell of a plan, in its order; each computes its cell. */
export async function cellsOf<P extends Plan>(plan: P): Promise<(() => Promise<CellOutcome>)[]> {
  const {experiment, jobs} = await planRun(plan)
  return jobs.map(
    ({cell}) =>
      () =>
        experiment.run(cell, {}),
  )
}

/** What the first cell of a plan comes to. */
export async function firstOutcome<P extends Plan>(plan: P): Promise<CellOutcome> {
  const [first] = await cellsOf(plan)
  return first!()
}

/** The cells of a benchmark. */
export const benchCells = async (plan: BenchPlan) => (await benchGrid(plan)).cells()

/** The same with predictions. */
export const benchJobs = async (plan: BenchPlan) => (await benchGrid(plan)).jobs()
