import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {existsSync, mkdirSync, renameSync, writeFileSync} from 'node:fs'
import {appendFile, readdir, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {describe, expect, it, onTestFinished, vi} from 'vitest'
import {services} from '../../../src/cli/services.js'
import {readRuns} from '../../../src/cli/write-report.js'
import {allExperiments} from '../../../src/experiments/index.js'
import {type Job, layOut, planRun} from '../../../src/experiments/planned-run.js'
import {runReport} from '../../../src/experiments/run-report.js'
import varianceExperiment, {type VariancePlan} from '../../../src/experiments/variance/schema.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {readRecords} from '../../../src/results/journal.js'
import type {CellRecord} from '../../../src/results/record.js'
import {
  type ExperimentRun,
  type ProgressEvent,
  type RunExperimentOptions,
  runExperiment,
} from '../../../src/runner/run-experiment.js'
import {UnsavedTables} from '../../../src/runner/unsaved.js'
import {workerPath} from '../../../src/runner/worker-process.js'
import {FULL} from '../../helpers/effort.js'
import {newFolder} from '../../helpers/folders.js'
import {method} from '../../helpers/plans.js'
import {timed} from '../../helpers/records/bench.js'
import {VARIANCE_PLAN} from '../../helpers/records/variance.js'
import {buildRunner, removeBuilt} from '../../helpers/runner/built.js'
import {fakeWorker, jobFor, jobsFor, pidOf} from '../../helpers/runner/jobs.js'
import {WIDE} from '../../helpers/terminal.js'

const EXPERIMENTS = await allExperiments()
const recordsIn = (directory: string) => readRecords(directory, EXPERIMENTS)

const OPTIONS: RunExperimentOptions = {
  directory: null,
  resume: false,
  argv: ['rfa', 'variance'],
  timeoutMs: null,
  formats: ['csv'],
  schedule: {processes: 2, fresh: false, open: 0, threadShare: 1},
  workerPath: fakeWorker,
}
/** One cell after the other. */
const SERIAL = {...OPTIONS.schedule, processes: 1}

const planned = (jobs: Job[]) => ({experiment: varianceExperiment, plan: VARIANCE_PLAN, jobs})
const run = (jobs: Job[], changes: Partial<RunExperimentOptions> = {}) =>
  runExperiment(planned(jobs), {...OPTIONS, ...changes})

const runFolder = async () => join(await newFolder(), 'run')

describe('runExperiment', () => {
  it('gives records in the order of the plan, however they came in', async () => {
    const jobs = [jobFor('sleep', 0, 900), jobFor('skip', 1), jobFor('refuse', 2), jobFor('ok', 3)]
    const {directory, manifest, records, counts} = await run(jobs)
    expect(directory).toBeNull()
    expect(manifest).toMatchObject({plan: VARIANCE_PLAN, argv: ['rfa', 'variance']})
    expect(records.map(({key}) => key)).toEqual(jobs.map(({key}) => key))
    expect(records.map(({status}) => status)).toEqual([
      'completed',
      'skipped',
      'failed',
      'completed',
    ])
    expect(counts).toEqual({total: 4, completed: 2, skipped: 1, failed: 1})
  })

  it('writes the manifest, the journal, the tables asked for and the summary', async () => {
    const directory = await runFolder()
    const {records, counts} = await run(jobsFor('ok', 'skip'), {
      directory,
      formats: ['csv', 'json'],
    })
    expect((await readdir(directory)).sort()).toEqual([
      'manifest.json',
      'records.csv',
      'records.json',
      'records.jsonl',
      'summary.json',
    ])
    const read = async (name: string) => JSON.parse(await readFile(join(directory, name), 'utf8'))
    expect(await read('records.json')).toEqual(records)
    expect((await read('summary.json')).counts).toEqual(counts)
    expect((await recordsIn(directory)).length).toBe(2)
  })

  it('has the records with it where tables cannot be written, and they stand in the journal', async () => {
    const directory = await runFolder()
    const inTheWay = () => mkdirSync(join(directory, 'records.csv', 'kept'), {recursive: true})
    const unsaved = run(jobsFor('ok', 'skip'), {directory, onProgress: inTheWay})
    const error: UnsavedTables<ExperimentRun> = await unsaved.then(
      () => expect.unreachable(),
      caught => caught,
    )
    expect(error).toBeInstanceOf(UnsavedTables)
    expect(error).toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringContaining(join(directory, 'records.csv')),
      run: {directory, counts: {total: 2, completed: 1, skipped: 1, failed: 0}},
    })
    expect(await recordsIn(directory)).toEqual(expect.arrayContaining(error.run.records))
    expect(existsSync(join(directory, 'records.lock'))).toBe(false)
  })

  it('writes the summary alone when no table is asked for', async () => {
    const directory = await runFolder()
    await run(jobsFor('ok'), {directory, formats: []})
    expect((await readdir(directory)).sort()).toEqual([
      'manifest.json',
      'records.jsonl',
      'summary.json',
    ])
  })

  it('writes tables that have a flag where they are asked for', async () => {
    const samples = {
      suffix: '_samples',
      flag: 'samples' as const,
      columns: () => varianceExperiment.tables[0]!.columns().slice(0, 2),
      rows: (record: CellRecord) => [{...record}],
    }
    const experiment = {...varianceExperiment, tables: [...varianceExperiment.tables, samples]}
    const names = async (requested?: readonly 'samples'[]) => {
      const directory = await runFolder()
      const changes = {...OPTIONS, directory, ...(requested && {requested})}
      await runExperiment({...planned(jobsFor('ok')), experiment}, changes)
      return readdir(directory)
    }
    expect(await names()).not.toContain('records_samples.csv')
    expect(await names(['samples'])).toContain('records_samples.csv')
  })

  it('writes no file at all without a directory', async () => {
    const before = await readdir('.')
    await run(jobsFor('ok'), {formats: ['csv', 'json']})
    expect(await readdir('.')).toEqual(before)
  })

  it('reports every start and every end', async () => {
    const events: ProgressEvent[] = []
    const onProgress = (event: ProgressEvent) => void events.push(event)
    await run(jobsFor('ok', 'refuse'), {schedule: SERIAL, onProgress})
    expect(events.map(({done, total, label, failed}) => [done, total, label, failed])).toEqual([
      [0, 2, 'ok 0', 0],
      [1, 2, '', 0],
      [1, 2, 'refuse 1', 0],
      [2, 2, '', 1],
    ])
  })

  it('refuses a folder that holds a run before it computes anything', async () => {
    const directory = await runFolder()
    await run(jobsFor('ok'), {directory})
    const events: ProgressEvent[] = []
    const again = run(jobsFor('ok'), {directory, onProgress: event => void events.push(event)})
    await expect(again).rejects.toMatchObject({code: 'WOULD_OVERWRITE'})
    expect(events).toEqual([])
  })

  it('writes no tables once another process has the folder', async () => {
    const directory = await runFolder()
    const onProgress = ({done}: ProgressEvent) => {
      if (done === 1) writeFileSync(join(directory, 'records.lock'), 'of another')
    }
    await expect(run(jobsFor('ok'), {directory, onProgress})).rejects.toMatchObject({
      code: 'NOT_WRITABLE',
      message: expect.stringContaining('expected the lock that this run has taken'),
    })
    expect((await readdir(directory)).sort()).toEqual([
      'manifest.json',
      'records.jsonl',
      'records.lock',
    ])
  })

  it('lets go of the folder when the run fails', async () => {
    const directory = await runFolder()
    const workerPath = '/missing'
    await expect(run(jobsFor('ok'), {directory, workerPath})).rejects.toMatchObject({
      code: 'FILE_MISSING',
    })
    expect(existsSync(join(directory, 'records.lock'))).toBe(false)
    expect((await run(jobsFor('ok'), {directory, resume: true})).counts.completed).toBe(1)
  })
})

