import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import Apply from '../../commands/apply.js'
import Bench from '../../commands/bench.js'
import Doctor from '../../commands/doctor.js'
import ErrorSweep from '../../commands/error-sweep.js'
import Methods from '../../commands/methods.js'
import Report from '../../commands/report.js'
import Variance from '../../commands/variance.js'
import type {ApplyRecord} from '../../src/apply/apply.js'
import type {Services} from '../../src/cli/services.js'
import {RfaError} from '../../src/errors.js'
import type {CellRecord} from '../../src/results/record.js'
import {BENCH_MANIFEST, timed} from '../helpers/records/bench.js'
import {failedSweep, sweep} from '../helpers/records/error-sweep.js'
import {MACHINE} from '../helpers/records/machine.js'
import {variance} from '../helpers/records/variance.js'
import {runCommand} from './run-command.js'

/** What commands would have done, told by each test. */
const runner = {
  runExperiment: vi.fn<Services['runExperiment']>(),
  assertFits: vi.fn<Services['assertFits']>(),
  planKeys: vi.fn<Services['planKeys']>(),
  applyEstimator: vi.fn<Services['applyEstimator']>(),
  openRun: vi.fn<Services['openRun']>(),
  useBackend: vi.fn<Services['useBackend']>(),
}
const SERVICES: Partial<Services> = {
  ...runner,
  machineFacts: async () => MACHINE,
  newRunDirectory: async experiment => `results/${experiment}-now`,
}
const run = (command: unknown, id: string, argv: string[]) =>
  runCommand(command, id, argv, SERVICES)

/** Makes the runner answer with these records. */
function answerWith(...records: CellRecord[]): void {
  runner.runExperiment.mockImplementation(async ({plan}, {directory, onProgress}) => {
    onProgress?.({done: 1, total: 1, label: '', etaMs: 0, failed: 0})
    const failed = records.filter(({status}) => status === 'failed').length
    const counts = {total: records.length, completed: records.length - failed, skipped: 0, failed}
    return {directory, manifest: {...BENCH_MANIFEST, plan}, records, counts}
  })
}

/** The plan and the options that the runner was called with. */
function lastRun() {
  const [{plan}, options] = runner.runExperiment.mock.lastCall!
  return {plan, options}
}

const errorSweep = (...argv: string[]) => run(ErrorSweep, 'error-sweep', argv)
const bench = (...argv: string[]) => run(Bench, 'bench', argv)

beforeEach(() => {
  vi.clearAllMocks()
})

