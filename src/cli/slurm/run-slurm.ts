/** `rfa slurm`: a plan becomes scripts for Slurm. */
import {execFile} from 'node:child_process'
import {readdir} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import {promisify} from 'node:util'
import {expected, messageOf, RfaError} from '../../errors.js'
import {deal, dealtCosts} from '../../experiments/deal.js'
import {errorCode, writeAtomic} from '../../files.js'
import {packageRoot} from '../../package.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import {type Block, list, text} from '../../report/document.js'
import {neededMemory, plural, waitingTime} from '../../report/numbers.js'
import {makeFolder} from '../../results/files.js'
import type {Plan} from '../../results/record.js'
import {describeRun} from '../../runner/schedule/dry-run.js'
import {schedule} from '../../runner/schedule/schedule.js'
import {dealtCells} from '../../runner/schedule/shards.js'
import {quoted} from '../../shell-words.js'
import type {SlurmFlags} from '../plans/slurm.js'
import type {SlurmDocument} from '../program/json-documents.js'
import type {Invocation} from '../program/services.js'
import {
  arrayScript,
  MERGED,
  mergeScript,
  SLURM_FILES,
  type SlurmJob,
  submitScript,
} from './slurm-script.js'

/** How much more memory is asked for than predicted. */
const SPARE = {factor: 1.5, bytes: 128 * 2 ** 20}

/**
 * Writes the scripts, and submits them where that is asked for.
 *
 * @throws {USAGE} for more shards than cells, and for a folder with a name that Slurm would not take as it is
 * @throws {WOULD_OVERWRITE} {NOT_WRITABLE} for the folder
 * @throws {FILE_MISSING} {BAD_FILE} where sbatch is not there, or refuses; the scripts stay
 */
export async function writeSlurmJob(
  asked: Plan,
  flags: SlurmFlags,
  {services, caution}: Pick<Invocation, 'services' | 'caution'>,
): Promise<SlurmDocument> {
  const run = await services.prepareDryRun(asked)
  const {plan, jobs, experiment, threading, warnings} = run
  for (const warning of warnings) caution(warning)
  const {shards} = flags
  if (shards > jobs.length) {
    const remedy = `cells are not divided: --shards ${jobs.length}, or fewer`
    const wanted = `at most ${plural(jobs.length, 'cell')}`
    throw expected('USAGE', '--shards', wanted, String(shards), remedy)
  }
  const cpus = flags.cpus ?? plan.threads ?? 1
  const how = schedule(run, cpus, threading)
  // a task has the number of benchmarks open that fits its memory
  const {predicted_peak_bytes: bytes} = describeRun(run, {...how, open: Math.min(1, how.open)})
  requirePlainName(flags.output)
  const directory = await folderOf(flags.output, () =>
    services.newRunDirectory(plan.experiment, new Date()),
  )
  const job: SlurmJob = {
    ...{name: `rfa-${plan.experiment}`, directory: resolve(directory), shards, cpus},
    ...{atOnce: flags['at-once'], time: flags.time, partition: flags.partition},
    workingDirectory: process.cwd(),
    program: [process.execPath, join(packageRoot(), 'bin', 'run.js')],
    plugins: (plan.plugins ?? []).map(({path}) => path),
    threaded: plan.threads === undefined,
    memory: flags.mem ?? `${Math.ceil((SPARE.factor * bytes + SPARE.bytes) / 2 ** 20)}M`,
    // whoever computes on the same node is in what is timed
    exclusive: experiment.isolation === 'fresh',
    options: flags.sbatch ?? [],
  }
  const files = await writeScripts(job, plan)
  if (job.exclusive) caution(ONE_KIND)
  const cells = await dealtCells(plan)
  const seconds = dealtCosts(cells, deal(cells, shards), shards).map(cost => cost / how.processes)
  return {
    ...{schema: 'rfa.slurm/1', directory, files, merged: join(directory, MERGED)},
    ...{shards, cells: jobs.length, cpus, memory: job.memory, predicted_peak_bytes: bytes},
    predicted_longest_seconds: Math.max(...seconds),
    predicted_mean_seconds: seconds.reduce((sum, one) => sum + one, 0) / shards,
    jobs: flags.submit ? await submit(files.submit) : null,
  }
}

const ONE_KIND =
  'times compare only on one kind of processor: if nodes differ, choose one with --sbatch=--constraint=NAME, or rfa merge refuses the shards'

