import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {existsSync, renameSync} from 'node:fs'
import {appendFile, readdir} from 'node:fs/promises'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {describe, expect, it, onTestFinished, vi} from 'vitest'
import {services} from '../../../src/cli/program/services.js'
import {readRuns} from '../../../src/cli/report/write-report.js'
import type {Job} from '../../../src/experiments/planned-run.js'
import type {CellRecord} from '../../../src/results/record.js'
import {FaultyRun} from '../../../src/runner/folder/finished-run.js'
import {
  type ProgressEvent,
  type RunExperimentOptions,
  runExperiment,
} from '../../../src/runner/run-experiment.js'
import type {Schedule} from '../../../src/runner/schedule/schedule.js'
import {FULL} from '../../helpers/effort.js'
import {VARIANCE_PLAN} from '../../helpers/records/variance.js'
import {buildRunner, removeBuilt} from '../../helpers/runner/built.js'
import {
  gate,
  jobFor,
  jobsFor,
  noted,
  notes,
  pidOf,
  timedExperiment,
} from '../../helpers/runner/jobs.js'
import {
  OPTIONS,
  planned,
  recordsIn,
  run,
  runFolder,
  SERIAL,
} from '../../helpers/runner/variance-runs.js'

/** Two cells take turns. */
const TIMED: Schedule = {
  ...{processes: 1, fresh: true, threadShare: undefined},
  ...{open: 2, trials: 1},
}

