import {execFileSync} from 'node:child_process'
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, describe, expect, it} from 'vitest'
import {
  readPlanFile,
  refuseOtherThreads,
  requireSameInput,
} from '../../../../src/cli/run/plan-file.js'
import {EXPERIMENT_NAMES} from '../../../../src/experiments/index.js'
import type {Plan} from '../../../../src/results/record.js'
import {BENCH_PLAN} from '../../../helpers/records/bench.js'
import {VARIANCE_PLAN} from '../../../helpers/records/variance.js'

const folder = mkdtempSync(join(tmpdir(), 'rfa-plan-'))
afterAll(() => rmSync(folder, {recursive: true}))

function fileOf(value: unknown): string {
  const path = join(folder, 'plan.json')
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}

describe('readPlanFile', () => {
  it('reads what a dry run prints, and the plan alone', async () => {
    const dry = {schema: 'rfa.dry-run/1', plan: BENCH_PLAN, cells: 3}
    expect(await readPlanFile(fileOf(dry))).toEqual(BENCH_PLAN)
    expect(await readPlanFile(fileOf(VARIANCE_PLAN))).toEqual(VARIANCE_PLAN)
  })

  it.each([
    ['BAD_FILE', /expected JSON, got "\{/, '{"experiment":'],
    ['BAD_FILE', /expected JSON, got an empty file/, '\n'],
    [
      'BAD_FILE',
      new RegExp(`expected a plan of ${EXPERIMENT_NAMES.join(', ')}, got no \`experiment\``),
      {},
    ],
    ['BAD_FILE', /got "sweep"/, {experiment: 'sweep'}],
    ['BAD_FILE', /expected a plan of bench/, {experiment: 'bench'}],
    ['BAD_FILE', /fields known here, got `future`/, {...BENCH_PLAN, future: 1}],
    ['BAD_FILE', /got `timing.x`/, {...BENCH_PLAN, timing: {...BENCH_PLAN.timing, x: 1}}],
    ['UNKNOWN_SCHEMA', /rfa.dry-run\/2/, {schema: 'rfa.dry-run/2', plan: BENCH_PLAN}],
    ['UNKNOWN_SCHEMA', /rfa.run\/2/, {schema: 'rfa.run/2', plan: BENCH_PLAN}],
    ['BAD_FILE', /no `experiment`/, {schema: 'rfa.dry-run/1'}],
  ])('refuses with %s and %s', async (code, message, value) => {
    const reading = readPlanFile(fileOf(value))
    await expect(reading).rejects.toMatchObject({code, message: expect.stringMatching(message)})
  })

  it('says what to do about a plan that was cut off', async () => {
    const suggestions = ['copy or write it again']
    await expect(readPlanFile(fileOf('{"a'))).rejects.toMatchObject({suggestions})
  })

  it('refuses what is not there, and what would be read without end', async () => {
    await expect(readPlanFile(join(folder, 'none'))).rejects.toMatchObject({code: 'FILE_MISSING'})
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    await expect(readPlanFile(pipe)).rejects.toThrow('a pipe')
    await expect(readPlanFile(folder)).rejects.toThrow('a folder')
  })
})

describe('a plan of files', () => {
  const withDigest = (digest: string) =>
    ({...BENCH_PLAN, input: {kind: 'file', paths: ['a.npz'], digest}}) as unknown as Plan

  it('is refused where they hold something else now', () => {
    const check = (now: string) => () => requireSameInput('p', withDigest('aa'), withDigest(now))
    expect(check('aa')).not.toThrow()
    expect(check('bb')).toThrow('p: expected input of SHA-256 aa…, got bb…')
  })
})

describe('refuseOtherThreads', () => {
  it('lets pass what changes only how a plan is run', () => {
    expect(() => refuseOtherThreads('p', VARIANCE_PLAN, 7)).not.toThrow()
    const own = {...BENCH_PLAN, threads: 2}
    expect(() => refuseOtherThreads('p', own, 2)).not.toThrow()
    expect(() => refuseOtherThreads('p', own, 3)).toThrow('--threads with it')
  })
})
