import type {Experiment} from '../../experiments/experiment.js'
import type {Job} from '../../experiments/planned-run.js'
import {groupBy} from '../../report/groups.js'

/** One of the processes that run a job. */
export interface Part {
  job: Job
  /** What it runs. */
  cell: object
  /** Whether this is the one before all others. */
  isTrial: boolean
  /** Its place among those of the job, from 0. */
  index: number
  /** How many there are, but for a trial. */
  count: number
  /** What it is predicted to take of the time of the job, from 0 to 1. */
  share: number
}

type Divided = Pick<Experiment, 'processes'>

/** The trials of all jobs that have one, process by process. */
export function trialsOf(jobs: readonly Job[], experiment: Divided): Part[][] {
  const all = jobs.flatMap(job => {
    const trial = experiment.processes?.trial?.(job.cell)
    return trial ? [{job, trial}] : []
  })
  return groupBy(all, ({trial}) => trial.key).map(group =>
    group
      .toSorted((a, b) => a.job.predictedBytes - b.job.predictedBytes)
      .map(({job, trial: {cell}}) => {
        const {count, share} = divided(job, experiment)
        return {job, cell, isTrial: true, index: 0, count, share}
      }),
  )
}

/** The processes of all jobs in rounds: the first one of each job, then the second ones, and so on. */
export function* partsOf(jobs: readonly Job[], experiment: Divided): Generator<Part, undefined> {
  let rounds = 1
  for (let index = 0; index < rounds; index++) {
    for (const job of jobs) {
      const {cells, count, share} = divided(job, experiment)
      rounds = Math.max(rounds, count)
      const cell = cells[index]
      if (cell) yield {job, cell, isTrial: false, index, count, share}
    }
  }
}

/** A trial is taken for as long as any other. */
function divided({cell}: Job, {processes}: Divided) {
  const cells = processes?.split(cell) ?? [cell]
  const parts = cells.length + (processes?.trial?.(cell) ? 1 : 0)
  return {cells, count: cells.length, share: 1 / parts}
}
