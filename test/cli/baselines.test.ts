import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import Run from '../../commands/run.js'
import {services} from '../../src/cli/program/services.js'
import {RfaError} from '../../src/errors.js'
import type {BenchPlan, TimedRecord} from '../../src/experiments/bench/schema.js'
import type {CellRecord, Plan} from '../../src/results/record.js'
import {countRecords} from '../../src/results/summary.js'
import type {ExperimentRun} from '../../src/runner/finished-run.js'
import {FaultyRun} from '../../src/runner/finished-run.js'
import {newFolder} from '../helpers/folders.js'
import {sweep as sweepPlan} from '../helpers/plans.js'
import {BENCH_MANIFEST} from '../helpers/records/bench.js'
import {sweep} from '../helpers/records/error-sweep.js'
import {failed, interrupted} from '../helpers/records/outcomes.js'
import {benchRecords, writeRun} from '../helpers/run-folder.js'
import {run, runner} from './services.js'

let folder: string
let before: string
beforeEach(async () => {
  vi.clearAllMocks()
  folder = await newFolder()
  before = join(folder, 'before')
  runner.openRun.mockImplementation((...args) => services.openRun(...args))
  runner.planKeys.mockImplementation((...args) => services.planKeys(...args))
  runner.readPlan.mockImplementation((...args) => services.readPlan(...args))
})

const GRID = ['-m', 'elu', '--no-exact', '--seq-len', '128,256', '--backend', 'cpu']

type Change = (records: CellRecord[]) => CellRecord[]

/** Saves a run of these records, as the runner does. */
async function saved(plan: Plan, directory: string, records: CellRecord[]): Promise<ExperimentRun> {
  await writeRun(directory, plan, records)
  const manifest = {...BENCH_MANIFEST, plan}
  const counts = countRecords(records)
  return {schema: 'rfa.finished-run/1', directory, manifest, records, counts, verdicts: []}
}

/** Runs the benchmark, all cells of which take as long. */
async function bench(time: number, argv: string[], change: Change = records => records) {
  runner.runExperiment.mockImplementation(async ({plan}, {directory}) => {
    const records = await benchRecords(plan as BenchPlan, () => time)
    return saved(plan, directory!, change(records))
  })
  return run(Bench, 'bench', [...GRID, ...argv])
}

const first = (change?: Change) => bench(1e7, ['--output', before], change)
const later = (time: number, ...argv: string[]) =>
  bench(time, ['--output', join(folder, 'later'), '--baseline', before, ...argv])