/** Slurm replaces `%` and what follows in the whole path of a log, quoted or not. @throws {USAGE} */
function requirePlainName(output: string | undefined): void {
  const path = resolve(output ?? '.')
  const [fault] = /[%\\\n\r]/.exec(path) ?? []
  if (fault === undefined) return
  const what = 'a path without %, backslashes and line breaks, which Slurm interprets'
  throw expected('USAGE', '--output', what, JSON.stringify(path), 'choose another `output`')
}

/** @throws {WOULD_OVERWRITE} for a folder that has something in it */
async function folderOf(
  output: string | undefined,
  otherwise: () => Promise<string>,
): Promise<string> {
  if (output === undefined) return otherwise()
  const [entry] = await readdir(output).catch(error => {
    if (errorCode(error) === 'ENOENT') return []
    throw expected('WOULD_OVERWRITE', output, 'a new or empty folder', messageOf(error))
  })
  if (entry === undefined) return output
  const got = `one that holds other files (${entry})`
  throw expected('WOULD_OVERWRITE', output, 'a new or empty folder', got, 'choose another `output`')
}

async function writeScripts(job: SlurmJob, plan: Plan): Promise<SlurmDocument['files']> {
  const {directory} = job
  await makeFolder(join(directory, 'logs'))
  const write = async (name: string, content: string) => {
    const path = join(directory, name)
    await writeAtomic(path, content)
    return path
  }
  return {
    plan: await write(SLURM_FILES.plan, `${JSON.stringify(plan, null, 2)}\n`),
    array: await write(SLURM_FILES.array, arrayScript(job)),
    merge: await write(SLURM_FILES.merge, mergeScript(job)),
    submit: await write(SLURM_FILES.submit, submitScript()),
  }
}

/** @throws {FILE_MISSING} {BAD_FILE} */
async function submit(script: string): Promise<NonNullable<SlurmDocument['jobs']>> {
  const again = `the scripts are written: sh ${quoted(script)} submits them`
  const {stdout} = await promisify(execFile)('sh', [script]).catch(error => {
    const {code, stderr = ''} = error as {code?: unknown; stderr?: string}
    const missing = code === 127
    throw new RfaError(
      missing ? 'FILE_MISSING' : 'BAD_FILE',
      missing
        ? '--submit: expected sbatch of Slurm on the PATH, got none'
        : `--submit: sbatch refuses: ${stderr.trim() || messageOf(error)}`,
      {suggestions: [again], cause: error},
    )
  })
  const [array = '', merge = ''] = stdout.trim().split(' ')
  return {array, merge}
}

/** A task that computes for less than this is not worth its start, in s. */
const SHORT_TASK = 60

/** A warning where the work of a task is so short that an array gains nothing; `undefined` else. @param plan - its file */
export function shortTasks(
  {shards, predicted_mean_seconds}: SlurmDocument,
  plan: string,
): string | undefined {
  if (shards === 1 || predicted_mean_seconds >= SHORT_TASK) return undefined
  const total = shards * predicted_mean_seconds
  const fewer = Math.floor(total / SHORT_TASK)
  const instead =
    fewer > 1
      ? `take --shards ${fewer}`
      : `run it on one machine: ${commandText(['rfa', 'run', typeablePath(plan)])}`
  return `an array of ${shards} tasks for ${waitingTime(total * 1e9)} of work (predicted): starting them takes longer; ${instead}`
}

export function slurmReport(job: SlurmDocument): Block[] {
  const {files, shards, cells, cpus, memory, directory, merged, jobs} = job
  const [longest, mean] = [job.predicted_longest_seconds, job.predicted_mean_seconds].map(seconds =>
    waitingTime(seconds * 1e9),
  )
  const peak = neededMemory(job.predicted_peak_bytes)
  return [
    text(
      `${plural(shards, 'shard')} of ${plural(cells, 'cell')} in ${directory}; ${plural(cpus, 'processor')} and ${memory} each (predicted ${peak})`,
    ),
    ...list([
      `predicted time: longest shard ${longest}, average ${mean}`,
      `array: ${files.array}`,
      `merge, after the array: ${files.merge}; writes ${merged}`,
      jobs
        ? `submitted as jobs ${jobs.array} and ${jobs.merge}`
        : {label: 'submit both with', command: `sh ${quoted(files.submit)}`},
    ]),
  ]
}