describe('runExperiment, resumed', () => {
  it('runs only what is missing or has failed', async () => {
    const directory = await runFolder()
    const jobs = jobsFor('ok', 'skip', 'ok')
    const first = await run([jobs[0]!, jobs[1]!, jobFor('refuse', 9)], {directory})
    const started: string[] = []
    const onProgress = ({label}: ProgressEvent) => void (label && started.push(label))
    const second = await run([...jobs, jobFor('refuse', 9)], {
      directory,
      resume: true,
      schedule: SERIAL,
      onProgress,
    })
    expect(started).toEqual(['ok 2', 'refuse 9'])
    expect(second.records.slice(0, 2)).toEqual(first.records.slice(0, 2))
    expect(second.counts).toEqual({total: 4, completed: 2, skipped: 1, failed: 1})
  })

  it('rewrites the tables from old and new records without a worker when nothing is missing', async () => {
    const directory = await runFolder()
    const first = await run(jobsFor('ok', 'skip'), {directory})
    const table = await readFile(join(directory, 'records.csv'), 'utf8')
    await writeFile(join(directory, 'records.csv'), 'damaged')
    const second = await run(jobsFor('ok', 'skip'), {
      directory,
      resume: true,
      workerPath: '/missing',
    })
    expect(second.records).toEqual(first.records)
    expect(second.manifest).toEqual(first.manifest)
    expect(await readFile(join(directory, 'records.csv'), 'utf8')).toBe(table)
  })

  it('takes the newest record of a cell: one that failed after it was done runs again', async () => {
    const directory = await runFolder()
    const [job] = jobsFor('ok')
    await run([job!], {directory})
    const [record] = await recordsIn(directory)
    const {schema, key, cell} = record!
    const error = {code: 'CELL_CRASHED', message: 'text'}
    const line = JSON.stringify({schema, key, cell, status: 'failed', error})
    await appendFile(join(directory, 'records.jsonl'), `${line}\n`)
    const {records} = await run([job!], {directory, resume: true})
    expect(records).toMatchObject([{status: 'completed'}])
    expect((await recordsIn(directory)).length).toBe(3)
  })

  it('leaves records of other experiments in the journal out of the tables, and says so', async () => {
    const directory = await runFolder()
    await run(jobsFor('ok'), {directory})
    await appendFile(join(directory, 'records.jsonl'), `${JSON.stringify(timed())}\n`)
    const warnings: string[] = []
    const onWarning = (text: string) => void warnings.push(text)
    const {records} = await run(jobsFor('ok'), {directory, resume: true, onWarning})
    expect(records.map(({schema}) => schema)).toEqual(['rfa.variance/2'])
    expect(warnings).toEqual([expect.stringMatching(/^left out: 1 record of no cell of this plan/)])
  })

  it('runs a cell again whose record stands under the key of another', async () => {
    const directory = await runFolder()
    const jobs = jobsFor('ok', 'ok')
    await run(jobs, {directory})
    const [one, two] = await recordsIn(directory)
    const swapped = [
      {...one, key: two!.key},
      {...two, key: one!.key},
    ]
    const lines = swapped.map(record => `${JSON.stringify(record)}\n`)
    await writeFile(join(directory, 'records.jsonl'), lines.join(''))
    const {records} = await run(jobs, {directory, resume: true})
    expect(records.map(({cell}) => cell)).toEqual(jobs.map(({cell}) => cell))
  })

  it('starts where there is no run yet, saying so', async () => {
    const directory = await runFolder()
    const notes: string[] = []
    const changes = {directory, resume: true, onNote: (text: string) => void notes.push(text)}
    const first = await run(jobsFor('ok'), changes)
    expect(notes).toEqual([`no run in ${directory} yet: starting one`])
    expect((await run(jobsFor('ok'), changes)).records).toEqual(first.records)
    expect(notes.length).toBe(1)
  })

  it('warns when cells are now computed in another way', async () => {
    const directory = await runFolder()
    const jobs = jobsFor('ok', 'ok')
    await run(jobs.slice(0, 1), {directory})
    const path = join(directory, 'records.jsonl')
    await writeFile(path, (await readFile(path, 'utf8')).replace('"cpu"', '"wasm"'))
    const warnings: string[] = []
    const onWarning = (text: string) => void warnings.push(text)
    await run(jobs, {directory, resume: true, onWarning})
    expect(warnings).toEqual([expect.stringMatching(/by wasm, this session computes by cpu/)])
  })
})

