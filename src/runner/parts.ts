import type {Experiment} from '../experiments/experiment.js'
import type {Job} from '../experiments/planned-run.js'

/** One of the processes that run a job. */
export interface Part {
  job: Job
  /** What it runs. */
  cell: object
  /** Its place among those of the job, from 0. */
  index: number
  /** How many there are. */
  count: number
}

/** The processes of all jobs in rounds: the first one of each job, then the second ones, and so on. */
export function* partsOf(
  jobs: readonly Job[],
  {processes}: Pick<Experiment, 'processes'>,
): Generator<Part, undefined> {
  let rounds = 1
  for (let index = 0; index < rounds; index++) {
    for (const job of jobs) {
      const cells = processes?.of(job.cell) ?? [job.cell]
      rounds = Math.max(rounds, cells.length)
      const cell = cells[index]
      if (cell) yield {job, cell, index, count: cells.length}
    }
  }
}
