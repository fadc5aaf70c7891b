/** Going on with a run whose plan stands in its folder. */
import {mkdir} from 'node:fs/promises'
import {join} from 'node:path'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import ErrorSweep from '../../commands/error-sweep.js'
import type {Plan} from '../../src/results/record.js'
import {temporaryFolder} from '../helpers/folders.js'
import {BENCH_PLAN, timed} from '../helpers/records/bench.js'
import {answerWith, lastRun, run, runner} from './services.js'

const bench = (...argv: string[]) => run(Bench, 'bench', argv)
const folder = temporaryFolder()
const SAVED = {...BENCH_PLAN, seq_lens: [77]}

beforeEach(() => {
  vi.clearAllMocks()
  answerWith(timed())
  runner.readPlan.mockResolvedValue(SAVED)
})

describe('--output DIR --resume', () => {
  it('takes the plan from the folder, however else the run is to go', async () => {
    const {exitCode} = await bench('-o', folder, '--resume', '--timeout', '9', '--format', 'json')
    expect(exitCode).toBe(0)
    expect(runner.readPlan.mock.calls).toEqual([[folder]])
    expect(lastRun().plan).toEqual(SAVED)
    expect(lastRun().options).toMatchObject({directory: folder, resume: true, timeoutMs: 9000})
  })

  it.each([['--quick'], ['--seq-len', '64'], ['--causal'], ['--no-exact'], ['--seed', '0']])(
    'makes the plan of the flags where %j says something of it',
    async (...flags) => {
      await bench('-o', folder, '--resume', ...flags)
      expect(runner.readPlan).not.toHaveBeenCalled()
      expect(lastRun().plan).not.toHaveProperty('seq_lens', [77])
    },
  )

  it('makes it of the flags where --no-causal alone says something of it', async () => {
    await run(ErrorSweep, 'error-sweep', ['-o', folder, '--resume', '--no-causal'])
    expect(lastRun().plan).toMatchObject({experiment: 'error-sweep', causal: false})
  })

  it('predicts errors and compares rows where the run does, with or without --details', async () => {
    const typed = ['-o', folder, '--resume', '--quick']
    const planOf = async (saved: Plan | undefined, ...flags: string[]) => {
      runner.readPlan.mockResolvedValue(saved)
      await run(ErrorSweep, 'error-sweep', [...typed, ...flags])
      return lastRun().plan
    }
    const plan = {...SAVED, experiment: 'error-sweep'}
    expect(await planOf(plan, '--details')).not.toHaveProperty('predictions')
    const predicted: Plan & {predictions: true} = {...plan, predictions: true}
    expect(await planOf(predicted)).toHaveProperty('predictions', true)
    expect(await planOf(plan, '--predictions')).toHaveProperty('predictions', true)
    expect(await planOf(undefined, '--details')).toHaveProperty('predictions', true)
    expect(await planOf(plan, '--details')).not.toHaveProperty('row_queries')
    const compared: Plan & {row_queries: number} = {...plan, row_queries: 12}
    expect(await planOf(compared, '--details')).toHaveProperty('row_queries', 12)
    expect(await planOf(compared, '--row-queries', '8')).toHaveProperty('row_queries', 8)
    expect(await planOf(compared, '--row-metrics')).toHaveProperty('row_metrics', true)
    expect(await planOf(undefined, '--details')).toHaveProperty('row_queries', 64)
  })

  it('starts the standard grid where no run is there yet', async () => {
    runner.readPlan.mockResolvedValue(undefined)
    await bench('-o', folder, '--resume')
    expect(lastRun().plan).toMatchObject({seq_lens: [256, 512, 1024, 2048, 4096]})
  })

  it('refuses a folder that is not there, naming one of a similar name', async () => {
    await mkdir(join(folder, 'sweep'))
    const outcome = await bench('-o', join(folder, 'swep'), '--resume')
    expect(outcome).toMatchObject({
      exitCode: 3,
      stderr: `--resume: expected the folder of a run, got no folder ${folder}/swep\nCode: FILE_MISSING   Try: did you mean ${folder}/sweep?\n                          leave --resume out to start a new run\n`,
    })
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('starts a shard where no folder is yet, as the jobs of an array have one line', async () => {
    const {exitCode} = await bench('-o', join(folder, 'new'), '--resume', '--shard', '1/2')
    expect(exitCode).toBe(0)
  })

  it('keeps to the threads that were typed, which the saved plan must have too', async () => {
    await bench('-o', folder, '--resume', '--threads', '1')
    expect(lastRun().plan).toEqual({...SAVED, threads: 1})
  })

  it('names the command of a run that is another one', async () => {
    const outcome = await run(ErrorSweep, 'error-sweep', ['-o', 'my dir', '--resume'])
    expect(outcome).toMatchObject({
      exitCode: 2,
      stderr:
        "my dir: expected a run of error-sweep, got one of bench\nCode: PLAN_MISMATCH   Try: rfa bench --output 'my dir' --resume\n",
    })
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('reads no plan without --resume', async () => {
    await bench('-o', 'dir')
    expect(runner.readPlan).not.toHaveBeenCalled()
  })
})