describe('runExperiment, extended', () => {
  const small: VariancePlan = {
    ...VARIANCE_PLAN,
    ...{projections: ['iid'], num_features: [3], head_dims: [4], replicates: 2, backend: 'cpu'},
  }
  const larger = {...small, num_features: [2, 3], methods: [...small.methods, method('favor-trig')]}
  const real = {...OPTIONS, workerPath: workerPath(), schedule: SERIAL}

  it('keeps the cells that are there, however it is cut short, and can be reported', async () => {
    const directory = await runFolder()
    const options = {...real, directory, resume: true}
    const [first] = (await runExperiment(await planRun(small), options)).records
    // interrupted between the new manifest and the first of the new cells
    const controller = new AbortController()
    const notes: string[] = []
    const cut = runExperiment(await planRun(larger), {
      ...options,
      signal: controller.signal,
      onProgress: () => controller.abort(),
      onNote: text => void notes.push(text),
    })
    await expect(cut).rejects.toMatchObject({code: 'INTERRUPTED'})
    expect(notes).toEqual([`the run in ${directory} had 1 cell, now it has 4`])
    const [half] = await readRuns([directory], 'rfa', services)
    expect(half).toMatchObject({cells: 4, records: [first]})
    // and finished
    const started: string[] = []
    const {records, counts, manifest} = await runExperiment(await layOut(larger), {
      ...options,
      onProgress: ({label}) => void (label && started.push(label)),
    })
    expect(counts).toEqual({total: 4, completed: 4, skipped: 0, failed: 0})
    expect(records).toContainEqual(first)
    expect(started).toHaveLength(3)
    expect(manifest.plan).toEqual(larger)
    const [run] = await readRuns([directory], 'rfa', services)
    expect(run).toMatchObject({cells: 4, foreign: 0, records})
    const text = renderTerminal(await runReport([run!]), WIDE)
    expect(text).toContain('4 cells: 4 completed')
    expect(text).toMatch(/resumed: .*, with more cells/)
    const rows = (await readFile(join(directory, 'records.csv'), 'utf8')).trim().split('\n')
    expect(rows).toHaveLength(1 + 4)
    // what it was before is now less than it is
    const cutBack = runExperiment(await planRun(small), options)
    await expect(cutBack).rejects.toMatchObject({code: 'PLAN_MISMATCH'})
  })
})

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
    const workerPath = join(built, 'runner', 'worker.js')
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
