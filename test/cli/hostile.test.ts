/** Nothing that stands in a file, or is called like a command sequence, is obeyed by a terminal. */
import {execFileSync} from 'node:child_process'
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import Apply from '../../commands/apply.js'
import Bench from '../../commands/bench.js'
import ErrorSweep from '../../commands/error-sweep.js'
import Methods from '../../commands/methods.js'
import Report from '../../commands/report.js'
import Variance from '../../commands/variance.js'
import {allExperiments} from '../../src/experiments/index.js'
import {writeArrays} from '../../src/inputs/files/index.js'
import {runManifest} from '../../src/results/folder/manifest.js'
import type {CellRecord, Plan} from '../../src/results/record.js'
import {sweep as planOf} from '../helpers/plans.js'
import {BENCH_MANIFEST, BENCH_PLAN, timed} from '../helpers/records/bench.js'
import {sweep} from '../helpers/records/error-sweep.js'
import {failed, skipped} from '../helpers/records/outcomes.js'
import {VARIANCE_PLAN, variance} from '../helpers/records/variance.js'
import {type Outcome, runCommand} from './run-command.js'

/** Clears the screen, sets the title, rings, turns the line around, hides characters. */
const HOSTILE = '\u001b[2J\u001b]0;title\u0007\u007f\u009b31m\u202e\u200b\u{e0041}\r'
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

const EXPERIMENTS = await allExperiments()

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rfa-hostile-'))
})
afterAll(() => rm(folder, {recursive: true}))

/** Checks both streams; `shows`: the hostile text is there, written out. */
function expectHarmless({stdout, stderr}: Outcome, shows = true): void {
  expect(stdout).not.toMatch(UNSEEN)
  expect(stderr).not.toMatch(UNSEEN)
  if (shows) expect(stdout + stderr).toMatch(/\\(x1b|u001b)/)
}

async function save(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

/** A .safetensors file with the given header. */
function safetensors(header: string): Uint8Array {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(header)))
  return Buffer.concat([length, Buffer.from(header)])
}

/** A .npy file with the given header. */
function npy(header: string): Uint8Array {
  const start = Buffer.from('\x93NUMPY\x01\x00\x00\x00', 'latin1')
  start.writeUInt16LE(header.length, 8)
  return Buffer.concat([start, Buffer.from(header, 'latin1')])
}

const one = {shape: [2, 3], dtype: 'float32' as const, data: new Float32Array(6)}

describe('an input file', () => {
  const LATIN = '\u001b[2J\u0007\u007f\u009b31m\r'
  const files: [string, () => Promise<string>][] = [
    ['without an end', () => save(`a${HOSTILE}.safetensors`, '')],
    ['that is not there', async () => `${folder}/none${HOSTILE}.npz`],
    ['of another format', async () => `a.${HOSTILE}`],
    ['with broken JSON', () => save('b.safetensors', safetensors(`${HOSTILE}{`))],
    [
      'with a key twice',
      () => save('c.safetensors', safetensors('{"\\u001b[2J":1,"\\u001b[2J":1}')),
    ],
    ['with a wrong entry', () => save('d.safetensors', safetensors('{"\\u001b[2J\\u009b":1}'))],
    [
      'with a wrong dtype',
      () =>
        save(
          'e.safetensors',
          safetensors('{"q":{"shape":[],"data_offsets":[0,0],"dtype":"\\u001b\\u009b"}}'),
        ),
    ],
    [
      'with a literal of control characters',
      () => save('f.npy', npy(`{'${LATIN}': 1, '${LATIN}': 1}`)),
    ],
    [
      'with a type of control characters',
      () => save('g.npy', npy(`{'descr': '${LATIN}', 'fortran_order': False, 'shape': ()}`)),
    ],
    ['with a bare control character', () => save('h.npy', npy(LATIN))],
  ]
  for (const extension of ['.npz', '.safetensors']) {
    files.push([
      `with hostile names in ${extension}`,
      async () => {
        const path = join(folder, `names${extension}`)
        await writeArrays(path, {[HOSTILE]: one, [`${'z'.repeat(300)}${HOSTILE}`]: one, q: one})
        return path
      },
    ])
  }

  it.each(files)('%s', async (_, make) => {
    const path = await make()
    const output = join(folder, 'never.npz')
    for (const json of [[], ['--json']]) {
      const applied = ['--method', 'elu', '--input', path, '--output', output, ...json]
      const apply = await runCommand(Apply, 'apply', applied)
      expect(apply.exitCode).toBe(3)
      expectHarmless(apply)
      const swept = ['--input', path, '--dry-run', ...json]
      const sweepOutcome = await runCommand(ErrorSweep, 'error-sweep', swept)
      expect(sweepOutcome.exitCode).toBe(3)
      expectHarmless(sweepOutcome)
    }
  })

  it('with a hostile extra array that the method does not take', async () => {
    const path = join(folder, 'noise.npz')
    await writeArrays(path, {q: one, k: one, v: one, [`noise.${HOSTILE}`]: one})
    const argv = ['--method', 'elu', '--backend', 'cpu', '--input', path]
    expectHarmless(await runCommand(Apply, 'apply', [...argv, '--output', join(folder, 'o.npy')]))
  })
})