describe('runExperiment, interrupted', () => {
  it('leaves the journal and no tables, and can be resumed', async () => {
    const directory = await runFolder()
    const controller = new AbortController()
    const jobs = [jobFor('ok', 0), jobFor('sleep', 1, 600)]
    const onProgress = ({done}: ProgressEvent) => void (done === 1 && controller.abort())
    const interrupted = run(jobs, {
      directory,
      signal: controller.signal,
      schedule: SERIAL,
      onProgress,
    })
    await expect(interrupted).rejects.toMatchObject({code: 'INTERRUPTED'})
    expect((await readdir(directory)).sort()).toEqual(['manifest.json', 'records.jsonl'])
    const {counts} = await run(jobs, {directory, resume: true})
    expect(counts).toEqual({total: 2, completed: 2, skipped: 0, failed: 0})
  })

  it('says what timed cells have measured, writes no tables, and measures them anew', async () => {
    const directory = await runFolder()
    const [file, {open}] = [await notes(), await gate()]
    const jobs = jobsFor('ok', 'process+laps', 'laps', 'ok')
    const controller = new AbortController()
    const timedRun = (changes: Partial<RunExperimentOptions>) =>
      runExperiment(
        {...planned(jobs), experiment: timedExperiment},
        {...OPTIONS, schedule: TIMED, directory, ...changes},
      )
    const interrupted = timedRun({signal: controller.signal})
    await Promise.all([1, 2].map(seed => noted(file, `over ${seed}`)))
    controller.abort()
    const error = await interrupted.catch(caught => caught)
    expect(error).toBeInstanceOf(FaultyRun)
    expect(error).toMatchObject({
      code: 'INTERRUPTED',
      message: 'interrupted: 2 of 4 cells measured in part',
      run: {directory, counts: {total: 4, completed: 4}},
    })
    const before: CellRecord[] = error.run.records
    expect(before.map(({key}) => key)).toEqual(jobs.map(({key}) => key))
    expect(before.map(record => 'interrupted' in record)).toEqual([false, true, true, false])
    expect((await recordsIn(directory)).length).toBe(4)
    expect((await readdir(directory)).sort()).toEqual(['manifest.json', 'records.jsonl'])
    const [saved] = await readRuns([directory], 'rfa', services)
    expect(saved!.records.filter(({key}) => key === jobs[1]!.key)).toMatchObject([
      {interrupted: true},
    ])

    open()
    const started = new Set<string>()
    const {records, counts} = await timedRun({
      resume: true,
      onProgress: ({label}) => void (label && started.add(label)),
    })
    expect([...started]).toEqual(jobs.slice(1, 3).map(({label}) => label))
    expect(counts).toEqual({total: 4, completed: 4, skipped: 0, failed: 0})
    expect([records[0], records[3]]).toEqual([before[0], before[3]])
    expect((await recordsIn(directory)).length).toBe(6)
    expect(records.filter(record => 'interrupted' in record)).toEqual([])
    expect(await readdir(directory)).toContain('summary.json')
  })

  it('says as ever that timed cells were interrupted before anything was measured', async () => {
    const directory = await runFolder()
    await gate()
    const controller = new AbortController()
    const running = runExperiment(
      {...planned(jobsFor('wait', 'laps')), experiment: timedExperiment},
      {
        ...{...OPTIONS, schedule: TIMED, directory, signal: controller.signal},
        onProgress: () => controller.abort(),
      },
    ).catch(caught => caught)
    expect(await running).not.toBeInstanceOf(FaultyRun)
    expect(await running).toMatchObject({
      code: 'INTERRUPTED',
      message: 'interrupted: 2 of 2 cells not run',
    })
    expect(await recordsIn(directory)).toEqual([])
  })

  it('lets go of a folder that it gets after the interrupt', async () => {
    const directory = await runFolder()
    const controller = new AbortController()
    const interrupted = run(jobsFor('ok'), {directory, signal: controller.signal})
    setImmediate(() => controller.abort())
    await expect(interrupted).rejects.toMatchObject({
      code: 'INTERRUPTED',
      message: 'interrupted before any cell was run',
    })
    const lock = join(directory, 'records.lock')
    const patient = {timeout: 120_000}
    const names = () => readdir(directory).catch(() => [])
    await expect.poll(names, patient).toContain('records.jsonl')
    await expect.poll(() => existsSync(lock), patient).toBe(false)
  })

  it('stops when the folder is moved away, with the cells that had ended in it', async () => {
    const directory = await runFolder()
    const jobs = [jobFor('ok', 0), jobFor('ok', 1), jobFor('hang', 2)]
    const onProgress = ({done}: ProgressEvent) => {
      if (done === 1 && existsSync(directory)) renameSync(directory, `${directory}-moved`)
    }
    const moved = run(jobs, {directory, schedule: SERIAL, onProgress})
    await expect(moved).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringContaining(directory),
    })
    expect((await recordsIn(`${directory}-moved`)).length).toBe(1)
    expect(existsSync(directory)).toBe(false)
  })

  it('stops in the midst of a cell when the folder is moved away', async () => {
    vi.useFakeTimers({toFake: ['setInterval']})
    onTestFinished(() => void vi.useRealTimers())
    const directory = await runFolder()
    const onProgress = () => {
      renameSync(directory, `${directory}-moved`)
      vi.advanceTimersByTime(10_000) // the next sign of life of the lock
    }
    await expect(run([jobFor('hang')], {directory, onProgress})).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringContaining('expected the lock that this run has taken, got none'),
    })
  })

  it.runIf(FULL)('loses at most the record being written when the process is killed', async () => {
    const built = await buildRunner()
    onTestFinished(() => removeBuilt(built))
    const directory = await runFolder()
    const jobs = Array.from({length: 11}, (_, seed) => jobFor('any', seed, 150))
    const workerPath = join(built, 'runner', 'workers', 'worker.js')
    const options = {...OPTIONS, directory, workerPath}
    await killAfter(4, directory, built, {jobs, options})
    const before = await recordsIn(directory)
    await appendFile(join(directory, 'records.jsonl'), '{"schema":"rfa.variance/2","key":"12')

    const {records, counts} = await runExperiment(planned(jobs), {...options, resume: true})
    expect(counts).toEqual({total: 11, completed: 11, skipped: 0, failed: 0})
    expect(records.map(({key}) => key)).toEqual(jobs.map(({key}) => key))
    // what was saved was not computed again
    for (const saved of before) expect(records).toContainEqual(saved)
    expect(new Set(before.map(pidOf)).has(pidOf(records.at(-1)!))).toBe(false)
    expect((await recordsIn(directory)).length).toBe(11)
  })
})

/** Runs an experiment in a process of its own and kills it once the journal holds some records. */
async function killAfter(
  count: number,
  directory: string,
  built: string,
  {jobs, options}: {jobs: Job[]; options: RunExperimentOptions},
) {
  const script = `
    import {experimentNamed} from ${JSON.stringify(join(built, 'experiments', 'index.js'))}
    import {runExperiment} from ${JSON.stringify(join(built, 'runner', 'run-experiment.js'))}
    const {plan, jobs, options} = JSON.parse(process.env.RFA_TEST)
    await runExperiment({experiment: await experimentNamed('variance'), plan, jobs}, options)
  `
  const data = {plan: VARIANCE_PLAN, jobs, options}
  const env = {...process.env, RFA_TEST: JSON.stringify(data)}
  const args = ['--input-type=module', '-e', script]
  const child = spawn(process.execPath, args, {env, stdio: 'inherit'})
  const ended = once(child, 'exit')
  while ((await recordsIn(directory)).length < count && child.exitCode === null) await sleep(20)
  child.kill('SIGKILL')
  await ended
}
