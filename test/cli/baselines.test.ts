import {access, mkdir, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import {services} from '../../src/cli/services.js'
import type {BenchPlan} from '../../src/experiments/bench/schema.js'
import type {CellRecord} from '../../src/results/record.js'
import {countRecords} from '../../src/results/summary.js'
import {newFolder} from '../helpers/folders.js'
import {sweep as sweepPlan} from '../helpers/plans.js'
import {BENCH_MANIFEST} from '../helpers/records/bench.js'
import {sweep} from '../helpers/records/error-sweep.js'
import {failed} from '../helpers/records/outcomes.js'
import {benchRecords, writeRun} from '../helpers/run-folder.js'
import {run, runner} from './services.js'

let folder: string
beforeEach(async () => {
  vi.clearAllMocks()
  folder = await newFolder()
  vi.stubEnv('RFA_BASELINES', join(folder, 'baselines'))
  runner.openRun.mockImplementation((...args) => services.openRun(...args))
  runner.planKeys.mockImplementation((...args) => services.planKeys(...args))
})
afterEach(() => vi.unstubAllEnvs())

const GRID = ['-m', 'elu', '--no-exact', '--seq-len', '128,256', '--backend', 'cpu']

/** Runs the benchmark, all cells of which take as long. */
async function bench(time: number, ...argv: string[]) {
  return benchWith(records => records, time, ...argv)
}

async function benchWith(
  change: (records: CellRecord[]) => CellRecord[],
  time: number,
  ...argv: string[]
) {
  runner.runExperiment.mockImplementation(async ({plan}) => {
    const records = change(await benchRecords(plan as BenchPlan, () => time))
    const directory = await writeRun(join(folder, `run-${time}`), plan, records)
    const manifest = {...BENCH_MANIFEST, plan}
    const counts = countRecords(records)
    return {schema: 'rfa.finished-run/1', directory, manifest, records, counts, verdicts: []}
  })
  return run(Bench, 'bench', [...GRID, ...argv])
}

describe('rfa bench with baselines', () => {
  it('saves a run, and compares a later one with it', async () => {
    const saved = await bench(1e7, '--save-baseline', 'main')
    expect(saved).toMatchObject({exitCode: 0})
    expect(saved.stderr).toContain(`saved as baseline main in ${join(folder, 'baselines', 'main')}`)
    const {stdout, exitCode} = await bench(1.5e7, '--baseline', 'main')
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^Forward pass[\s\S]*^Comparison of runs of bench: B over A$/m)
    expect(stdout).toMatch(/^128 +10\.0 ms +15\.0 ms +1\.50 \[.*slower$/m)
  })

  it('fails on a regression, and puts the comparison into the document', async () => {
    await bench(1e7, '--save-baseline', 'main')
    const argv = ['--baseline', 'main', '--fail-on', 'time:10%']
    const {stdout, exitCode} = await bench(1.5e7, ...argv, '--json')
    expect(exitCode).toBe(1)
    const {comparison, counts} = JSON.parse(stdout)
    expect(counts.completed).toBe(2)
    expect(comparison).toMatchObject({schema: 'rfa.comparison/1', passed: false})
    expect(comparison.rows).toHaveLength(4)
    expect(await bench(1e7, ...argv, '--strict')).toMatchObject({exitCode: 0})
  })

  it('may compare with a baseline and take its place', async () => {
    await bench(1e7, '--save-baseline', 'main')
    const {stdout} = await bench(2e7, '--baseline', 'main', '--save-baseline', 'main')
    expect(stdout).toMatch(/2\.00 \[/)
    const journal = await readFile(join(folder, 'baselines', 'main', 'records.jsonl'), 'utf8')
    expect(journal).toBe(await readFile(join(folder, 'run-20000000', 'records.jsonl'), 'utf8'))
  })

  it('keeps a baseline that a run is worse than by the limits', async () => {
    await bench(1e7, '--save-baseline', 'main')
    const gate = ['--baseline', 'main', '--fail-on', 'time:10%']
    const {stderr, exitCode} = await bench(2e7, ...gate, '--save-baseline', 'main')
    expect(exitCode).toBe(1)
    expect(stderr).toContain('not saved as baseline main: it failed the limits against that')
    const journal = await readFile(join(folder, 'baselines', 'main', 'records.jsonl'), 'utf8')
    expect(journal).toBe(await readFile(join(folder, 'run-10000000', 'records.jsonl'), 'utf8'))
    const other = await bench(2e7, ...gate, '--save-baseline', 'other')
    expect(other.stderr).toContain('saved as baseline other in ')
  })

  it('compares with no baseline of another experiment', async () => {
    await bench(1e7, '--save-baseline', 'main')
    await writeRun(join(folder, 'baselines', 'main'), sweepPlan(), [sweep()])
    runner.runExperiment.mockClear()
    const {stderr, exitCode} = await run(Bench, 'bench', [...GRID, '--baseline', 'main'])
    expect(exitCode).toBe(2)
    expect(stderr).toContain('expected a run of bench, got one of error-sweep')
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('saves no run that has failed cells, whose exit code stays', async () => {
    const broken = ([first, ...rest]: CellRecord[]) => [
      failed(first!, {code: 'X', message: 'why'}),
      ...rest,
    ]
    const {stderr, exitCode} = await benchWith(broken, 1e7, '--save-baseline', 'main')
    expect(exitCode).toBe(4)
    expect(stderr).toContain('not saved as baseline main: not all cells were measured')
    await expect(access(join(folder, 'baselines', 'main'))).rejects.toThrow()
  })

  it.each([
    [
      ['--baseline', 'main'],
      3,
      /--baseline: expected one of the baselines in .*: saved, got "main"/,
    ],
    [['--baseline', 'no'], 3, /--no-exact leaves the exact forms out/],
    [['--baseline', '../x'], 2, /--baseline: expected a name of letters/],
    [['--save-baseline', 'notes'], 2, /--save-baseline: expected a baseline or nothing, got/],
    [['--save-baseline', 'a/b'], 2, /--save-baseline: expected a name of letters/],
    [['--fail-on', 'time:5%'], 2, /--fail-on: expected --baseline NAME beside it, got none/],
    [['--baseline', 'saved', '--fail-on', 'error:5%'], 2, /expected time or memory/],
    [['--baseline', 'saved', '--strict'], 2, /--strict: expected --fail-on beside it/],
    [['--baseline', 'saved', '--seq-len', '64'], 2, /differ in seq_len: \d+ in A, 64 in B/],
  ])('tells %j before anything is measured', async (argv, exit, shows) => {
    await bench(1e7, '--save-baseline', 'saved')
    await mkdir(join(folder, 'baselines', 'notes'))
    await writeFile(join(folder, 'baselines', 'notes', 'notes.txt'), 'mine')
    runner.runExperiment.mockClear()
    const grid = argv.includes('--seq-len') ? GRID.toSpliced(3, 2) : GRID
    const {stderr, exitCode} = await run(Bench, 'bench', [...grid, ...argv])
    expect(stderr).toMatch(shows)
    expect(exitCode).toBe(exit)
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('goes on with a run whose flags are those of a comparison alone', async () => {
    await bench(1e7, '--save-baseline', 'main')
    const plan = runner.runExperiment.mock.lastCall![0].plan
    runner.readPlan.mockResolvedValueOnce(plan)
    const argv = ['--output', join(folder, 'x'), '--resume', '--baseline', 'main']
    expect(await run(Bench, 'bench', argv)).toMatchObject({exitCode: 0})
    expect(runner.runExperiment.mock.lastCall![0].plan).toEqual(plan)
  })
})
