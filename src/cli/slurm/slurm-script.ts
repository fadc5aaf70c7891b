/** Scripts for Slurm: an array whose tasks run the shards of a plan, the merge that waits for them, and what submits both. */
import {resolve} from 'node:path'
import {quoted} from '../../shell-words.js'

export interface SlurmJob {
  name: string
  /** Folder of scripts, logs and runs; absolute. */
  directory: string
  /** Where commands run, so that files of the plan are found; absolute. */
  workingDirectory: string
  /** Words that start rfa. */
  program: readonly string[]
  /** Modules that were named for the plan; absolute. */
  plugins: readonly string[]
  shards: number
  /** Most tasks at once. Default: as many as the cluster has room for */
  atOnce?: number | undefined
  /** Processors of a task. */
  cpus: number
  /** Whether the plan leaves threads open; one that is about threads says their number itself. */
  threaded: boolean
  /** Memory of a task, as Slurm writes it. */
  memory: string
  /** Longest time of a task, as Slurm writes it. Default: what the partition has */
  time?: string | undefined
  partition?: string | undefined
  /** A node for each task alone. */
  exclusive: boolean
  /** More options of sbatch, one each, with dashes. */
  options: readonly string[]
}

/** File names in the folder of a job. */
export const SLURM_FILES = {
  plan: 'plan.json',
  array: 'array.sbatch',
  merge: 'merge.sbatch',
  submit: 'submit.sh',
} as const
/** Folder of the merged run, in that of the job. */
export const MERGED = 'merged'

/** Name of the folder of a shard, for the shell: numbers are as wide as the largest. */
function shardFolder({directory, shards}: SlurmJob): string {
  const width = String(shards).length
  return `${quoted(resolve(directory, 'shard-'))}"$(printf '%0${width}d' "$SLURM_ARRAY_TASK_ID")"`
}

function command({program, plugins}: SlurmJob, ...words: string[]): string {
  const named = plugins.flatMap(path => ['--plugin', quoted(path)])
  return ['exec', ...program.map(quoted), ...words, ...named].join(' ')
}

function head(job: SlurmJob, ...own: string[]): string[] {
  const {partition, options} = job
  return [
    '#!/bin/bash',
    ...[...own, ...(partition === undefined ? [] : [`--partition=${partition}`]), ...options].map(
      option => `#SBATCH ${option}`,
    ),
    '',
    `cd ${quoted(job.workingDirectory)} || exit`,
  ]
}

/**
 * The tasks. Each goes on where it was stopped, be it by a time limit, a node that went down or a requeue: the signal before
 * the end goes to rfa itself, which keeps what has finished.
 */
export function arrayScript(job: SlurmJob): string {
  const {name, shards, atOnce, cpus, memory, time, exclusive, directory, threaded} = job
  const own = [
    `--job-name=${name}`,
    `--array=1-${shards}${atOnce === undefined ? '' : `%${atOnce}`}`,
    '--ntasks=1',
    `--cpus-per-task=${cpus}`,
    `--mem=${memory}`,
    ...(time === undefined ? [] : [`--time=${time}`]),
    ...(exclusive ? ['--exclusive'] : []),
    '--signal=B:TERM@60',
    '--requeue',
    '--open-mode=append',
    '--output=logs/shard-%a.log',
  ]
  const words = [
    ...['run', quoted(resolve(directory, SLURM_FILES.plan))],
    ...['--shard', `"$SLURM_ARRAY_TASK_ID/${shards}"`],
    ...['--output', shardFolder(job), '--resume', ...(threaded ? ['--threads', String(cpus)] : [])],
  ]
  return text([...head(job, ...own), command(job, ...words)])
}

/** The merge; it names what is missing, where a task has failed. */
export function mergeScript(job: SlurmJob): string {
  const {name, memory, directory} = job
  const own = [
    ...[`--job-name=${name}-merge`, '--ntasks=1', `--mem=${memory}`],
    '--open-mode=append',
    '--output=logs/merge.log',
  ]
  const folders = `${quoted(resolve(directory, 'shard-'))}*`
  const words = ['merge', folders, '--output', quoted(resolve(directory, MERGED))]
  return text([...head(job, ...own), command(job, ...words)])
}

/** Submits both, from wherever it is called; the merge waits until every task has ended, however it did. */
export function submitScript(): string {
  return text([
    '#!/bin/sh',
    '# run again, it continues what has not finished',
    'set -e',
    'cd "$(dirname "$0")"',
    'mkdir -p logs',
    `array=$(sbatch --parsable ${SLURM_FILES.array})`,
    // a cluster may stand behind the number: 17;name
    `merge=$(sbatch --parsable --dependency="afterany:\${array%%;*}" ${SLURM_FILES.merge})`,
    'echo "$array $merge"',
  ])
}

function text(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
