import {truncateSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import ErrorSweep from '../../commands/error-sweep.js'
import Variance from '../../commands/variance.js'
import {RfaError} from '../../src/errors.js'
import {writeArrays} from '../../src/inputs/files/index.js'
import {FaultyRun} from '../../src/runner/folder/finished-run.js'
import {newFolder, temporaryFolder} from '../helpers/folders.js'
import {BENCH_MANIFEST, timed} from '../helpers/records/bench.js'
import {failedSweep, sweep} from '../helpers/records/error-sweep.js'
import {skipped} from '../helpers/records/outcomes.js'
import {variance} from '../helpers/records/variance.js'
import {answerWith, lastRun, prepared, run, runner, worker} from './services.js'

const errorSweep = (...argv: string[]) => run(ErrorSweep, 'error-sweep', argv)
const bench = (...argv: string[]) => run(Bench, 'bench', argv)

beforeEach(() => {
  vi.clearAllMocks()
})

/** What stands below the tables of a run of one cell. */
const saved = (directory: string, page = '') =>
  `1 cell in 0.0 s, saved in ${directory}\nevery table: rfa report ${directory} --details${page}\n`

/** The same text with no time in it. */
const untimed = (text: string) => text.replace(/ in \d+\.\d s/, ' in 0.0 s')

describe('an experiment', () => {
  it('prints the first screen on stdout without escape sequences, then on stderr where they are and what is next', async () => {
    answerWith(sweep())
    const {stdout, stderr, exitCode} = await errorSweep('--quick')
    expect(stdout).toMatch(/^Error on tiny\.safetensors: /)
    expect(stdout).not.toContain('\u001b')
    const details = await errorSweep('--quick', '--details')
    expect(details.stdout).toContain('Error against softmax of the given q and k')
    const next = 'next: rfa swap --quick   what does a whole model lose?\n'
    expect(untimed(stderr)).toBe(saved('results/error-sweep-now') + next)
    expect(details.stderr).not.toContain('next: ') // only after the first run
    expect(exitCode).toBe(0)
  })

  it('prints nothing but the whole result under --json', async () => {
    answerWith(sweep())
    const {stdout} = await errorSweep('--quick', '--json')
    const document = JSON.parse(stdout)
    expect(Object.keys(document)).toEqual([
      'schema',
      'directory',
      'manifest',
      'records',
      'counts',
      'verdicts',
    ])
    expect(document.records[0].result.rel_l2.median).toBe(0.25)
  })

  it('says nothing on stderr under --quiet', async () => {
    answerWith(sweep())
    expect((await errorSweep('--quick', '--quiet')).stderr).toBe('')
  })

  it('hands the runner what was typed', async () => {
    answerWith(timed())
    const directory = await newFolder()
    const typed = ['-o', directory, '--resume', '--timeout', '1.5', '--format', 'json,csv']
    await bench('--quick', ...typed)
    expect(lastRun().options).toMatchObject({
      directory,
      resume: true,
      timeoutMs: 1500,
      formats: ['json', 'csv'],
      argv: ['rfa', 'bench', '--quick', ...typed],
    })
  })

  it('measures with a causal mask where the file says so, unless typed otherwise', async () => {
    answerWith(sweep())
    const causalOf = async (...argv: string[]) => {
      await errorSweep('--quick', ...argv)
      return lastRun().plan.causal
    }
    const input = ['-i', 'fixtures/charlm-layer0.safetensors']
    expect(await causalOf(...input)).toBe(true)
    expect(await causalOf(...input, '--no-causal')).toBe(false)
    expect(await causalOf()).toBe(false)
    expect(await causalOf('-i', 'fixtures/minilm-layer5.safetensors', '--causal')).toBe(true)
    expect(await causalOf('--generator', 'gaussian', '--seq-len', '31')).toBe(false)
  })

  it('takes lists as commas and as repeated flags, in every command', async () => {
    answerWith(timed())
    await bench('--seq-len', '31,63', '--seq-len', '127..512*2', '--no-exact', '-m', 'elu')
    expect(lastRun().plan).toMatchObject({
      seq_lens: [31, 63, 127, 254, 508],
      methods: [{method: 'elu'}],
    })
  })

  it('plans a variance experiment and prints its table', async () => {
    answerWith(variance())
    const {stdout} = await run(Variance, 'variance', ['--norms', '0.5..2+0.5', '--angles', '0'])
    expect(stdout).toContain('orth helps')
    const {stdout: details} = await run(Variance, 'variance', ['--quick', '--details'])
    expect(details).toContain('closed form')
    await run(Variance, 'variance', ['--norms', '0.5..2+0.5', '--angles', '0'])
    expect(lastRun().plan).toMatchObject({norms: [0.5, 1, 1.5, 2], angles_deg: [0]})
  })

  it('leaves with 4 when a cell failed, the tables printed all the same', async () => {
    answerWith(sweep(), failedSweep('CELL_CRASHED', 'killed by SIGKILL', {num_features: 256}))
    const {stdout, exitCode} = await errorSweep('--quick')
    expect(exitCode).toBe(4)
    expect(stdout).toContain('25 % [20, 30] off exact attention')
    expect(stdout).toContain('1 cell failed (favor-pos): killed by SIGKILL')
    expect((await errorSweep('--quick', '--json')).exitCode).toBe(4)
  })

  it('leaves with 4 when all that was asked for was skipped, and says what to add', async () => {
    const none = skipped(sweep({method: 'rfa-gate'}), 'causal only')
    answerWith(none, none)
    const {stderr, exitCode} = await errorSweep('--quick', '-m', 'rfa-gate')
    expect(untimed(stderr)).toBe(
      'warning: nothing was measured: rfa-gate skipped: causal only [2 cells]; add --causal\n' +
        '0 of 2 cells in 0.0 s, 2 skipped, saved in results/error-sweep-now\n',
    )
    expect(exitCode).toBe(4)
    answerWith(none, sweep())
    expect(await errorSweep('--quick')).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(
        /^1 of 2 cells in [\d.]+ s, 1 skipped, saved in results\/error-sweep-now\nevery table: /,
      ),
    })
  })

  it('does not take the exact forms that a benchmark adds for something asked for', async () => {
    const gate = skipped(timed({method: 'rfa-gate'}), 'causal only')
    answerWith(timed({method: 'softmax'}), gate)
    expect(await bench('-m', 'rfa-gate')).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining(
        'warning: no method besides the exact forms was measured: rfa-gate',
      ),
    })
    answerWith(timed({method: 'softmax'}))
    expect(await bench('-m', 'softmax')).toMatchObject({exitCode: 0})
    answerWith(timed({method: 'identity'}), gate)
    expect(await bench('-m', 'identity,rfa-gate')).toMatchObject({exitCode: 0})
    expect(await bench('--mode', 'layer', '-m', 'rfa-gate')).toMatchObject({exitCode: 4})
  })

  it('says how cells ended, and how to run again what failed', async () => {
    answerWith(sweep(), failedSweep('CELL_CRASHED', 'killed', {num_features: 256}))
    const {stderr} = await errorSweep('--quick', '-o', 'my runs')
    expect(untimed(stderr)).toBe(
      '1 of 2 cells in 0.0 s, 1 failed, saved in my runs\n' +
        "retry what failed: rfa error-sweep --quick --output 'my runs' --resume\n",
    )
  })

  it('offers no other try where the same numbers come to the same end', async () => {
    answerWith(sweep(), failedSweep('NOT_FINITE', 'too large', {num_features: 256}))
    const {stderr} = await errorSweep('--quick', '-o', 'out')
    expect(untimed(stderr)).toBe('1 of 2 cells in 0.0 s, 1 failed, saved in out\n')
  })

  it('repeats no --timeout that stopped cells: it would stop them again', async () => {
    answerWith(sweep(), failedSweep('CELL_TIMEOUT', 'no end', {num_features: 256}))
    const {stderr} = await errorSweep('--quick', '--timeout', '2', '-o', 'out')
    expect(untimed(stderr)).toBe(
      '1 of 2 cells in 0.0 s, 1 failed, saved in out\n' +
        'retry without --timeout, which stopped 1 cell: rfa error-sweep --quick --output out --resume\n',
    )
  })

  it('shows settings in messages of cells as flags', async () => {
    const message =
      'attention: expected less, got much; lower `numFeatures`, or use `preset: exact`'
    answerWith(sweep(), failedSweep('BAD_OPTION', message, {num_features: 256}))
    const {stdout} = await errorSweep('--quick')
    expect(stdout.replaceAll('\n  ', ' ')).toContain('lower --num-features, or use --preset exact')
  })

  describe('on a disk that fills up', () => {
    const full = new RfaError('NOT_WRITABLE', 'out/records.csv: expected a place, got ENOSPC', {
      suggestions: ['free some space'],
    })
    const complaint = (...flags: string[]) =>
      'out/records.csv: expected a place, got ENOSPC\n' +
      'Code: NOT_WRITABLE   Try: free some space\n' +
      `                          then go on with: ${['rfa error-sweep --quick', ...flags].join(' ')} --output out --resume\n`

    /** Lets all cells end, and then fails to write their tables. */
    const failing = () => {
      answerWith(sweep())
      const answer = runner.runExperiment.getMockImplementation()!
      runner.runExperiment.mockImplementationOnce(async (...args) => {
        throw new FaultyRun(await answer(...args), full)
      })
    }

    it('prints what could not be written, then why and how to go on', async () => {
      failing()
      const {stdout, stderr, exitCode} = await errorSweep('--quick', '-o', 'out')
      expect(stdout).toContain('25 % [20, 30] off exact attention')
      expect({stderr, exitCode}).toEqual({stderr: complaint(), exitCode: 3})
    })

    it('prints the whole result under --json, the error on stderr', async () => {
      failing()
      const {stdout, stderr, exitCode} = await errorSweep('--quick', '-o', 'out', '--json')
      expect(JSON.parse(stdout)).toMatchObject({schema: 'rfa.finished-run/1', records: [{}]})
      expect({stderr, exitCode}).toEqual({stderr: complaint('--json'), exitCode: 3})
    })

    it('tells how to go on once a cell had begun, and not before', async () => {
      runner.runExperiment.mockImplementationOnce(async (_, {onProgress}) => {
        onProgress?.({
          ...{done: 0, total: 2, label: '', soFar: '', etaMs: 0, share: 0, rough: true, failed: 0},
        })
        throw full
      })
      expect(await errorSweep('--quick', '-o', 'out')).toMatchObject({
        stdout: '',
        stderr: complaint(),
      })
      runner.runExperiment.mockRejectedValueOnce(full)
      expect((await errorSweep('--quick', '-o', 'out')).stderr).not.toContain('--resume')
    })
  })

  it('passes on what the runner has to say, warnings under --quiet too', async () => {
    runner.runExperiment.mockImplementation(async ({plan}, options) => {
      options.onNote?.('no run yet')
      options.onWarning?.('mixed')
      return {
        ...{schema: 'rfa.finished-run/1', directory: 'out', manifest: {...BENCH_MANIFEST, plan}},
        ...{records: [], counts: {total: 0, completed: 0, skipped: 0, failed: 0}, verdicts: []},
      }
    })
    expect(untimed((await bench('-o', 'out')).stderr)).toBe(
      'no run yet\nwarning: mixed\n0 cells in 0.0 s, saved in out\n',
    )
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
        "Code: INTERRUPTED   Try: rfa error-sweep --quick --scales '0.5..2*2' --output results/error-sweep-now --resume\n",
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

  it('has the backend tried before anything runs, and passes on what is to be said of it', async () => {
    answerWith(timed())
    runner.prepareRun.mockImplementationOnce(async plan => {
      return {...(await prepared(plan)), notes: ['native: X; using wasm']}
    })
    expect((await bench('--quick')).stderr).toMatch(
      /^native: X; using wasm\n1 cell in [\d.]+ s, saved in /,
    )
    expect(runner.prepareRun.mock.lastCall?.[0]).toMatchObject({backend: 'auto'})
    runner.prepareRun.mockRejectedValueOnce(
      new RfaError('BACKEND_MISSING', 'backend wasm: is not available', {
        suggestions: ['run rfa doctor'],
      }),
    )
    runner.runExperiment.mockClear()
    worker.kill.mockClear()
    expect(await bench('--quick', '--backend', 'wasm')).toMatchObject({
      exitCode: 3,
      stderr: 'backend wasm: is not available\nCode: BACKEND_MISSING   Try: run rfa doctor\n',
    })
    expect(runner.runExperiment).not.toHaveBeenCalled()
    expect(worker.kill).toHaveBeenCalled()
  })

  it('lets the worker that planned compute, unless cells are timed or it cannot have their threads', async () => {
    answerWith(sweep())
    const serving = async (command: typeof bench, serves: boolean) => {
      runner.prepareRun.mockImplementationOnce(async plan => {
        return {...(await prepared(plan)), serves}
      })
      worker.kill.mockClear()
      runner.runExperiment.mockImplementationOnce(async (...args) => {
        const [, options] = args
        expect(worker.kill).toHaveBeenCalledTimes(options.worker ? 0 : 1)
        return runner.runExperiment.getMockImplementation()!(...args)
      })
      await command('--quick')
      expect(worker.kill).toHaveBeenCalled()
      return lastRun().options.worker
    }
    expect(await serving(errorSweep, true)).toBe(worker)
    expect(await serving(errorSweep, false)).toBeUndefined()
    expect(await serving(bench, true)).toBeUndefined()
  })

  it('starts a worker for each method while one plans, and ends them if they cannot have their threads', async () => {
    answerWith(sweep())
    const started = async (serves: boolean, ...argv: string[]) => {
      runner.startOthers.mockClear()
      runner.dropOthers.mockClear()
      runner.prepareRun.mockImplementationOnce(async plan => {
        return {...(await prepared(plan)), serves, heldBytes: 5}
      })
      await errorSweep('--quick', '--threads', '3', ...argv)
      expect(runner.dropOthers).toHaveBeenCalledTimes(serves ? 0 : 1)
      return runner.startOthers.mock.calls
    }
    expect(await started(true)).toEqual([['error-sweep', 2]])
    expect(runner.assertFits.mock.lastCall?.[2]).toEqual({heldBytes: 3 * 5})
    expect(await started(false)).toEqual([['error-sweep', 2]])
    expect(await started(true, '--methods', 'elu')).toEqual([])
    expect(await started(true, '--shard', '1/2')).toEqual([])
  })

  it('plans with the threads asked for, and says where they exceed the processors', async () => {
    answerWith(timed())
    const {stderr} = await bench('--quick', '--threads', '1024')
    expect(lastRun().plan.threads).toBe(1024)
    expect(stderr).toMatch(
      /^threads: 1024 on \d+ processors?, which they will share\n1 cell in [\d.]+ s, saved in /,
    )
    expect((await bench('--quick', '--threads', '1')).stderr).toMatch(
      /^1 cell in [\d.]+ s, saved in /,
    )
  })

  it('computes as many cells of a sweep at once as it has threads', async () => {
    answerWith(sweep())
    await errorSweep('--quick', '--threads', '3')
    expect(runner.assertFits.mock.lastCall?.[1]).toMatchObject({processes: 3})
    expect(lastRun().options.schedule).toMatchObject({processes: 3, threadShare: 1})
    expect(lastRun().plan).not.toHaveProperty('threads')
  })

  it('says how many threads are used where the backend has one and there are fewer cells', async () => {
    answerWith(sweep())
    const alone = ['--quick', '--scales', '1', '--methods', 'elu', '--backend', 'wasm', '--quiet']
    const {stderr} = await errorSweep(...alone, '--threads', '2')
    expect(stderr).toBe(
      'warning: threads: using 1 of 2, as this backend has one thread for each cell and the plan 1 cell; the native backend divides a cell among threads\n',
    )
    expect(lastRun().options.schedule).toMatchObject({processes: 1, threadShare: 1})
    expect((await errorSweep(...alone, '--threads', '2', '--dry-run')).stderr).toBe(stderr)
    expect((await errorSweep(...alone, '--threads', '1')).stderr).toBe('')
    expect((await errorSweep(...alone)).stderr).toBe('') // nobody asked for more
    expect((await errorSweep('--quick', '--backend', 'wasm', '--threads', '2')).stderr).toMatch(
      /^1 cell in [\d.]+ s, saved in /,
    )
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

it('says before a run that a large input is read', async () => {
  const file = join(await newFolder(), 'large.safetensors')
  const bytes = 2 ** 31
  const [query, rest] = [bytes / 2, bytes / 4]
  const array = (shape: number[], data_offsets: [number, number]) => ({
    ...{dtype: 'F32', shape, data_offsets},
  })
  const header = JSON.stringify({
    q: array([1, 1, query / 256, 64], [0, query]),
    k: array([1, 1, rest / 256, 64], [query, query + rest]),
    v: array([1, 1, rest / 256, 64], [query + rest, bytes]),
  })
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  writeFileSync(file, Buffer.concat([length, Buffer.from(header)]))
  truncateSync(file, 8 + header.length + bytes)
  runner.prepareRun.mockRejectedValueOnce(new RfaError('TOO_LARGE', 'enough')) // nobody reads it here
  const {stderr} = await errorSweep('--quick', '--input', file)
  expect(stderr).toMatch(
    /^\S+large\.safetensors: reading 2\.00 GiB once, for its checksum\nenough\n/,
  )
  runner.prepareRun.mockRejectedValueOnce(new RfaError('TOO_LARGE', 'enough'))
  expect((await errorSweep('--quick')).stderr).toMatch(/^enough\n/)
})

describe('--profile', () => {
  it('is passed on, with the place of the files, and with a word where times are taken', async () => {
    answerWith(timed())
    const {stderr} = await bench('--quick', '--profile', '-o', 'out')
    expect(untimed(stderr)).toBe(
      `times are taken under a profiler, which slows them\nprofiles in ${join('out', 'profile')}\n${saved('out', ' (as a page: --html page.html)')}`,
    )
    expect(lastRun().options.profile).toBe(true)
    answerWith(sweep())
    expect((await errorSweep('--quick', '--profile')).stderr).toMatch(/^profiles in .*\n1 cell/)
    await errorSweep('--quick')
    expect(lastRun().options.profile).toBe(false)
  })

  it('is refused where nothing runs', async () => {
    expect(await errorSweep('--quick', '--dry-run', '--profile')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--dry-run and --profile cannot be given together'),
    })
  })
})

describe('an input file', () => {
  const folder = temporaryFolder()

  it('is read once before anything runs, and only its header for a dry run', async () => {
    const path = join(folder, 'nan.npz')
    const array = {shape: [5, 7], dtype: 'float32' as const, data: new Float32Array(35).fill(NaN)}
    await writeArrays(path, {q: array, k: array, v: array})
    const argv = ['--quick', '--input', path, '--methods', 'elu']
    expect(await errorSweep(...argv)).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining('NOT_FINITE'),
    })
    expect(runner.runExperiment).not.toHaveBeenCalled()
    expect(await errorSweep(...argv, '--dry-run')).toMatchObject({exitCode: 0, stderr: ''})
  })

  it('is warned of where its heads are more than its tokens, before it runs and for a dry run', async () => {
    const path = join(folder, 'torch.npz')
    const data = new Float32Array(31 * 3 * 5)
    const array = {shape: [1, 31, 3, 5], dtype: 'float32' as const, data}
    await writeArrays(path, {q: array, k: array, v: array})
    const argv = ['--input', path, '--methods', 'elu']
    const warning =
      'warning: torch.npz: read as [B, H, L, D] it has 31 heads and 3 tokens; if its axes are [B, L, H, D], say --layout blhd\n'
    answerWith(sweep())
    expect((await errorSweep(...argv, '--quiet')).stderr).toBe(warning)
    expect((await errorSweep(...argv, '--dry-run')).stderr).toBe(warning)
    const right = await errorSweep(...argv, '--dry-run', '--layout', 'blhd', '--json')
    expect(right.stderr).toBe('')
    expect(JSON.parse(right.stdout)).toMatchObject({plan: {input: {layout: 'blhd'}}})
  })

  it('may have a comma in its name, written with a backslash, which is told where it lacks', async () => {
    const path = join(folder, 'a,b.npz')
    const array = {shape: [5, 7], dtype: 'float32' as const, data: new Float32Array(35)}
    await writeArrays(path, {q: array, k: array, v: array})
    const argv = ['--dry-run', '--json', '--methods', 'elu', '--input']
    const {stdout} = await errorSweep(...argv, path.replace(',', '\\,'))
    expect(JSON.parse(stdout).plan.input.paths).toEqual([path])
    const {stderr, exitCode} = await errorSweep('--input', path)
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(
      /got .*a, b\.npz\nCode: USAGE {3}Try: write a backslash before a comma .*\n$/,
    )
  })

  it('is pinned to what it holds', async () => {
    answerWith(sweep())
    await errorSweep('--quick', '--methods', 'elu')
    expect(lastRun().plan.input).toMatchObject({digest: expect.stringMatching(/^[0-9a-f]{64}$/)})
  })
})

describe('an axis that no method has', () => {
  it.each([
    [['--num-features', '8'], '--num-features'],
    [['--projections', 'orth'], '--projections'],
  ])('%j is told of, and runs all the same', async (typed, flag) => {
    const warning = `warning: ${flag} changes nothing: no method asked for has random features\n`
    const argv = ['--quick', '--dry-run', '--methods', 'elu,softmax', ...typed]
    expect(await errorSweep(...argv)).toMatchObject({exitCode: 0, stderr: warning})
    expect((await bench(...argv)).stderr).toBe(warning)
    expect((await errorSweep(...argv, '--methods', 'rfa')).stderr).toBe('')
  })

  it('is no matter where it was not typed', async () => {
    expect((await errorSweep('--quick', '--dry-run', '--methods', 'elu')).stderr).toBe('')
  })
})

describe('--dry-run', () => {
  it('prints the cells and runs none', async () => {
    const {stdout} = await errorSweep('--quick', '--dry-run', '--methods', 'elu,mean-value')
    expect(stdout).toMatch(
      /^error-sweep: 4 cells, predicted time \S+ \w+, predicted peak memory \d+ MiB\n\n- elu L=\d+ raw\n/,
    )
    expect(runner.prepareRun).not.toHaveBeenCalled()
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
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'rfa.dry-run/1',
      cells: 2,
      plan: {experiment: 'error-sweep', seed: 0, scales: [1, 0.25]},
    })
  })
})