describe('rfa bench --baseline', () => {
  it('compares the run with the one in a folder', async () => {
    await first()
    const {stdout, exitCode} = await later(1.5e7)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^rfa bench: [\s\S]*^rfa compare: bench, B = /m)
    expect(stdout).toContain(`against A = ${before}`)
    expect(stdout).toMatch(/^L=128 +10\.0 ms +15\.0 ms +1\.5x \[.*slower$/m)
    // one table has the times of both
    expect(stdout.match(/^-+ {2}-+/gm)).toHaveLength(1)
    const details = await later(1.5e7, '--details')
    expect(details.stdout).toMatch(
      /^Forward pass[\s\S]*^Comparison of runs of bench: B over A\n[\s\S]*1\.50 \[.*slower$/m,
    )
  })

  it('fails on a regression, and puts the comparison into the document', async () => {
    await first()
    const limit = ['--fail-on', 'time:10%']
    const {stdout, exitCode} = await later(1.5e7, ...limit, '--json')
    expect(exitCode).toBe(1)
    const {comparison, counts} = JSON.parse(stdout)
    expect(counts.completed).toBe(2)
    expect(comparison).toMatchObject({schema: 'rfa.comparison/1', passed: false})
    expect(comparison.rows).toHaveLength(4)
    expect(await later(1e7, ...limit, '--strict')).toMatchObject({exitCode: 0})
  })

  it('is that of a plan in a file, too', async () => {
    const made = await first()
    expect(made.exitCode).toBe(0)
    const plan = join(folder, 'plan.json')
    await writeFile(plan, JSON.stringify(runner.runExperiment.mock.lastCall![0].plan))
    const argv = [plan, '--output', join(folder, 'later'), '--baseline', before]
    const {stdout, exitCode} = await run(Run, 'run', argv)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^rfa compare: bench, B = /m)
  })

  it('keeps the exit code of cells that failed', async () => {
    await first()
    const broken = ([one, ...rest]: CellRecord[]) => [
      failed(one!, {code: 'X', message: 'why'}),
      ...rest,
    ]
    const argv = ['--output', join(folder, 'later'), '--baseline', before]
    const {stdout, exitCode} = await bench(1.5e7, [...argv, '--fail-on', 'time:10%'], broken)
    expect(stdout).toMatch(/slower, beyond 10%/)
    expect(exitCode).toBe(4)
  })

  it('compares what an interrupted run has, says that it is not finished, and leaves with 130', async () => {
    await first()
    runner.runExperiment.mockImplementation(async ({plan}, {directory}) => {
      const [one] = (await benchRecords(plan as BenchPlan, () => 1.5e7)) as TimedRecord[]
      const ran = await saved(plan, directory!, [interrupted(one!)])
      throw new FaultyRun(ran, new RfaError('INTERRUPTED', 'interrupted: as it was'))
    })
    const argv = ['--output', join(folder, 'later'), '--baseline', before]
    const {stdout, stderr, exitCode} = await run(Bench, 'bench', [...GRID, ...argv])
    expect(exitCode).toBe(130)
    expect(stdout).toMatch(/^rfa bench: forward pass/m)
    expect(stdout).toMatch(/1\.5x \[.*slower$/m)
    expect(stdout).toContain('warning: B is not finished: 0 of 2 cells in ')
    expect(stderr).toMatch(
      /^interrupted: as it was\nCode: INTERRUPTED {3}Try: rfa bench .*--resume$/m,
    )
  })

  it.each([
    [['--baseline', 'nowhere'], 3, /nowhere.*: expected .*, got no such folder/],
    [['--baseline', 'notes'], 3, /notes/],
    [['--baseline', 'sweep'], 2, /sweep: expected a run of bench, got one of error-sweep/],
    [['--fail-on', 'time:5%'], 2, /--fail-on: expected --baseline DIR with it, got none/],
    [['--strict'], 2, /--strict: expected --fail-on with it/],
    [['--baseline', 'before', '--fail-on', 'error:5%'], 2, /expected time or memory/],
    [['--baseline', 'before', '--strict'], 2, /--strict: expected --fail-on with it/],
    [['--baseline', 'before', '--seq-len', '64'], 2, /differ in seq_len: \d+ in A, 64 in B/],
    [['--baseline', 'before', '--shard', '1/2'], 2, /--shard/],
  ])('tells %j before anything is measured', async (argv, exit, shows) => {
    await first()
    await mkdir(join(folder, 'notes'))
    await writeRun(join(folder, 'sweep'), sweepPlan(), [sweep()])
    runner.runExperiment.mockClear()
    const grid = argv.includes('--seq-len') ? GRID.toSpliced(3, 2) : GRID
    const placed = argv.map((word, at) =>
      argv[at - 1] === '--baseline' ? join(folder, word) : word,
    )
    const {stderr, exitCode} = await run(Bench, 'bench', [...grid, ...placed])
    expect(stderr).toMatch(shows)
    expect(exitCode).toBe(exit)
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('goes on with a run whose flags are those of a comparison alone', async () => {
    await first()
    const plan = runner.runExperiment.mock.lastCall![0].plan
    runner.readPlan.mockResolvedValueOnce(plan)
    const argv = ['--output', folder, '--resume', '--baseline', before]
    expect(await run(Bench, 'bench', argv)).toMatchObject({exitCode: 0})
    expect(runner.runExperiment.mock.lastCall![0].plan).toEqual(plan)
  })
})

describe('rfa bench --wait-quiet', () => {
  const busy =
    /^warning: the machine was not quiet within 0s: other programs use .* of \d+ processors$/m

  it('runs in the end, and says what other programs use', async () => {
    expect(await bench(1e7, ['--wait-quiet', '0s'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^rfa bench: /),
      stderr: expect.stringMatching(busy),
    })
  })

  it('waits before a comparison, too, but not for a dry run', async () => {
    await first()
    expect((await later(1e7, '--wait-quiet', '0s')).stderr).toMatch(busy)
    expect((await bench(1e7, ['--wait-quiet', '0s', '--dry-run'])).stderr).not.toMatch(busy)
  })

  it.each(['5', '-5s', 'long', '5d'])('refuses %s', async time => {
    expect(await bench(1e7, [`--wait-quiet=${time}`])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--wait-quiet: expected a time such as 90s, 5m or 1h, got'),
    })
  })
})
