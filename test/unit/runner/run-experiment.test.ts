import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import {appendFile, readdir, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {services} from '../../../src/cli/program/services.js'
import {readRuns} from '../../../src/cli/report/write-report.js'
import {planRun} from '../../../src/experiments/planned-run.js'
import {runReport} from '../../../src/experiments/run-report.js'
import varianceExperiment from '../../../src/experiments/variance/index.js'
import type {CompletedVariance, VariancePlan} from '../../../src/experiments/variance/schema.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {journalLine} from '../../../src/results/journal/journal-line.js'
import type {CellRecord} from '../../../src/results/record.js'
import {FaultyRun} from '../../../src/runner/folder/finished-run.js'
import {type ProgressEvent, runExperiment} from '../../../src/runner/run-experiment.js'
import {workerPath} from '../../../src/runner/workers/worker-process.js'
import {method} from '../../helpers/plans.js'
import {BENCH_MANIFEST, timed} from '../../helpers/records/bench.js'
import {VARIANCE_PLAN} from '../../helpers/records/variance.js'
import {jobFor, jobsFor} from '../../helpers/runner/jobs.js'
import {
  OPTIONS,
  planned,
  recordsIn,
  run,
  runFolder,
  SERIAL,
} from '../../helpers/runner/variance-runs.js'
import {WIDE} from '../../helpers/terminal.js'

/** Changes some bytes of a file in place. */
function overwrite(path: string): void {
  const file = openSync(path, 'r+')
  writeSync(file, '####', 100)
  closeSync(file)
}

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

  it.each([
    [['ok', 'skip', 'refuse'], ['refuse']],
    [['ok', 'skip'], []],
  ])('keeps states of cells that failed, for the next try: %j', async (methods, left) => {
    const directory = await runFolder()
    const folder = join(directory, 'checkpoints')
    const jobs = jobsFor(...methods)
    const fileOf = ({key}: {key: string}) => `${key}.safetensors`
    const experiment = {...varianceExperiment, keepsCheckpoints: true}
    await runExperiment({...planned(jobs), experiment}, {...OPTIONS, directory})
    const names = existsSync(folder) ? await readdir(folder) : []
    expect(names).toEqual(jobs.filter((_, i) => left.includes(methods[i]!)).map(fileOf))
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
    const error: FaultyRun = await unsaved.then(
      () => expect.unreachable(),
      caught => caught,
    )
    expect(error).toBeInstanceOf(FaultyRun)
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

  it('runs the longest cells first where an experiment has it so, and gives records in the order of the plan', async () => {
    const jobs = jobsFor('ok', 'ok', 'ok')
    const costs = [1, 3, 2]
    const labels: string[] = []
    const plan = {
      ...planned(jobs.map((job, at) => ({...job, predictedCost: costs[at]!}))),
      experiment: {...varianceExperiment, longestFirst: true},
    }
    const {records} = await runExperiment(plan, {
      ...{...OPTIONS, schedule: SERIAL},
      onProgress: ({label}) => void (label === '' || labels.push(label)),
    })
    expect(labels).toEqual(['ok 1', 'ok 2', 'ok 0'])
    expect(records.map(({key}) => key)).toEqual(jobs.map(({key}) => key))
  })

  it('refuses a folder that holds a run before it computes anything', async () => {
    const directory = await runFolder()
    await run(jobsFor('ok'), {directory})
    const events: ProgressEvent[] = []
    const again = run(jobsFor('ok'), {directory, onProgress: event => void events.push(event)})
    await expect(again).rejects.toMatchObject({code: 'WOULD_OVERWRITE'})
    const manifest = JSON.stringify(BENCH_MANIFEST)
    await writeFile(join(directory, 'manifest.json'), manifest) // of another experiment
    const other = run(jobsFor('ok'), {directory, onProgress: event => void events.push(event)})
    await expect(other).rejects.toMatchObject({code: 'WOULD_OVERWRITE'})
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

  it('takes no line that stands in the journal twice for a newer one', async () => {
    const directory = await runFolder()
    const [job] = jobsFor('ok')
    await run([job!], {directory})
    const [record] = await recordsIn(directory)
    const {schema, key, cell} = record!
    const error = {code: 'CELL_CRASHED', message: 'text'}
    const line = journalLine({schema, key, cell, status: 'failed', error})
    await appendFile(join(directory, 'records.jsonl'), line)
    const {records} = await run([job!], {directory, resume: true})
    expect(records).toEqual([record])
    expect((await recordsIn(directory)).length).toBe(2)
  })

  it('runs the cells of damaged lines again, names them and keeps the file as it was', async () => {
    const directory = await runFolder()
    const path = join(directory, 'records.jsonl')
    const jobs = jobsFor('ok', 'ok', 'ok')
    const first = await run(jobs, {directory, schedule: SERIAL})
    const damaged = Buffer.from(await readFile(path))
    const middle = damaged.length >> 1
    damaged.fill(0, middle - 20, middle + 20)
    await writeFile(path, damaged)
    await expect(readRuns([directory], 'rfa', services)).rejects.toMatchObject({code: 'BAD_FILE'})
    const [warnings, started] = [[] as string[], [] as string[]]
    const onWarning = (text: string) => void warnings.push(text)
    const onProgress = ({label}: ProgressEvent) => void (label && started.push(label))
    const {records} = await run(jobs, {directory, resume: true, onWarning, onProgress})
    expect(warnings).toEqual([
      'records.jsonl: line 2 is damaged and left out; records.damaged-1.jsonl holds the file as it was. Cells without a record run again: ok 1',
    ])
    expect(started).toEqual(['ok 1'])
    expect(records.map(({key}) => key)).toEqual(first.records.map(({key}) => key))
    expect(await readFile(join(directory, 'records.damaged-1.jsonl'))).toEqual(damaged)
    expect(await readRuns([directory], 'rfa', services)).toHaveLength(1)
  })

  it.each([
    [
      'cuts',
      (path: string) => truncateSync(path, 100),
      /expected the \d+ bytes .*, got \d+ bytes$/,
    ],
    [
      'overwrites',
      (path: string) => overwrite(path),
      /that this run found and wrote, got other bytes$/,
    ],
  ])(
    'ends with an error when another program %s its journal, and goes on',
    async (_, harm, message) => {
      const directory = await runFolder()
      const jobs = jobsFor('ok', 'ok')
      const onProgress = ({done}: ProgressEvent) => {
        if (done === 1) harm(join(directory, 'records.jsonl'))
      }
      await expect(run(jobs, {directory, schedule: SERIAL, onProgress})).rejects.toMatchObject({
        code: 'NOT_WRITABLE',
        message: expect.stringMatching(message),
      })
      const {counts} = await run(jobs, {directory, resume: true})
      expect(counts).toMatchObject({total: 2, completed: 2})
      expect(await readRuns([directory], 'rfa', services)).toHaveLength(1)
    },
  )

  it('leaves records of other experiments in the journal out of the tables, and says so', async () => {
    const directory = await runFolder()
    await run(jobsFor('ok'), {directory})
    await appendFile(join(directory, 'records.jsonl'), journalLine(timed()))
    const warnings: string[] = []
    const onWarning = (text: string) => void warnings.push(text)
    const {records} = await run(jobsFor('ok'), {directory, resume: true, onWarning})
    expect(records.map(({schema}) => schema)).toEqual(['rfa.variance/2'])
    expect(warnings).toEqual([expect.stringMatching(/^left out: 1 record outside this plan/)])
  })

  it('runs a cell again whose record stands under the key of another', async () => {
    const directory = await runFolder()
    const jobs = jobsFor('ok', 'ok')
    await run(jobs, {directory})
    const [one, two] = await recordsIn(directory)
    const swapped = [
      {...one!, key: two!.key},
      {...two!, key: one!.key},
    ]
    const lines = swapped.map(journalLine)
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
    const [record] = await recordsIn(directory)
    const {result} = record as CompletedVariance
    await writeFile(
      path,
      journalLine({...(record as CompletedVariance), result: {...result, backend: 'wasm'}}),
    )
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
    const {records, counts, manifest} = await runExperiment(await planRun(larger), {
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
