/** Parts of a plan. */
import {tmpdir} from 'node:os'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import {countRecords} from '../../src/results/folder/summary.js'
import {BENCH_MANIFEST, BENCH_PLAN, timed} from '../helpers/records/bench.js'
import {answerWith, lastRun, run, runner} from './services.js'

const bench = (...argv: string[]) => run(Bench, 'bench', ['--seq-len', '64..512+64', ...argv])
const lastJobs = () => Array.from(runner.runExperiment.mock.lastCall![0].jobs, ({key}) => key)

beforeEach(() => {
  vi.clearAllMocks()
  answerWith(timed())
})

describe('--shard', () => {
  it('runs a part of the cells, all parts together each cell once', async () => {
    await bench('-o', 'dir')
    const all = lastJobs()
    const parts: string[][] = []
    for (const part of ['1/3', '2/3', '3/3']) {
      await bench('-o', 'dir', '--shard', part)
      parts.push(lastJobs())
    }
    expect(parts.flat().sort()).toEqual(all.toSorted())
    const sizes = parts.map(({length}) => length)
    expect(Math.min(...sizes)).toBeGreaterThan(0)
  })

  it('prints one line, and everything with --details', async () => {
    runner.runExperiment.mockImplementation(async (planned, {directory}) => {
      const records = [timed()]
      const manifest = {...BENCH_MANIFEST, shard: {...planned.shard!, cells: 1}}
      return {
        schema: 'rfa.finished-run/1',
        ...{directory, manifest, records, counts: countRecords(records), verdicts: []},
      }
    })
    const {stdout, stderr} = await bench('-o', 'dir', '--shard', '1/3')
    expect(stdout).toBe('')
    expect(stderr).toMatch(
      /^shard 1\/3: 1 cell in \S+ s, saved in dir; when all 3 have ended: rfa merge FOLDERS --output DIR\n$/,
    )
    const details = await bench('-o', 'dir', '--shard', '1/3', '--details')
    expect(details.stdout).toMatch(/^Forward pass/)
  })

  it('leaves the schedule as it is for the whole plan', async () => {
    await bench('-o', 'dir')
    const {schedule} = lastRun().options
    await bench('-o', 'dir', '--shard', '2/9')
    expect(lastRun().options.schedule).toEqual(schedule)
  })

  it('is said in a dry run', async () => {
    const {result} = await bench('--dry-run', '--shard', '2/9')
    const whole = await bench('--dry-run')
    const cells = (of: unknown) => (of as {cells: number}).cells
    expect(cells(result)).toBeGreaterThan(0)
    expect(cells(result)).toBeLessThan(cells(whole.result))
  })

  it('is taken from the folder that is gone on with', async () => {
    runner.readPlan.mockResolvedValueOnce(BENCH_PLAN)
    runner.readShard.mockResolvedValueOnce({index: 2, count: 3})
    await run(Bench, 'bench', ['-o', tmpdir(), '--resume'])
    expect(runner.runExperiment.mock.lastCall![0].shard).toEqual({index: 2, count: 3})
  })

  it('of Slurm is named in the command that is kept', async () => {
    vi.stubEnv('SLURM_ARRAY_TASK_ID', '2')
    vi.stubEnv('SLURM_ARRAY_TASK_COUNT', '3')
    vi.stubEnv('SLURM_ARRAY_TASK_MIN', '1')
    await bench('-o', 'dir', '--shard', 'slurm')
    expect(lastRun().options.argv.join(' ')).toMatch(/--shard 2\/3$/)
  })
})
