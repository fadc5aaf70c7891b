/** Plans out of files. */
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import ErrorSweep from '../../commands/error-sweep.js'
import Run from '../../commands/run.js'
import {BENCH_PLAN, timed} from '../helpers/records/bench.js'
import {answerWith, lastRun, run, runner} from './services.js'

const folder = mkdtempSync(join(tmpdir(), 'rfa-plan-'))
const file = join(folder, 'plan.json')
const PLAN = {...BENCH_PLAN, seq_lens: [77]}
writeFileSync(file, JSON.stringify({schema: 'rfa.dry-run/1', plan: PLAN}))
afterAll(() => rmSync(folder, {recursive: true}))

beforeEach(() => {
  vi.clearAllMocks()
  answerWith(timed())
})

describe('a plan out of a file', () => {
  it('is run by rfa run and by --plan alike', async () => {
    await run(Run, 'run', [file, '-o', 'dir', '--resume', '--timeout', '9'])
    expect(lastRun().plan).toEqual(PLAN)
    expect(lastRun().options).toMatchObject({directory: 'dir', resume: true, timeoutMs: 9000})
    await run(Bench, 'bench', ['--plan', file, '-o', 'dir'])
    expect(lastRun().plan).toEqual(PLAN)
  })

  it.each(['--seed=0', '--no-exact', '--quick'])('refuses %s beside it', async flag => {
    const {exitCode, stderr} = await run(Bench, 'bench', ['--plan', file, flag])
    expect(exitCode).toBe(2)
    expect(stderr).toContain(`${flag.replace('=0', '')} beside it`)
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('names the command of a plan that is another one', async () => {
    const outcome = await run(ErrorSweep, 'error-sweep', ['--plan', file])
    expect(outcome).toMatchObject({
      exitCode: 2,
      stderr: `${file}: expected a plan of error-sweep, got one of bench\nCode: PLAN_MISMATCH   Try: rfa bench --plan ${file}\n`,
    })
  })
})