describe('an experiment', () => {
  it('prints tables on stdout without escape sequences, and where it was saved on stderr', async () => {
    answerWith(sweep())
    const {stdout, stderr, exitCode} = await errorSweep('--quick')
    expect(stdout).toContain('Error against softmax of the given q and k')
    expect(stdout).not.toContain('\u001b')
    expect(stderr).toBe('saved in results/error-sweep-now\n')
    expect(exitCode).toBe(0)
  })

  it('prints nothing but the whole result under --json', async () => {
    answerWith(sweep())
    const {stdout} = await errorSweep('--quick', '--json')
    const document = JSON.parse(stdout)
    expect(Object.keys(document)).toEqual(['directory', 'manifest', 'records', 'counts'])
    expect(document.records[0].result.rel_l2.median).toBe(0.25)
  })

  it('says nothing on stderr under --quiet', async () => {
    answerWith(sweep())
    expect((await errorSweep('--quick', '--quiet')).stderr).toBe('')
  })

  it('hands the runner what was typed', async () => {
    answerWith(timed())
    const typed = ['-o', 'out dir', '--resume', '--timeout', '1.5', '--format', 'json,csv']
    await bench('--quick', ...typed)
    expect(lastRun().options).toMatchObject({
      directory: 'out dir',
      resume: true,
      timeoutMs: 1500,
      formats: ['json', 'csv'],
      argv: ['rfa', 'bench', '--quick', ...typed],
    })
  })

  it('takes lists as commas and as repeated flags, in every command', async () => {
    answerWith(timed())
    await bench('--seq-len', '31,63', '--seq-len', '127..512*2', '--no-baseline', '-m', 'elu')
    expect(lastRun().plan).toMatchObject({
      seq_lens: [31, 63, 127, 254, 508],
      methods: [{method: 'elu'}],
    })
  })

  it('plans a variance experiment and prints its table', async () => {
    answerWith(variance())
    const {stdout} = await run(Variance, 'variance', ['--norms', '0.5..2+0.5', '--angles', '0'])
    expect(stdout).toContain('closed form')
    expect(lastRun().plan).toMatchObject({norms: [0.5, 1, 1.5, 2], angles_deg: [0]})
  })

  it('leaves with 4 when a cell failed, the tables printed all the same', async () => {
    answerWith(sweep(), failedSweep('CELL_CRASHED', 'killed by SIGKILL', {num_features: 256}))
    const {stdout, exitCode} = await errorSweep('--quick')
    expect(exitCode).toBe(4)
    expect(stdout).toContain('0.250 [0.200, 0.300]')
    expect(stdout).toContain('favor-pos failed: killed by SIGKILL (CELL_CRASHED) [1 cell]')
    expect((await errorSweep('--quick', '--json')).exitCode).toBe(4)
  })

  it('passes on what the runner has to say, warnings under --quiet too', async () => {
    runner.runExperiment.mockImplementation(async ({plan}, options) => {
      options.onNote?.('no run yet')
      options.onWarning?.('mixed')
      return {
        directory: 'out',
        manifest: {...BENCH_MANIFEST, plan},
        records: [],
        counts: {total: 0, completed: 0, skipped: 0, failed: 0},
      }
    })
    expect((await bench('-o', 'out')).stderr).toBe('no run yet\nwarning: mixed\nsaved in out\n')
    expect((await bench('-o', 'out', '--quiet')).stderr).toBe('warning: mixed\n')
  })

  it('tells after an interrupt how to go on, and leaves with 130', async () => {
    runner.runExperiment.mockRejectedValue(
      new RfaError('INTERRUPTED', 'interrupted: 3 of 19 cells not run'),
    )
    const {stderr, exitCode} = await errorSweep('--quick', '--scales', '0.5..2*2')
    expect(exitCode).toBe(130)
    expect(stderr).toBe(
      'interrupted: 3 of 19 cells not run\n' +
        'Code: INTERRUPTED   Try: rfa error-sweep --quick --scales 0.5..2*2 --output results/error-sweep-now --resume\n',
    )
  })

  it('refuses a plan that does not fit before anything runs, unless forced', async () => {
    runner.assertFits.mockRejectedValueOnce(new RfaError('TOO_LARGE', 'plan: too large'))
    expect(await bench('--quick')).toMatchObject({exitCode: 2, stdout: ''})
    expect(runner.runExperiment).not.toHaveBeenCalled()
    answerWith(timed())
    runner.assertFits.mockClear()
    await bench('--quick', '--force')
    expect(runner.assertFits).not.toHaveBeenCalled()
    expect(lastRun().options.schedule).toMatchObject({processes: 1, fresh: true})
  })

  it('tries the backend before anything runs, that of auto too', async () => {
    answerWith(timed())
    runner.useBackend.mockImplementationOnce(async (_choice, how) => {
      how?.note?.('native: X; using wasm')
      return {name: 'wasm', threads: 1, instructionSet: null}
    })
    expect((await bench('--quick')).stderr).toMatch(/^native: X; using wasm\nsaved in /)
    expect(runner.useBackend.mock.lastCall?.[0]).toBe('auto')
    runner.useBackend.mockRejectedValueOnce(
      new RfaError('BACKEND_MISSING', 'backend wasm: is not available', {
        suggestions: ['run rfa doctor'],
      }),
    )
    runner.runExperiment.mockClear()
    expect(await bench('--quick', '--backend', 'wasm')).toMatchObject({
      exitCode: 3,
      stderr: 'backend wasm: is not available\nCode: BACKEND_MISSING   Try: run rfa doctor\n',
    })
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('hands threads to the backend, and says where they exceed the processors', async () => {
    answerWith(timed())
    const {stderr} = await bench('--quick', '--threads', '1024')
    expect(runner.useBackend.mock.lastCall?.[1]).toMatchObject({threads: 1024})
    expect(stderr).toMatch(/^threads: 1024 on \d+ processors?, which they will share\nsaved in /)
    expect((await bench('--quick', '--threads', '1')).stderr).toMatch(/^saved in /)
  })

  it('computes as many cells of a sweep at once as it has threads', async () => {
    answerWith(sweep())
    await errorSweep('--quick', '--threads', '3')
    expect(runner.assertFits.mock.lastCall?.[1]).toMatchObject({processes: 3})
    expect(runner.useBackend.mock.lastCall?.[1]).toMatchObject({threads: undefined})
    expect(lastRun().options.schedule).toMatchObject({processes: 3, mostThreads: 1})
    expect(lastRun().plan).not.toHaveProperty('threads')
  })

  it('refuses --resume without a folder', async () => {
    expect(await bench('--quick', '--resume')).toMatchObject({
      exitCode: 2,
      stderr:
        '--resume: expected --output DIR beside it, got none\n' +
        'Code: USAGE   Try: name the folder of the run to go on with\n',
    })
  })
})

describe('--dry-run', () => {
  it('prints the cells and runs none', async () => {
    const {stdout} = await errorSweep('--quick', '--dry-run', '--methods', 'elu,mean-value')
    expect(stdout).toMatch(
      /^error-sweep: 2 cells, predicted time \S+ \w+, predicted peak memory \d+ MiB\n\n- elu L=\d+ raw\n/,
    )
    expect(runner.useBackend).not.toHaveBeenCalled()
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('refuses threads that the backend does not have', async () => {
    const argv = ['--quick', '--dry-run', '--backend', 'wasm', '--threads', '2']
    expect(await bench(...argv)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^threads: expected 1, all that backend wasm has, got 2\n/),
    })
  })

  it('returns the plan under --json', async () => {
    const argv = ['--quick', '--dry-run', '--json', '--methods', 'elu']
    const {stdout} = await errorSweep(...argv)
    expect(JSON.parse(stdout)).toMatchObject({cells: 1, plan: {experiment: 'error-sweep', seed: 0}})
  })
})

describe('wrong usage', () => {
  it.each([
    [
      'a mistyped flag',
      ['--causl'],
      'Nonexistent flag: --causl\nCode: USAGE   Try: did you mean --causal?\n                   see --help\n',
    ],
    [
      'a mistyped method',
      ['--methods', 'favor-po'],
      /^--methods: expected one of the methods .*, got "favor-po"\nCode: UNKNOWN_NAME {3}Try: did you mean favor-pos\?\n$/,
    ],
    [
      'a range the wrong way round',
      ['--num-features', '8..4'],
      '--num-features: expected the upper end of a range to be at least the lower one, got "8..4"\nCode: BAD_RANGE   Try: write 4..8*2\n',
    ],
    [
      'a flag without its value',
      ['--seq-len'],
      'Flag --seq-len expects a value\nCode: USAGE   Try: see --help\n',
    ],
    [
      'a stray argument',
      ['favor-pos'],
      'Unexpected argument: favor-pos\nCode: USAGE   Try: see --help\n',
    ],
    [
      'an option outside its range',
      ['--methods', 'rfa', '--option', 'tau=0'],
      /^rfa\.tau: expected .*\nCode: BAD_OPTION {3}Try: see rfa methods rfa\n$/,
    ],
    [
      'a negative seed',
      ['--seed', '-1'],
      '--seed: expected an integer of at least 0, got -1\nCode: BAD_RANGE\n',
    ],
  ])('is told in one sentence on stderr: %s', async (_, argv, stderr) => {
    const outcome = await errorSweep(...argv)
    expect(outcome).toMatchObject({stdout: '', exitCode: 2})
    if (typeof stderr === 'string') expect(outcome.stderr).toBe(stderr)
    else expect(outcome.stderr).toMatch(stderr)
  })

  it('is a small JSON document on stdout under --json, with the same exit code', async () => {
    const {stdout, stderr, exitCode} = await errorSweep('--json', '--causl')
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'USAGE',
        message: 'Nonexistent flag: --causl',
        exit: 2,
        suggestions: ['did you mean --causal?', 'see --help'],
      },
    })
    expect(stderr).toBe('')
    expect(exitCode).toBe(2)
  })

  it('is not what a fault of rfa itself is called', async () => {
    runner.runExperiment.mockRejectedValue(new TypeError('x is undefined'))
    expect(await bench('--quick')).toMatchObject({
      exitCode: 70,
      stderr: expect.stringMatching(/^x is undefined\nCode: INTERNAL /),
    })
  })
})

