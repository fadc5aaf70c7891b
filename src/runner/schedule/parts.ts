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

/**
 * Deals parts to lanes, in their order: a lane continues the group that it is in, then begins the first that no other is in,
 * then helps with the first that is left. Parts of no group are one.
 */
export class Deal {
  /** Parts of each group that are left, the next one last. */
  readonly #left: Map<string, Part[]>
  /** The group that each lane is in. */
  readonly #groups = new Map<object, string>()

  constructor(parts: Iterable<Part>) {
    const groups = groupBy([...parts], ({job}) => job.group ?? '')
    this.#left = new Map(groups.map(group => [group[0]!.job.group ?? '', group.toReversed()]))
  }

  /** The next part for a lane, `undefined` where none is left. */
  next(lane: object): Part | undefined {
    const own = this.#groups.get(lane)
    const group = own !== undefined && this.#left.has(own) ? own : this.#another()
    if (group === undefined) return undefined
    this.#groups.set(lane, group)
    const parts = this.#left.get(group)
    const part = parts?.pop()
    if (parts?.length === 0) this.#left.delete(group)
    return part
  }

  /** The first group that no lane is in, or else the first that is left. */
  #another(): string | undefined {
    const begun = new Set(this.#groups.values())
    for (const name of this.#left.keys()) if (!begun.has(name)) return name
    return this.#left.keys().next().value
  }
}

/** A trial is taken for as long as any other. */
function divided({cell}: Job, {processes}: Divided) {
  const cells = processes?.split(cell) ?? [cell]
  const parts = cells.length + (processes?.trial?.(cell) ? 1 : 0)
  return {cells, count: cells.length, share: 1 / parts}
}
