import {mkdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import Advise from '../../commands/advise.js'
import Report from '../../commands/report.js'
import {asTyped} from '../../src/cli/advise/run-advise.js'
import {
  type AdviceForecast,
  adviceDocument,
  adviceForecast,
  modelAdviceDocument,
} from '../../src/cli/program/json-documents.js'
import {RfaError} from '../../src/errors.js'
import {benchPlan} from '../../src/experiments/bench/schema.js'
import type {ErrorSweepPlan} from '../../src/experiments/error-sweep/schema.js'
import {allExperiments} from '../../src/experiments/index.js'
import {anyPlan} from '../../src/results/folder/manifest.js'
import type {CellRecord, Plan} from '../../src/results/record.js'
import type {ExperimentRun} from '../../src/runner/run-experiment.js'
import {type Tuned, writeTuned} from '../../src/tuned/index.js'
import {temporaryFolder} from '../helpers/folders.js'
import {BENCH_MANIFEST, exactForm, modelTimes, timed} from '../helpers/records/bench.js'
import {deterministic, sweep} from '../helpers/records/error-sweep.js'
import {failed} from '../helpers/records/outcomes.js'
import {point, swap} from '../helpers/records/swap.js'
import {exampleTuned} from '../helpers/tuned.js'
import {run, runner, worker} from './services.js'

const folder = temporaryFolder()
let count = 0
function output(): string {
  const path = join(folder, `advise-${count++}`)
  mkdirSync(path)
  return path
}
const advise = (...argv: string[]) => run(Advise, 'advise', argv)

/** elu is four times as fast as exact attention, and errs by 0.25. */
const RECORDS = {
  'error-sweep': [sweep(), deterministic('elu')],
  bench: [31, 124].flatMap(length => [
    exactForm('softmax', length, 4e8),
    exactForm('elu', length, 1e8),
    timed({seq_len: length}, 8e8),
  ]),
}

function answerWith(records: Record<string, readonly CellRecord[]>): void {
  runner.runExperiment.mockImplementation(
    async ({plan}) =>
      ({
        manifest: {...BENCH_MANIFEST, plan},
        records: records[plan.experiment],
        counts: {total: 2, completed: 2, skipped: 0, failed: 0},
        verdicts: [],
      }) as unknown as ExperimentRun,
  )
}

beforeEach(() => {
  vi.clearAllMocks()
  answerWith(RECORDS)
})

describe('rfa advise', () => {
  it('says that exact attention is to be kept, and what would change that', async () => {
    const directory = output()
    const {stdout, stderr, exitCode} = await advise('--causal', '--quick', '--output', directory)
    expect(stdout).toContain('Advice on charlm-layer0.safetensors at L=31')
    expect(stdout).toContain('Keep exact attention (softmax, 400 ms at L=31).')
    expect(stdout).toContain('With a tolerance of 25 %, elu would qualify.')
    expect(stderr).toContain(`saved in ${directory}`)
    expect(exitCode).toBe(0)
    const saved = JSON.parse(readFileSync(join(directory, 'advise.json'), 'utf8'))
    expect(adviceDocument.parse(saved)).toEqual(saved)
  })

  it('says what to take, and how to measure it again', async () => {
    const argv = ['--tolerance', '0.3', '--metric', 'rel-l2', '--causal', '--scale', '0.1']
    const {stdout} = await advise(...argv, '--output', output())
    expect(stdout).toContain('Take elu: 25 % off, 4')
    expect(stdout).not.toContain('error-sweep')
    const detailed = await advise(...argv, '--details', '--output', output())
    expect(detailed.stdout).toMatch(
      /error-sweep --input .*charlm-layer0.safetensors --scale 0.1 --methods elu/,
    )
  })

  it('takes learned parameters: a candidate more, with the times of the method as it is', async () => {
    const path = join(folder, 'tuned.safetensors')
    const sizes = {heads: 12, keyHeads: 12, headDim: 32}
    const learned = exampleTuned({...sizes, learned: 'rows'}, {layers: [undefined], draws: 6})
    await writeTuned(path, learned)
    const argv = ['--methods', 'elu', '--num-features', '64', '--parameters', path]
    await advise(...argv, '--output', output())
    const plans = runner.runExperiment.mock.calls.map(([{plan}]) => plan)
    const methodsOf = (plan: Plan | undefined) =>
      (plan as ErrorSweepPlan).methods.map(({method, tuned}) =>
        tuned ? `${method} tuned` : method,
      )
    expect(methodsOf(plans[0])).toEqual(['elu', 'favor-pos', 'mean-value', 'favor-pos tuned'])
    expect(plans[0]).toMatchObject({num_features: [8, 64]})
    expect(methodsOf(plans[2])).toEqual(['elu', 'favor-pos', 'mean-value'])
  })

  it('refuses learned parameters that give no interval, or are of a method with options', async () => {
    const refused = async (name: string, tuned: Tuned) => {
      await writeTuned(join(folder, name), tuned)
      const argv = ['--parameters', join(folder, name), '--output', output()]
      return (await advise(...argv)).stderr
    }
    const few = exampleTuned({learned: 'maps,rows'}, {draws: 5})
    expect(await refused('few.safetensors', few)).toMatch(/at least 6 draws.*, got 5/)
    const guarded = exampleTuned({options: {guard: 'abs'}})
    expect(await refused('guarded.safetensors', guarded)).toMatch(/got favor-pos \(guard=abs\)/)
  })

  it('gives commands that can be typed for files and arrays that begin with a dash', () => {
    const names = {query: '-q', key: 'k', value: 'v'}
    const input = {kind: 'file' as const, paths: ['-my file.npz'], names}
    expect(asTyped('rfa', {input, logitScale: undefined}).input).toEqual([
      ...['--input', './-my file.npz', '--query-name=-q'],
    ])
  })

  it('prints the document and nothing else under --json', async () => {
    const {stdout, result} = await advise('--quick', '--json', '--output', output())
    expect(adviceDocument.parse(JSON.parse(stdout))).toEqual(result)
    expect(result).toMatchObject({schema: 'rfa.advice/1', layers: [{candidate: null}]})
  })

  it('runs a sweep and a benchmark of its shape, each in a folder of its own', async () => {
    const directory = output()
    const argv = ['-m', 'elu,favor-pos', '--num-features', '64', '--seq-len', '124', '--seed', '7']
    await advise(...argv, '--threads', '1', '--output', directory)
    const runs = runner.runExperiment.mock.calls.map(([{plan}, options]) => [
      options.directory,
      plan.experiment,
      plan.seed,
    ])
    expect(runs).toEqual([
      [join(directory, 'error'), 'error-sweep', 7],
      [join(directory, 'time'), 'bench', 7],
      [join(directory, 'norms'), 'error-sweep', 7],
    ])
    const [{plan}] = runner.runExperiment.mock.calls[1]!
    expect(plan).toMatchObject({seq_lens: [31, 124], heads: 2, head_dim: 17, threads: 1})
    expect(worker.kill.mock.calls.length).toBeGreaterThanOrEqual(2)
  })

  it('measures no smaller norms where something can be taken, and says beforehand how long that takes', async () => {
    const {stderr, result} = await advise('--tolerance', '30%', '--output', output())
    expect(stderr).toMatch(
      /^measuring \d+ cells, about [\d.]+ (s|min) on a quiet machine \(--quick: [\d.]+ (s|min)\)$/m,
    )
    expect(result).toMatchObject({tolerance: 0.3})
    expect(runner.runExperiment.mock.calls.map(([{plan}]) => plan.experiment)).toEqual([
      'error-sweep',
      'bench',
    ])
  })

  it('says what it would measure with --dry-run, and runs nothing', async () => {
    const {stdout, result} = await advise('--causal', '--quick', '--dry-run')
    expect(stdout).toMatch(/^\d+ cells, predicted time [\d.]+ s on a quiet machine$/m)
    expect(stdout).toMatch(
      /^- errors at smaller norms, measured only if nothing qualifies: \d+ cells/m,
    )
    expect(runner.runExperiment).not.toHaveBeenCalled()
    const {cells, runs} = result as AdviceForecast
    expect(cells).toBe(runs.error.cells + runs.time.cells + runs.norms.cells)
    const full = await advise('--causal', '--dry-run', '--json')
    const forecast = adviceForecast(anyPlan(await allExperiments())).parse(JSON.parse(full.stdout))
    expect(forecast.cells).toBeGreaterThan(cells)
  })

  it('ends with 4 where cells failed, and tells how to run them again', async () => {
    const crashed = failed(timed({method: 'lara'}), {code: 'CELL_CRASHED', message: 'killed'})
    answerWith({...RECORDS, bench: [...RECORDS.bench, crashed]})
    const directory = output()
    const {stdout, stderr, exitCode} = await advise('--quick', '--output', directory)
    expect(stdout).toContain('left out: lara failed: killed (CELL_CRASHED) [1 cell]')
    expect(stderr).toContain(
      `warning: 1 cell failed, and the advice does without; run again what failed: rfa advise --quick --output ${directory} --resume`,
    )
    expect(exitCode).toBe(4)
  })

  it('ends with 4 where every cell failed', async () => {
    const crashed = failed(sweep(), {code: 'CELL_CRASHED', message: 'killed'})
    answerWith({...RECORDS, 'error-sweep': [crashed]})
    const directory = output()
    const {stderr, exitCode} = await advise('--quick', '--output', directory)
    expect(stderr).toContain('killed')
    expect(stderr).toContain(`rfa advise --quick --output ${directory} --resume`)
    expect(exitCode).toBe(4)
  })

  it('replaces advice only where it goes on with its runs', async () => {
    const directory = output()
    await advise('--quick', '--output', directory)
    const {stderr, exitCode} = await advise('--quick', '--output', directory)
    expect(stderr).toContain('expected no advice yet, got advise.json')
    expect(exitCode).toBe(2)
    const again = await advise('--quick', '--tolerance', '0.3', '--output', directory, '--resume')
    expect(again.stdout).toContain('Take elu')
  })

  it('tells how to go on with all of it after an interrupt', async () => {
    runner.runExperiment.mockRejectedValue(new RfaError('INTERRUPTED', 'stopped'))
    const directory = output()
    const {stderr, exitCode} = await advise('--quick', '--output', directory)
    expect(stderr).toContain(`rfa advise --quick --output ${directory} --resume`)
    expect(exitCode).toBe(130)
  })

  it.each([
    [['--metric', 'mse'], 'add --tolerance'],
    [['--metric', 'rel-l3'], 'rel_l2'],
    [['--methods', 'softmax'], 'softmax'],
    [['--tolerance', '0'], '0.05 or 5%'],
    [['--tolerance', 'five'], '0.05 or 5%'],
    [['--tolerance', '5'], 'write 5%'],
    [['--tolerance', '500%'], '0.05 or 5%'],
    [['--tolerance', '5%', '--metric', 'mse'], 'a number with --metric mse'],
    [['--seq-len', '1'], 'at least 2'],
    [['--resume'], '--output'],
  ])('refuses %j', async (argv, remedy) => {
    const {stderr, exitCode} = await advise(...argv)
    expect(stderr).toContain(remedy)
    expect(exitCode).toBe(2)
  })
})

describe('rfa advise --model', () => {
  const chosen = (layers: number[]) => {
    const record = swap({method: 'elu', projection: null, num_features: null, budget: 0.1})
    const tried = {set: [0], loss: point(0.05), within: true}
    return {...record, result: {...record.result, chosen_layers: layers, tried_sets: [tried]}}
  }
  const model = ['--model', 'fixtures/charlm', '--quick']
  const times = modelTimes([0, 1], {'softmax-online': 100, identity: 75, elu: 80})

  it('says which layers to exchange, from a swap and a benchmark', async () => {
    answerWith({bench: times, swap: [chosen([0, 1])]})
    const directory = output()
    const argv = ['--budget', '0.1', '--seq-len', '124', '--methods', 'elu', '--seed', '7']
    const {stdout, stderr, result} = await advise(...model, ...argv, '--output', directory)
    expect(stdout).toContain('Exchange attention in layers 0, 1 by elu:')
    expect(stderr).toContain(`saved in ${directory}; every candidate: rfa report`)
    expect(stderr).toContain('next: rfa tune --model fixtures/charlm --quick   what does')
    const saved = JSON.parse(readFileSync(join(directory, 'model-advice.json'), 'utf8'))
    expect(modelAdviceDocument.parse(saved)).toEqual(result)
    const runs = runner.runExperiment.mock.calls.map(([{plan}, options]) => [
      options.directory,
      plan.experiment,
    ])
    expect(runs).toEqual([
      [join(directory, 'swap'), 'swap'],
      [join(directory, 'time'), 'bench'],
      [join(directory, 'time-2'), 'bench'],
    ])
    const [bound, timed] = runner.runExperiment.mock.calls.slice(1).map(([{plan}]) => plan)
    const own = {mode: 'model', seq_lens: [124], causal: true, heads: 4, head_dim: 32, seed: 7}
    expect(bound).toMatchObject({...own, layers: [0, 1, 2, 3]})
    expect(timed).toMatchObject({...own, layers: [0, 1]})
    const methodsOf = (plan: unknown) => benchPlan.parse(plan).methods.map(({method}) => method)
    expect(methodsOf(bound)).toEqual(['softmax-online', 'identity'])
    expect(methodsOf(timed)).toEqual(['softmax-online', 'identity', 'elu'])
    const [{plan}] = runner.runExperiment.mock.calls[0]!
    expect(plan).toMatchObject({budget: 0.1, seed: 7, causal: true, layer_sets: [[0, 1, 2, 3]]})
    const {stdout: again} = await run(Report, 'report', [directory, '--output', '-'])
    expect(again).toContain('Exchange attention in layers 0, 1 by elu:')
  })

  it('refuses to overwrite advice', async () => {
    answerWith({bench: times, swap: [chosen([0])]})
    const argv = [...model, '--seq-len', '124', '--output', output()]
    expect((await advise(...argv)).exitCode).toBe(0)
    const {stderr, exitCode} = await advise(...argv)
    expect(stderr).toContain('expected no advice yet, got model-advice.json')
    expect(exitCode).toBe(2)
  })

  it.each([
    [
      ['--model', 'fixtures/charlm', '--tolerance', '5%'],
      '--tolerance: expected only with an input',
    ],
    [['--model', 'fixtures/charlm', '--dry-run'], '--dry-run: expected only with an input'],
    [['--budget', '0.1'], '--budget: expected only with a model'],
    [['--model', 'nowhere'], 'nowhere'],
  ])('refuses %j', async (argv, message) => {
    const {stderr, exitCode} = await advise(...argv, '--output', output())
    expect(stderr).toContain(message)
    expect(exitCode).not.toBe(0)
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })
})