describe('rfa methods', () => {
  it('lists all, or shows one, or what a preset does', async () => {
    const methods = (...argv: string[]) => run(Methods, 'methods', argv)
    expect((await methods()).stdout).toMatch(/^mean-value /m)
    expect((await methods('rfa')).stdout).toContain('Options (--option NAME=VALUE)')
    expect((await methods('--projections')).stdout).toMatch(/^orth +blocks of D orthogonal/m)
    expect((await methods('--preset', 'noahs-ark')).stdout).toMatch(/^rfa +features scaled/m)
    const {stdout} = await methods('favor-pos', '--json', '--num-features', '31')
    expect(JSON.parse(stdout).methods).toMatchObject([{name: 'favor-pos', feature_dim: 31}])
  })

  it('gives the facts of projections under --json, and no estimator beside them', async () => {
    const {stdout} = await run(Methods, 'methods', ['--projections', '--json'])
    const {projections} = JSON.parse(stdout)
    expect(projections).toContainEqual(
      expect.objectContaining({name: 'orth', rows: 'normal', unbiased_for: 'softmax-kernel'}),
    )
    expect(projections).toContainEqual(
      expect.objectContaining({name: 'orth-tall', released_by: 'noahs-ark'}),
    )
    const {stderr, exitCode} = await run(Methods, 'methods', ['--projections', 'rfa'])
    expect(stderr).toMatch(/^--projections: expected no estimator beside it, got rfa\n/)
    expect(exitCode).toBe(2)
  })

  it('knows who was meant by a mistyped name', async () => {
    const {stderr, exitCode} = await run(Methods, 'methods', ['favor-pso'])
    expect(stderr).toMatch(/did you mean favor-pos\?\n$/)
    expect(exitCode).toBe(2)
  })
})

