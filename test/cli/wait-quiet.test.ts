import {beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import type {BenchPlan} from '../../src/experiments/bench/schema.js'
import {countRecords} from '../../src/results/folder/summary.js'
import {BENCH_MANIFEST} from '../helpers/records/bench.js'
import {benchRecords} from '../helpers/run-folder.js'
import {run, runner} from './services.js'

const {waitUntilQuiet} = vi.hoisted(() => ({waitUntilQuiet: vi.fn()}))
vi.mock('../../src/cli/run/wait-quiet.js', async original => ({
  ...(await original<object>()),
  waitUntilQuiet,
}))

beforeEach(() => {
  vi.clearAllMocks()
  runner.runExperiment.mockImplementation(async ({plan}, {directory}) => {
    const records = await benchRecords(plan as BenchPlan, () => 1e7)
    const manifest = {...BENCH_MANIFEST, plan}
    const counts = countRecords(records)
    return {schema: 'rfa.finished-run/1', directory, manifest, records, counts, verdicts: []}
  })
})

const bench = (...argv: string[]) =>
  run(Bench, 'bench', ['-m', 'elu', '--no-exact', '--seq-len', '128', '--backend', 'cpu', ...argv])

describe('rfa bench --wait-quiet', () => {
  it('runs in the end, and says what other programs use', async () => {
    waitUntilQuiet.mockResolvedValueOnce({busy: 1.5, count: 2})
    expect(await bench('--wait-quiet', '90s')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^rfa bench: /),
      stderr: expect.stringMatching(
        /^warning: the machine was not quiet within 1m 30s: other programs use 1\.5 of 2 processors$/m,
      ),
    })
    expect(waitUntilQuiet).toHaveBeenCalledWith(90_000, expect.any(Function))
  })

  it('does not wait for a dry run', async () => {
    expect((await bench('--wait-quiet', '90s', '--dry-run')).exitCode).toBe(0)
    expect(waitUntilQuiet).not.toHaveBeenCalled()
  })

  it.each(['5', '-5s', 'long', '5d'])('refuses %s', async time => {
    expect(await bench(`--wait-quiet=${time}`)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--wait-quiet: expected a time such as 90s, 5m or 1h, got'),
    })
  })
})