describe('a flag', () => {
  it.each([
    ['apply', Apply, ['--method', 'elu', '--input', 'a.npz', '--output', HOSTILE]],
    ['apply', Apply, ['--method', HOSTILE, '--input', 'a.npz', '--output', 'o.npz']],
    ['bench', Bench, ['--option', `${HOSTILE}=1`]],
    ['bench', Bench, ['--redraw', HOSTILE]],
    ['error-sweep', ErrorSweep, ['--query-name', HOSTILE, '--dry-run']],
    ['error-sweep', ErrorSweep, [`--${HOSTILE}`]],
    ['methods', Methods, [HOSTILE]],
    ['report', Report, [HOSTILE]],
    ['variance', Variance, ['--num-features', HOSTILE]],
    ['variance', Variance, ['--resume', '--quick', '--output', `package.json/${HOSTILE}`]],
  ])('of %s (case %#)', async (id, command, argv) => {
    for (const json of [[], ['--json']]) {
      const outcome = await runCommand(command, id, [...argv, ...json])
      expect(outcome.exitCode).toBeGreaterThan(1)
      expectHarmless(outcome, false)
    }
  })
})

/** Puts the hostile text behind every text, and into every name, that the schema lets have it. */
function infected<T>(value: T, fits: (whole: unknown) => boolean): T {
  const whole = structuredClone(value) as Record<string, unknown>
  const visit = (node: Record<string, unknown>) => {
    for (const [name, child] of Object.entries(node)) {
      if (typeof child === 'object' && child !== null) visit(child as Record<string, unknown>)
      if (typeof child !== 'string') continue
      node[name] = `${child}${HOSTILE}`
      if (!fits(whole)) node[name] = child
    }
    if (Array.isArray(node)) return
    node[HOSTILE] = HOSTILE
    if (!fits(whole)) delete node[HOSTILE]
  }
  visit(whole)
  return whole as T
}

const sweepPlan = planOf({
  input: {kind: 'file', paths: ['q.npz'], names: {query: 'q', key: 'k', value: 'v'}},
})

describe('a run folder of somebody else', () => {
  it.each<[Plan, CellRecord]>([
    [sweepPlan, sweep()],
    [BENCH_PLAN, timed()],
    [VARIANCE_PLAN, variance()],
  ])('of $experiment', async (plan, record) => {
    const run = await mkdtemp(join(folder, 'run-'))
    const own = {...BENCH_MANIFEST, plan, argv: ['rfa', plan.experiment, '--quick']}
    const hostile = infected(own, whole => runManifest(EXPERIMENTS).safeParse(whole).success)
    expect(hostile.machine.cpu).toContain(HOSTILE)
    await writeFile(join(run, 'manifest.json'), JSON.stringify(hostile))
    const {record: schema} = EXPERIMENTS.find(known => known.schema === record.schema)!
    const lines = [record, failed(record), skipped(record)].map((one, index) => {
      const hostileRecord = infected(one, whole => schema.safeParse(whole).success)
      return JSON.stringify({...hostileRecord, key: `${index}`})
    })
    await writeFile(join(run, 'records.jsonl'), `${lines.join('\n')}\n`)
    const outcome = await runCommand(Report, 'report', [run, '-o', join(run, 'report.md')])
    expect(outcome.exitCode, outcome.stderr).toBe(0)
    expectHarmless(outcome)
    expect(outcome.stdout).not.toContain('resume with')
    expect(await readFile(join(run, 'report.md'), 'utf8')).not.toMatch(UNSEEN)
    expectHarmless(await runCommand(Report, 'report', [run, '--output', '-']))
    expectHarmless(await runCommand(Report, 'report', [run, '--json']), false)
  })

  it('with records of another experiment than its plan', async () => {
    const run = await mkdtemp(join(folder, 'run-'))
    await writeFile(join(run, 'manifest.json'), JSON.stringify(BENCH_MANIFEST))
    await writeFile(join(run, 'records.jsonl'), `${JSON.stringify(sweep())}\n`)
    const {exitCode, stderr} = await runCommand(Report, 'report', [run])
    expect(stderr).toContain('expected records of bench, got rfa.error-sweep/3')
    expect(exitCode).toBe(3)
  })

  it.runIf(process.platform !== 'win32')('with a pipe where the report goes', async () => {
    const run = await mkdtemp(join(folder, 'run-'))
    await writeFile(join(run, 'manifest.json'), JSON.stringify(BENCH_MANIFEST))
    const pipe = join(run, 'report.md')
    execFileSync('mkfifo', [pipe])
    const {exitCode, stderr} = await runCommand(Report, 'report', [run, '--output', pipe])
    expect(stderr).toContain('expected a new file or an earlier report')
    expect(exitCode).toBe(2)
  })

  it('that holds no manifest but text', async () => {
    const run = await mkdtemp(join(folder, 'run-'))
    for (const text of [
      HOSTILE,
      `{"schema": "${'\\u001b[2J'}"}`,
      `{"schema":"rfa.run/1","a${HOSTILE}`,
    ]) {
      await writeFile(join(run, 'manifest.json'), text)
      const outcome = await runCommand(Report, 'report', [run])
      expect(outcome.exitCode).toBe(3)
      expectHarmless(outcome, !text.includes(HOSTILE)) // a file with it is no text, and not shown
    }
  })
})