describe('rfa doctor', () => {
  it('reports every backend and the machine, and succeeds', async () => {
    const {stdout, exitCode} = await run(Doctor, 'doctor', [])
    for (const line of [/^tensorflow /m, /^wasm +yes/m, /^cpu +yes/m, /^cpu +Test CPU$/m]) {
      expect(stdout).toMatch(line)
    }
    expect(exitCode).toBe(0)
  })
})

describe('rfa apply', () => {
  const applied = (not_finite: number): ApplyRecord => ({
    schema: 'rfa.apply/1',
    output: 'b.npy',
    shape: [1, 3, 31, 13],
    method: 'rfa',
    preset: 'exact',
    feature_dim: 512,
    backend: 'cpu',
    instruction_set: null,
    threads: 1,
    operations: {},
    projection: 'orth',
    orth_sign: 'haar',
    used_extras: [],
    not_finite,
  })

  it('runs the method on the arrays and says where the output is', async () => {
    runner.applyEstimator.mockResolvedValue(applied(0))
    const typed = '--method rfa --input a.npz --output b.npy --scale 0.25 --threads 2'
    const argv = typed.split(' ')
    const {stdout, stderr} = await run(Apply, 'apply', argv)
    expect(runner.applyEstimator.mock.lastCall?.[0]).toMatchObject({
      method: 'rfa',
      output: 'b.npy',
      scale: 0.25,
      threads: 2,
      force: false,
      input: {paths: ['a.npz']},
    })
    expect(stdout).toBe('')
    expect(stderr).toBe('written to b.npy\n')
    const json = await run(Apply, 'apply', [...argv, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({schema: 'rfa.apply/1'})
  })

  it('warns of an output that is not finite, under --quiet too', async () => {
    runner.applyEstimator.mockResolvedValue(applied(1209))
    const argv = ['--method', 'softmax', '--input', 'a.npz', '--output', 'b.npy', '--quiet']
    expect(await run(Apply, 'apply', argv)).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^warning: 1209 of 1209 output elements are not finite: .*\n$/),
    })
  })

  it('refuses to start without method, input and output', async () => {
    const {stderr, exitCode} = await run(Apply, 'apply', [])
    expect(stderr).toMatch(/Missing required flag method/)
    expect(exitCode).toBe(2)
  })
})

