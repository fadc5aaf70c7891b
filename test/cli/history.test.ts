import {mkdir, readFile, symlink, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {parse} from 'csv-parse/sync'
import {beforeAll, describe, expect, it} from 'vitest'
import History from '../../commands/history.js'
import {historyDocument} from '../../src/cli/program/json-documents.js'
import type {InputsPlan} from '../../src/experiments/inputs/schema.js'
import {temporaryFolder} from '../helpers/folders.js'
import {method, sweep as sweepPlan} from '../helpers/plans.js'
import {replicated} from '../helpers/records/error-sweep.js'
import {MACHINE} from '../helpers/records/machine.js'
import {benchPlanOf, benchRecords, writeRun} from '../helpers/run-folder.js'
import {runCommand} from './run-command.js'

const root = temporaryFolder()
const at = (name: string) => join(root, name)
const history = (...argv: string[]) =>
  runCommand(
    History,
    'history',
    argv.map(word => word.replaceAll('DIR', root)),
  )

const plan = benchPlanOf([128, 256], {methods: [method('softmax'), method('favor-pos')]})
/** A run of that day, in which favor-pos takes longer by a factor. */
async function run(name: string, day: number, factor: number, changes: object = {}) {
  const records = await benchRecords(plan, ({method: of}) =>
    of === 'softmax' ? 1e7 : 1e7 * factor,
  )
  await writeRun(at(name), plan, records, {
    created_at: `2026-01-0${day}T10:00:00.000Z`,
    machine: {...MACHINE, commit: `c0ffee${day}`, ...changes},
  })
}

beforeAll(async () => {
  // folders in another order than the runs were made
  await run('all/nested/b', 1, 1)
  await run('all/a', 2, 1.5)
  await run('all/c', 3, 1.5)
  await run('machines/a', 1, 1)
  await run('machines/b', 2, 3, {cpu: 'Other CPU'})
  await run('machines/c', 3, 1)
  await run('one/a', 1, 1)
  await mkdir(at('empty/notes'), {recursive: true})
  await mkdir(at('broken/run'), {recursive: true})
  await writeFile(at('broken/run/manifest.json'), '{"schema":"rfa.run/99"}')
  await writeRun(at('broken/shard'), plan, [], {shard: {index: 1, count: 2, cells: 2}})
  const {input, seed, backend} = sweepPlan()
  const inputs: InputsPlan = {experiment: 'inputs', input, causal: false, seed, backend}
  await writeRun(at('broken/inputs'), inputs, [])
  await run('lost/a', 1, 1)
  await run('lost/b', 2, 1)
  const lost = await benchRecords(plan, ({method: of}) => (of === 'softmax' ? 1e7 : null))
  await writeRun(at('lost/c'), plan, lost, {created_at: '2026-01-03T10:00:00.000Z'})
  for (const [day, factor] of [1, 4].entries()) {
    const errors = [0.2, 0.3, 0.25, 0.22, 0.27, 0.31, 0.24]
    const records = [replicated(errors.map((error, i) => error * factor * (1 + i / 99)))]
    await writeRun(at(`all/sweep-${day}`), sweepPlan(), records, {
      created_at: `2026-01-0${day + 1}T10:00:00.000Z`,
    })
  }
})

describe('rfa history', () => {
  it('prints a line for each run of a cell, the newest first, what changed most on top', async () => {
    const {stdout, stderr, exitCode} = await history('DIR/all')
    expect(stderr).toBe('')
    expect(exitCode).toBe(0)
    expect(stdout).toMatchInlineSnapshot(`
      "rfa history: 9 lines over 5 runs, 1 January 2026, 10:00 UTC to 3 January 2026, 10:00 UTC

      There is no clear difference in time in any of 4 lines. The newest run takes the same memory in all 4 lines. The newest
      run has a higher error: 4.0x [4.0, 4.0].

      line                       commit   made              value                       change              is
      -------------------------  -------  ----------------  --------------------------  ------------------  ------------
      favor-pos orth             abc1234  2026-01-02 10:00  102.0 % [80.0 %, 130.3 %]   4.0x [4.0, 4.0]     higher
      favor-pos orth             abc1234  2026-01-01 10:00  25.5 % [20.0 %, 32.6 %]     -                   -
      favor-pos orth M=64 L=128  c0ffee3  2026-01-03 10:00  15.0 ms [14.6 ms, 15.4 ms]  1.00x [0.98, 1.02]  inconclusive
      favor-pos orth M=64 L=128  c0ffee2  2026-01-02 10:00  15.0 ms [14.6 ms, 15.4 ms]  1.5x [1.5, 1.5]     slower
      favor-pos orth M=64 L=128  c0ffee1  2026-01-01 10:00  10.0 ms [9.75 ms, 10.3 ms]  -                   -

      Values with their 95 % intervals. change: the value over that of the row below it, as rfa compare finds it; p-values are
      adjusted for all lines of a run. Shown: 5 of 14 rows, the lines that changed most; --details has all.
      "
    `)
  })

  it('prints every line with --details, and lines and quantities that were asked for', async () => {
    const {stdout} = await history('DIR/all', '--details')
    for (const title of ['Time', 'Memory', 'Error'])
      expect(stdout).toMatch(RegExp(`^${title}$`, 'm'))
    expect(stdout.match(/c0ffee2/g)).toHaveLength(8)
    const asked = ['--cell', 'favor-pos L=128', '--metric', 'time']
    const one = await history('DIR/all', ...asked, '--details')
    expect(one.stdout).toMatch(/^rfa history: 1 line over 3 runs/)
    expect(one.stdout.match(/c0ffee\d/g)).toEqual(['c0ffee3', 'c0ffee2', 'c0ffee1'])
    const strange = await history('DIR/all', '--cell', 'favor-po')
    expect(strange.exitCode).toBe(2)
    expect(strange.stderr).toMatch(/^--cell: expected one of the words of lines/)
    expect(strange.stderr).toContain('did you mean favor-pos?')
  })

  it('takes values of several words, alone and with others', async () => {
    const methods = [method('rfa', {tau: 0.5}), method('elu')]
    const plans = benchPlanOf([128], {methods})
    for (const day of [1, 2]) {
      await writeRun(at(`labels/${day}`), plans, await benchRecords(plans, () => 1e7), {
        created_at: `2026-01-0${day}T10:00:00.000Z`,
      })
    }
    const lines = async (cell: string) => {
      const {result} = await history('DIR/labels', '--cell', cell, '--metric', 'time')
      return historyDocument.parse(result).rows.map(row => row.at.method)
    }
    const label = 'rfa (tau=0.5)'
    for (const cell of [label, `L=128 ${label}`, `method=${label} L=128`, 'rfa']) {
      expect(await lines(cell)).toEqual([label, label])
    }
    const strange = await history('DIR/labels', '--cell', `${label} L=12`)
    expect(strange.stderr).toContain('did you mean L=128?')
  })

  it('counts a run once, follows links to runs, and names what cannot be read', async () => {
    await mkdir(at('links'))
    await symlink(at('all/a'), at('links/a'))
    await symlink(at('all'), at('links/all'))
    await symlink(at('links/loop'), at('links/loop'))
    const argv = ['DIR/links', 'DIR/all/c', 'DIR/all/../all/c', 'DIR/all/nested/..']
    const {result, stderr} = await history(...argv)
    const runs = historyDocument.parse(result).runs.map(({directory}) => directory)
    expect(runs.filter(name => name.endsWith('a'))).toEqual([at('links/a')])
    expect(runs).toHaveLength(5)
    expect(stderr).toMatch(/^warning: left out: .*loop: cannot be read: ELOOP$/m)
  })

  it('refuses limits of what no run measures', async () => {
    const {exitCode, stderr} = await history('DIR/one', '--fail-on', 'error:5%')
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(
      /^--fail-on: expected time or memory, as one of these runs measures, got error/,
    )
  })

  it('is a gate on the newest run, with the exit codes of compare', async () => {
    const gate = (folder: string, ...more: string[]) =>
      history(folder, '--metric', 'error,time', '--fail-on', ...more)
    expect(await gate('DIR/all', 'error:10%')).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/failed error:10%: 1 regression, 1 of 1 line judged/),
    })
    // what an earlier run changed is not judged again
    expect((await gate('DIR/all', 'time:10%')).exitCode).toBe(0)
    expect((await gate('DIR/all', 'time:0%')).exitCode).toBe(5)
    expect((await gate('DIR/lost', 'time:10%')).exitCode).toBe(0)
    const strict = await gate('DIR/lost', 'time:10%', '--strict')
    expect(strict.exitCode).toBe(5)
    expect(strict.stdout).toMatch(/fails \(--strict\): could not judge time of method favor-pos/)
  })

  it('does not pass an older run with --strict where a newer one cannot be read', async () => {
    const file = at('left-out.md')
    const argv = ['DIR/lost/a', 'DIR/lost/b', 'DIR/broken', '--fail-on', 'memory:10%', '-o', file]
    const loose = await history(...argv, '--quiet')
    expect(loose.exitCode).toBe(0)
    expect(loose.stderr.match(/^warning: left out: /gm)).toHaveLength(3)
    const strict = await history(...argv, '--strict')
    expect(strict.exitCode).toBe(5)
    expect(strict.stdout).toMatch(/fails \(--strict\): left out 2 folders/)
    expect(historyDocument.parse(strict.result).left_out).toMatchObject([
      {directory: at('broken/run'), open: true},
      {directory: at('broken/shard'), open: true},
      {directory: at('broken/inputs'), open: false},
    ])
    expect(await readFile(file, 'utf8')).toContain('left out: ')
    // an experiment that is never compared hides no run
    const other = ['DIR/lost/a', 'DIR/lost/b', 'DIR/broken/inputs', '--fail-on', 'memory:10%']
    expect((await history(...other, '--strict')).exitCode).toBe(0)
  })

  it('compares times on one machine only, and says so', async () => {
    const {result, stdout} = await history('DIR/machines')
    const {rows, warnings} = historyDocument.parse(result)
    expect(new Set(rows.map(({at: {machine}}) => machine))).toEqual(new Set(['1']))
    expect(new Set(rows.map(({directory}) => directory.at(-1)))).toEqual(new Set(['a', 'c']))
    expect(warnings[0]).toMatch(
      /^bench ran on 2 machines, times of two are not compared: machine 1 is processor Test CPU, .* \(2 runs\); machine 2 is processor Other CPU/,
    )
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(warnings[0]!.slice(0, 70))
  })

  it('writes tables, everything, a page and figures', async () => {
    const files = ['md', 'csv', 'json', 'html'].map(ending => at(`history.${ending}`))
    const argv = files.flatMap(file => ['--output', file])
    const {result, stderr} = await history('DIR/all', ...argv, '--svg', 'DIR/figures')
    const texts = await Promise.all(files.map(file => readFile(file, 'utf8')))
    expect(texts[0]).toMatch(/^<!-- written by rfa history -->\n\n# rfa history: 9 lines/)
    const csv: Record<string, string>[] = parse(texts[1]!, {columns: true})
    expect(csv).toHaveLength(26)
    expect(csv[0]).toMatchObject({
      experiment: 'bench',
      commit: 'c0ffee3',
      unit: 'ns',
      newest: 'true',
    })
    expect(JSON.parse(texts[2]!)).toEqual(JSON.parse(JSON.stringify(result)))
    expect(historyDocument.parse(result)).toEqual(result)
    expect(texts[3]).toContain('Time over runs')
    expect(await readFile(at('figures/history-time.svg'), 'utf8')).toContain('c0ffee2')
    expect(stderr).toContain(`written to ${at('figures/history-time.svg')}`)
    expect((await history('DIR/all', ...argv)).exitCode).toBe(0)
    expect((await history('DIR/one', '-o', files[0]!)).exitCode).toBe(2)
    const again = ['DIR/all', '-o', files[1]!]
    await writeFile(files[1]!, 'line,experiment,quantity,at,version\n')
    expect((await history(...again)).exitCode).toBe(0)
    await writeFile(files[1]!, 'line,experiment,quantity,price\n')
    expect((await history(...again)).exitCode).toBe(2)
  })

  it('refuses folders in which no cell was measured twice, and names what it leaves out', async () => {
    expect(await history('DIR/empty')).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/empty: expected folders of runs, got none/),
    })
    expect(await history('DIR/one')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/expected a cell that two runs measured, got one run/),
    })
    expect(await history('DIR/broken')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(
        /^(?:warning: left out: .*\n){3}.*broken: expected runs that can be compared/,
      ),
    })
    expect(await history('DIR/all', '--metric', 'variance')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^--metric variance: expected a line that two runs measured/),
    })
    const elsewhere = await history('DIR/all', 'DIR/nowhere')
    expect(elsewhere).toMatchObject({exitCode: 3, stderr: expect.stringMatching(/nowhere: exp/)})
    const {stderr, exitCode} = await history('DIR/all', 'DIR/broken')
    expect(exitCode).toBe(0)
    expect(stderr).toMatch(/^warning: left out: .*broken.run.manifest\.json/m)
    expect(stderr).toMatch(/^warning: left out: .*shard: a shard; merge shards first/m)
    expect(stderr).toMatch(/^warning: left out: .*inputs: runs of inputs are not compared/m)
  })
})
