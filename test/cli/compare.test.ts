import {appendFile, mkdir, readFile, symlink, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import Compare from '../../commands/compare.js'
import {comparisonDocument} from '../../src/cli/program/json-documents.js'
import {temporaryFolder} from '../helpers/folders.js'
import {method, sweep as sweepPlan} from '../helpers/plans.js'
import {BENCH_MANIFEST} from '../helpers/records/bench.js'
import {replicated, sweep} from '../helpers/records/error-sweep.js'
import {MACHINE} from '../helpers/records/machine.js'
import {failed} from '../helpers/records/outcomes.js'
import {benchPlanOf, benchRecords, writeRun} from '../helpers/run-folder.js'
import {runCommand} from './run-command.js'

const root = temporaryFolder()
const at = (name: string) => join(root, name)
const compare = (...argv: string[]) =>
  runCommand(
    Compare,
    'compare',
    argv.map(word => word.replaceAll('DIR', root)),
  )

const methods = [method('softmax'), method('favor-pos')]
const plan = benchPlanOf([128, 256], {methods})
const run = async (name: string, factor: number, changes: Partial<typeof plan> = {}) => {
  const own = {...plan, ...changes}
  return writeRun(
    at(name),
    own,
    await benchRecords(own, ({method: of}) => (of === 'softmax' ? 1e7 : 1e7 * factor)),
  )
}

beforeAll(async () => {
  await run('before', 1)
  await run('after', 1.5)
  await run('again', 1)
  await run('elsewhere', 1, {seq_lens: [64]})
  await run('seeded', 1, {seed: 9})
  await run('larger', 1, {seq_lens: [128, 256, 512]})
  const machine = {...MACHINE, cpu: 'Other CPU'}
  await writeRun(at('other-machine'), plan, await benchRecords(plan, () => 1e7), {machine})
  await writeRun(at('sweep'), sweepPlan(), [sweep()])
  await writeRun(at('empty'), plan, [])
  for (const [name, factor] of [
    ['sweep-3', 1],
    ['sweep-3-worse', 4],
  ] as const) {
    const drawn = [64, 128].map(num_features =>
      replicated(
        [0.2, 0.3, 0.25].map((error, i) => error * factor * (1 + i / 10)),
        {num_features},
      ),
    )
    await writeRun(at(name), sweepPlan(), drawn)
  }
  const crashed = (await benchRecords(plan, () => 1e7)).map(record =>
    failed(record, {code: 'CELL_CRASHED', message: 'it crashed'}),
  )
  await writeRun(at('crashed'), plan, crashed)
  await writeRun(at('unfinished'), plan, (await benchRecords(plan, () => 1e7)).slice(0, 3))
  await run('torn', 1)
  await appendFile(at('torn/records.jsonl'), '{"schema":"rfa.bench/1","key":"0')
  await symlink(at('before'), at('link'))
  await mkdir(at('nothing'))
})

describe('rfa compare', () => {
  it('prints a line for each cell and leaves with 0', async () => {
    const {stdout, stderr, exitCode} = await compare('DIR/before', 'DIR/after')
    expect(exitCode).toBe(0)
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^rfa compare: bench, B = /)
    expect(stdout).toContain('B is slower in 2 of 4 lines and inconclusive in 2; worst: favor-pos')
    expect(stdout).toMatch(/favor-pos orth M=64 L=256 +10\.0 ms +15\.0 ms +1\.5x \[.*slower$/m)
    expect(stdout).toMatch(/softmax L=128 +10\.0 ms +10\.0 ms +1\.00x \[.*inconclusive$/m)
  })

  it('prints everything with --details', async () => {
    const {stdout} = await compare('DIR/before', 'DIR/after', '--details')
    expect(stdout).toMatch(/^Comparison of runs of bench: B over A\n/)
    expect(stdout).toMatch(/favor-pos +orth +64 +256 +10\.0 ms +15\.0 ms +1\.50 \[.*slower$/m)
    expect(stdout).toMatch(/softmax +- +- +128 +10\.0 ms +10\.0 ms +1\.00 \[.*inconclusive$/m)
  })

  it('fails on a regression beyond the limit, and on none within it', async () => {
    const {stdout, exitCode} = await compare('DIR/before', 'DIR/after', '--fail-on', 'time:10%')
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/favor-pos orth M=64 L=128 .* slower, beyond 10%$/m)
    expect(stdout).toMatch(/^- failed time:10%: 2 regressions, 4 of 4 lines judged$/m)
    const limits = ['time:80%,memory:0%', 'time:80% --fail-on memory:0%']
    for (const limit of limits) {
      const within = await compare('DIR/before', 'DIR/after', '--fail-on', ...limit.split(' '))
      expect(within).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining(
          'passed time:80%,memory:0%: 0 regressions, 8 of 8 lines judged',
        ),
      })
    }
    expect(await compare('DIR/after', 'DIR/before', '--fail-on', 'time:10%')).toMatchObject({
      exitCode: 0,
    })
  })

  it('passes what cannot be judged with a warning, and fails it with --strict', async () => {
    const argv = ['DIR/before', 'DIR/after', '--fail-on', 'time:50%']
    expect(await compare(...argv)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('- warning: could not judge time of method favor-pos'),
    })
    expect(await compare(...argv, '--strict')).toMatchObject({
      exitCode: 5,
      stdout: expect.stringContaining('- fails (--strict): could not judge time of'),
    })
  })

  it('says how many lines it judged, and fails where it could judge none', async () => {
    const gate = async (...argv: string[]) => {
      const {stdout, exitCode} = await compare(...argv)
      return {exitCode, last: stdout.trimEnd().split('\n').at(-1)}
    }
    expect(await gate('DIR/before', 'DIR/after', '--fail-on', 'time:50%')).toEqual({
      exitCode: 0,
      last: '- passed time:50%: 0 regressions, 2 of 4 lines judged',
    })
    // three draws have no interval
    const errors = ['DIR/sweep-3', 'DIR/sweep-3-worse', '--fail-on', 'error:5%']
    expect(await gate(...errors)).toEqual({
      exitCode: 5,
      last: '- undecided error:5%: could not judge any of 2 lines',
    })
    const {stdout} = await compare(...errors)
    expect(stdout).toContain('3 replicates are too few to compare pairs; use --replicates 6')
    // all that A has measured is missing in B
    expect(await gate('DIR/before', 'DIR/crashed', '--fail-on', 'time:50%')).toEqual({
      exitCode: 5,
      last: '- undecided time:50%: could not judge any of 4 lines',
    })
  })

  it('compares two methods of one run', async () => {
    const {stdout, exitCode} = await compare('DIR/after', '--methods', 'softmax,favor-pos')
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^rfa compare: bench, B = favor-pos against A = softmax in /)
    expect(stdout).toMatch(/^L=128 +10\.0 ms +15\.0 ms +1\.5x \[.*slower$/m)
  })

  it('prints one document under --json, and the same into .json', async () => {
    const file = at('comparison.json')
    const {stdout} = await compare('DIR/before', 'DIR/after', '--json', '--output', file)
    const document = JSON.parse(stdout)
    expect(comparisonDocument.parse(document)).toEqual(document)
    expect(document.rows).toHaveLength(8)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(document)
  })

  it('writes Markdown and CSV, and replaces its own files alone', async () => {
    const [markdown, csv] = [at('c.md'), at('c.csv')]
    const write = (...more: string[]) =>
      compare('DIR/before', 'DIR/after', '-o', markdown, '-o', csv, ...more)
    expect((await write()).stderr).toBe(`written to ${markdown}\nwritten to ${csv}\n`)
    expect(await write()).toMatchObject({exitCode: 0})
    expect(await readFile(markdown, 'utf8')).toMatch(/^<!-- written by rfa compare -->\n\n# Comp/)
    expect(await readFile(csv, 'utf8')).toMatch(/^quantity,at,key_a,key_b,/)
    for (const path of [markdown, csv]) {
      await writeFile(path, 'my notes')
      expect(await write()).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('a new file or an earlier comparison'),
      })
      expect(await readFile(path, 'utf8')).toBe('my notes')
      expect(await write('--force')).toMatchObject({exitCode: 0})
    }
    // columns behind the first four are those of another version
    await writeFile(csv, 'quantity,at,key_a,key_b,baseline\n')
    expect(await write()).toMatchObject({exitCode: 0})
    await writeFile(csv, 'quantity,at,key_a,price\n')
    expect(await write()).toMatchObject({exitCode: 2})
    const {stdout} = await compare('DIR/before', 'DIR/after', '-o', '-')
    expect(stdout).toContain('| favor-pos | orth | 64 | 128 |')
  })

  it('says loudly what else differs', async () => {
    const {stdout} = await compare('DIR/before', 'DIR/other-machine')
    expect(stdout).toContain('- warning: A and B differ: processor Test CPU in A, Other')
    expect((await compare('DIR/before', 'DIR/seeded')).stdout).toContain(
      '- warning: seeds differ, so that draws are not shared',
    )
  })

  it('reads runs that were cut short, and says so', async () => {
    const {stdout, exitCode} = await compare('DIR/before', 'DIR/unfinished')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('- warning: B is not finished: 3 of 4 cells in ')
    expect(stdout).toContain('- not compared: 1 line (only in A)')
    expect(await compare('DIR/again', 'DIR/torn')).toMatchObject({exitCode: 0})
    expect((await compare('DIR/before', 'DIR/larger', '--details')).stdout).toMatch(
      /^- not compared: .*L=512.*: only in B$/m,
    )
  })

  it.each([
    [['DIR/before'], 2, /RUN: expected two runs, got 1\n.*--methods A,B/],
    [['DIR/before', 'DIR/after', 'DIR/again'], 2, /expected two runs, got 3/],
    [['DIR/before', 'DIR/after', '--methods', 'elu,rfa'], 2, /one run with --methods, got 2/],
    [['DIR/before', 'DIR/before'], 2, /expected two runs, got .*before twice\n.*--methods A,B/],
    [['DIR/before', 'DIR/link'], 2, /expected two runs, got .*before twice/],
    [['DIR/before', 'DIR/sweep'], 2, /two runs of one experiment, got bench in .*error-sweep in/],
    [['DIR/before', 'DIR/empty'], 2, /a run with finished cells, got none\n.*--resume/],
    [['DIR/before', 'DIR/elsewhere'], 2, /the first cells differ in seq_len: 128 in A, 64 in B/],
    [['DIR/before', 'DIR/nothing'], 3, /the directory of a run, got one without manifest\.json/],
    [['DIR/before', 'DIR/none'], 3, /the directory of a run, got no such folder/],
    [['DIR/before', 'DIR/after', '--fail-on', 'error:5%'], 2, /time or memory.*\n.*time:5%/],
    [['DIR/before', 'DIR/after', '--fail-on', 'time:5'], 2, /write time:5%/],
    [['DIR/before', 'DIR/after', '--fail-on', 'time:5%,time:6%'], 2, /one limit of time, got sev/],
    [['DIR/before', 'DIR/after', '--strict'], 2, /--strict: expected --fail-on with it/],
    [['DIR/before', 'DIR/after', '-o', 'x.pdf'], 2, /ending in \.md, \.csv, \.json or \.html/],
    [['DIR/before', '--methods', 'softmax'], 2, /--methods: expected two methods of the run, A,B/],
    [['DIR/before', '--methods', 'elu,elu'], 2, /two different methods, got elu twice/],
    [
      ['DIR/before', '--methods', 'softmax,elu'],
      2,
      /methods of the run softmax, favor-pos, got "elu"/,
    ],
    [[], 2, /RUN: expected folders of runs/],
  ])('answers %j in words', async (argv, exit, shows) => {
    const {stdout, stderr, exitCode} = await compare(...argv)
    expect(exitCode, stderr).toBe(exit)
    expect(stderr).toMatch(shows)
    expect(stdout).toBe('')
  })

  it('writes a page whose figures have the ratios', async () => {
    const {exitCode} = await compare('DIR/before', 'DIR/after', '-o', 'DIR/comparison.html')
    expect(exitCode).toBe(0)
    const page = await readFile(at('comparison.html'), 'utf8')
    expect(page).toContain('Time, B over A')
    expect(page.match(/<figure/g)).not.toBeNull()
    expect(page).toContain('compare')
  })

  it('splits methods at commas outside parentheses', async () => {
    const own = {...plan, methods: [method('rfa'), method('rfa', {tau: 0.5})]}
    const records = await benchRecords(own, ({options}) => (options.tau ? 2e7 : 1e7))
    await writeRun(at('tuned'), own, records, {argv: BENCH_MANIFEST.argv})
    const {stdout} = await compare('DIR/tuned', '--methods', 'rfa,rfa (tau=0.5)')
    expect(stdout).toContain('B = rfa (tau=0.5) against A = rfa in ')
    expect(stdout).toMatch(/^L=128 +.*2\.0x \[.*slower$/m)
  })

  it('refuses names of methods that mean the same cells', async () => {
    const own = {...plan, methods: [method('rfa', {tau: 2}), method('rfa', {tau: 0.5})]}
    await writeRun(at('taus'), own, await benchRecords(own, () => 1e7))
    const {stderr, exitCode} = await compare('DIR/taus', '--methods', 'rfa,rfa (tau=0.5)')
    expect(exitCode).toBe(2)
    expect(stderr).toContain('got rfa and rfa (tau=0.5), which are both rfa (tau=0.5)')
    expect(stderr).toContain('name each as the tables do: rfa (tau=2), rfa (tau=0.5)')
  })
})
