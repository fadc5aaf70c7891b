/** Plans out of files. */
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeEach, describe, expect, it, vi} from 'vitest'
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
  it('is run as it stands', async () => {
    await run(Run, 'run', [file, '-o', folder, '--resume', '--timeout', '9'])
    expect(lastRun().plan).toEqual(PLAN)
    expect(lastRun().options).toMatchObject({directory: folder, resume: true, timeoutMs: 9000})
  })

  it('has every single time written where that is asked for', async () => {
    await run(Run, 'run', [file, '-o', 'dir', '--samples'])
    expect(lastRun().options).toMatchObject({requested: ['samples']})
  })

  it.each(['--seed=0', '--no-exact', '--quick'])('refuses %s beside it', async flag => {
    const {exitCode, stderr} = await run(Run, 'run', [file, flag])
    expect(exitCode).toBe(2)
    expect(stderr).toContain('Nonexistent flag')
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })
})
