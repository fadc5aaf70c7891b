/** `rfa bench` on shapes of one's own: heads that are shared, and files. */
import {execFile} from 'node:child_process'
import {readdirSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import {temporaryFolder} from '../helpers/folders.js'
import {timed} from '../helpers/records/bench.js'
import {runMain} from './run-command.js'
import {answerWith, lastRun, run, runner} from './services.js'

const folder = temporaryFolder()
const root = fileURLToPath(new URL('../../', import.meta.url))
const INPUT = 'fixtures/minilm-layer5.safetensors'

const bench = (...argv: string[]) => run(Bench, 'bench', argv)

/** The built program, with runs as few and as short as can be. */
async function program(name: string, ...argv: string[]) {
  const short = [
    '--processes',
    '1',
    '--warmup',
    '0',
    '--min-runs',
    '2',
    '--max-runs',
    '2',
    '--min-time',
    '0.001',
  ]
  const shared = ['--methods', 'elu', '--backend', 'cpu', '--output', join(folder, name)]
  const {stdout, stderr} = await promisify(execFile)(
    process.execPath,
    [join(root, 'bin', 'run.js'), 'bench', ...shared, ...short, ...argv],
    {cwd: root},
  )
  return {stdout, stderr}
}

beforeEach(() => {
  vi.clearAllMocks()
  answerWith(timed())
})

describe('--kv-heads', () => {
  it('times keys and values of fewer heads, and says so', {timeout: 60_000}, async () => {
    const sizes = ['--heads', '6', '--kv-heads', '2', '--head-dim', '8', '--seq-len', '31']
    const {stdout} = await program('grouped', ...sizes, '--json')
    const {records, manifest} = JSON.parse(stdout)
    expect(manifest.plan).toMatchObject({heads: 6, kv_heads: 2})
    expect(records).toHaveLength(3)
    for (const {status, cell, result} of records) {
      expect({status, ...cell}).toMatchObject({status: 'completed', heads: 6, kv_heads: 2})
      expect(result.live_bytes).toBeGreaterThanOrEqual(4 * 6 * 31 * 16)
    }
    const told = await runMain('report', join(folder, 'grouped'))
    expect(told.stdout).toContain('rfa bench: forward pass, 6 heads over 2 of keys, D=8')
  })

  it('is refused where it does not divide --heads, before anything runs', async () => {
    const {exitCode, stderr} = await bench('--heads', '8', '--kv-heads', '3')
    expect(exitCode).toBe(2)
    expect(stderr).toBe(
      '--kv-heads: expected a number that divides --heads 8, got 3\nCode: USAGE   Try: --kv-heads 2\n',
    )
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })
})

describe('--input', () => {
  it('times the shapes of a file', {timeout: 60_000}, async () => {
    const {stdout, stderr} = await program('file', '--input', INPUT, '--no-exact')
    expect(stderr).toMatch(
      /^shapes of minilm-layer5\.safetensors: B=2 H=12 D=32 Dv=32 L=256, bidirectional\n/,
    )
    expect(stdout).toContain('rfa bench: forward pass, B=2, 12 heads, D=32, bidirectional')
    expect(stdout).toMatch(/^method +L=256$/m)
  })

  it('leaves a plan of plain sizes, which can be run again without the file', async () => {
    const argv = ['--input', 'fixtures/charlm-layer0.safetensors', '--methods', 'elu']
    await bench(...argv)
    const {plan} = lastRun()
    expect(plan).toMatchObject({batch: 1, heads: 4, head_dim: 64, seq_lens: [512], causal: true})
    expect(plan).not.toHaveProperty('input')
    await bench('--batch', '1', '--heads', '4', '--seq-len', '512', '--causal', '--methods', 'elu')
    expect(lastRun().plan).toEqual(plan)
    await bench(...argv, '--seq-len', '64,128', '--no-causal')
    expect(lastRun().plan).toMatchObject({heads: 4, seq_lens: [64, 128], causal: false})
  })

  it('is refused beside sizes, and its layers without it', async () => {
    const beside = await bench('--input', INPUT, '--kv-heads', '2')
    expect(beside).toMatchObject({
      exitCode: 2,
      stderr:
        '--kv-heads: expected no --input with it, as the file has sizes, got both\nCode: USAGE   Try: leave one of them out\n',
    })
    const alone = await bench('--layer', '3')
    expect(alone).toMatchObject({
      exitCode: 2,
      stderr: '--layer: expected --input with it, got none\nCode: USAGE\n',
    })
    expect(runner.runExperiment).not.toHaveBeenCalled()
  })

  it('says in flags what else to try', async () => {
    const missing = await bench('--input', INPUT, '--query-name', 'queries')
    expect(missing.exitCode).toBe(3)
    expect(missing.stderr).toContain('--query-name')
  })
})

describe('--model', () => {
  it('times the packaged model, and says what to run next', {timeout: 60_000}, async () => {
    const {stdout, stderr} = await program('model', '--mode', 'model', '--seq-len', '8,16')
    expect(stdout).toMatch(
      /^rfa bench: whole model charlm \(gpt2\) with attention exchanged in all/,
    )
    expect(stdout).toMatch(/^identity +\d/m)
    expect(stderr).toContain('next: rfa swap --methods elu (what it loses)')
    const figures = join(folder, 'figures')
    const told = await runMain('report', join(folder, 'model'), '--svg', figures)
    // where other programs run, a share is not told
    expect(told.stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /of the time of the exact model at L=16|too busy to tell how much of the time is attention/,
    )
    expect(readdirSync(figures)).toContain('gain-over-length.svg')
  })
})