describe('rfa report', () => {
  let folder: string
  const record = timed()
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rfa-report-'))
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records: [record]})
    runner.planKeys.mockResolvedValue([record.key])
  })
  afterEach(() => rm(folder, {recursive: true}))
  const report = (...argv: string[]) => run(Report, 'report', argv)

  it('prints tables and writes Markdown into the run', async () => {
    const {stdout, stderr} = await report(folder)
    const path = join(folder, 'report.md')
    expect(stdout).toContain('Forward pass')
    expect(stderr).toBe(`written to ${path}\n`)
    expect(await readFile(path, 'utf8')).toContain('| favor-pos |')
  })

  it('replaces its own earlier report, but no other file without --force', async () => {
    const path = join(folder, 'notes.md')
    await report(folder, '--output', path)
    expect(await report(folder, '--output', path)).toMatchObject({exitCode: 0})
    await writeFile(path, 'my notes')
    expect(await report(folder, '--output', path)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('WOULD_OVERWRITE'),
    })
    expect(await readFile(path, 'utf8')).toBe('my notes')
    expect(await report(folder, '--output', path, '--force')).toMatchObject({exitCode: 0})
  })

  it('puts the Markdown of several runs on stdout for -', async () => {
    const {stdout} = await report(folder, folder, '--output', '-')
    expect(stdout.match(/^# bench: /gm)).toHaveLength(2)
    expect(stdout).not.toContain('----  ---')
  })

  it('says why a file cannot be written', async () => {
    const path = join(folder, 'file', 'report.md')
    await writeFile(join(folder, 'file'), '')
    expect(await report(folder, '--output', path)).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/^--output: cannot write .*\nCode: NOT_WRITABLE /),
    })
  })

  it('returns what it read under --json', async () => {
    const {stdout} = await report(folder, '--json')
    expect(JSON.parse(stdout)).toEqual({
      output: join(folder, 'report.md'),
      runs: [
        {
          directory: folder,
          experiment: 'bench',
          cells: 1,
          counts: {total: 1, completed: 1, skipped: 0, failed: 0},
        },
      ],
    })
  })

  it('tells a run that stopped early, with the command that goes on', async () => {
    runner.planKeys.mockResolvedValue([record.key, ...Array(18).fill('other')])
    const {stdout} = await report(folder)
    expect(stdout).toContain('- 1 of 19 cells, incomplete: 1 completed, 0 skipped, 0 failed\n')
    expect(stdout).toContain(`- resume with: rfa bench --quick --output ${folder} --resume\n`)
  })

  it('shows the cells of the plan, in its order, and says what else is in the journal', async () => {
    const [short, long, foreign] = [
      timed({seq_len: 64}),
      timed({seq_len: 4096}),
      timed({seq_len: 99}),
    ]
    const records = [foreign, long, {...foreign, key: short.key}, short]
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records})
    runner.planKeys.mockResolvedValue([short.key, long.key])
    const {stdout} = await report(folder)
    expect(stdout).toContain('- 2 cells: 2 completed, 0 skipped, 0 failed\n')
    expect(stdout).toContain('- left out: 2 records of no cell of this plan')
    expect(JSON.parse((await report(folder, '--json')).stdout).runs[0].counts.completed).toBe(2)
  })

  it('reads a run whose plan names what this version does not have', async () => {
    runner.planKeys.mockRejectedValue(new RfaError('UNKNOWN_NAME', 'method: expected one'))
    expect((await report(folder)).stdout).toContain('- 1 cell: 1 completed')
    runner.planKeys.mockRejectedValue(new TypeError('a bug'))
    expect((await report(folder)).exitCode).toBe(70)
  })

  it('wants at least one run', async () => {
    expect(await report()).toMatchObject({
      exitCode: 2,
      stderr: 'Missing 1 required arg: run folders of runs\nCode: USAGE   Try: see --help\n',
    })
  })
})
