import {mkdir, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import Claims from '../../commands/claims.js'
import Report from '../../commands/report.js'
import {type ReportDocument, reportDocument} from '../../src/cli/program/json-documents.js'
import {services} from '../../src/cli/program/services.js'
import {RfaError} from '../../src/errors.js'
import {benchFindings} from '../../src/experiments/bench/report/figures/fits.js'
import {sweep as sweepPlan} from '../helpers/plans.js'
import {BENCH_MANIFEST, exactForm, timed, timedInTurns} from '../helpers/records/bench.js'
import {deterministic, sweep} from '../helpers/records/error-sweep.js'
import {failed} from '../helpers/records/outcomes.js'
import {answerWith, run, runner} from './services.js'

beforeEach(() => {
  vi.clearAllMocks()
})

describe('rfa report', () => {
  let folder: string
  const record = timed()
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rfa-report-'))
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records: [record]})
    runner.readPlan.mockResolvedValue(BENCH_MANIFEST.plan)
    runner.planKeys.mockResolvedValue([record.key])
  })
  afterEach(() => rm(folder, {recursive: true}))
  const report = (...argv: string[]) => run(Report, 'report', argv)

  it('prints tables, and writes nothing', async () => {
    const {stdout, stderr} = await report(folder, '--details')
    expect(stdout).toContain('Forward pass')
    expect(stderr).toBe('')
    expect(await readdir(folder)).toEqual([])
  })

  it('writes Markdown on demand', async () => {
    const path = join(folder, 'report.md')
    const {stdout, stderr} = await report(folder, '--output', path)
    expect(stdout).toMatch(/./)
    expect(stderr).toBe(`written to ${path}\n`)
    expect(await readFile(path, 'utf8')).toContain('| favor-pos |')
  })

  it('replaces its own earlier report, but no other file without --force', async () => {
    const path = join(folder, 'notes.md')
    await report(folder, '--output', path)
    expect(await report(folder, '--output', path)).toMatchObject({exitCode: 0})
    await writeFile(path, 'my notes')
    expect(await report(folder, '--output', path)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('WOULD_OVERWRITE'),
    })
    expect(await readFile(path, 'utf8')).toBe('my notes')
    expect(await report(folder, '--output', path, '--force')).toMatchObject({exitCode: 0})
  })

  it.each([
    ['x.html', /--html writes a page for browsers/],
    ['x.pdf', /pandoc/],
    ['x.csv', /the folder of a run has it: records\.csv/],
    ['x.json', /--json prints JSON/],
    ['', /expected a name, got an empty one/],
  ])('refuses to write Markdown into %j', async (output, remedy) => {
    const {stderr, exitCode} = await report(folder, '--output', output)
    expect(stderr).toMatch(remedy)
    expect(exitCode).toBe(2)
    expect(runner.openRun).not.toHaveBeenCalled()
  })

  it('writes a page instead of tables for --html, and shows it for --open', async () => {
    const path = join(folder, 'page.html')
    const {stdout, stderr} = await report(folder, '--html', path, '--open')
    expect({stdout, stderr}).toEqual({stdout: '', stderr: `written to ${path}\n`})
    const page = await readFile(path, 'utf8')
    expect(page).toContain('<title>bench: ')
    expect(page).toContain('<th scope="row">favor-pos</th>')
    expect(runner.showFile).toHaveBeenCalledExactlyOnceWith(path)
    const again = JSON.parse((await report(folder, '--html', path, '--json')).stdout)
    expect(again).toMatchObject({html: path, output: null})
  })

  it('writes both files where both are named, and prints pages', async () => {
    const files = {output: join(folder, 'x.md'), html: join(folder, 'x.htm')}
    const both = await report(folder, '--html', files.html, '-o', files.output, '--json')
    expect(JSON.parse(both.stdout)).toMatchObject(files)
    expect((await report(folder, '--html', '-')).stdout).toMatch(
      /^<!doctype html>\n[\s\S]*<\/html>\n$/,
    )
    expect(runner.showFile).not.toHaveBeenCalled()
  })

  it('replaces an earlier page, but no other file without --force', async () => {
    const path = join(folder, 'page.html')
    await report(folder, '--html', path)
    expect(await report(folder, '--html', path)).toMatchObject({exitCode: 0})
    await writeFile(path, '<!doctype html><p>mine')
    expect(await report(folder, '--html', path)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/^--html: expected a new file or an earlier report/),
    })
    expect(await report(folder, '--html', path, '--force')).toMatchObject({exitCode: 0})
  })

  it.each([
    [['--html', 'x.pdf'], /an HTML file, ending in \.html/],
    [['--html', '-', '-o', '-'], /^--output -: expected a file beside it/],
    [['--html', '-', '--open'], /^--open: expected a file beside it.* got --html -/],
    [['--open'], /^--open: expected a file beside it.* got none/],
  ])('refuses %j', async (argv, message) => {
    const {stderr, exitCode} = await report(folder, ...argv)
    expect(stderr).toMatch(message)
    expect(exitCode).toBe(2)
  })

  it('says where no program opens pages; the page is there all the same', async () => {
    runner.showFile.mockResolvedValueOnce(false)
    const path = join(folder, 'page.html')
    expect(await report(folder, '--html', path, '--open')).toMatchObject({
      exitCode: 0,
      stderr: `warning: --open: no program to open ${path} was found; open it in a browser yourself\nwritten to ${path}\n`,
    })
  })

  it('puts the Markdown of several runs on stdout for -', async () => {
    const {stdout} = await report(folder, folder, '--output', '-')
    expect(stdout.match(/^# bench: /gm)).toHaveLength(2)
    expect(stdout).not.toContain('----  ---')
  })

  it('says why a file cannot be written', async () => {
    const path = join(folder, 'file', 'report.md')
    await writeFile(join(folder, 'file'), '')
    expect(await report(folder, '--output', path)).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/^--output: cannot write .*\nCode: NOT_WRITABLE /),
    })
  })

  it('returns what it read under --json', async () => {
    const {stdout} = await report(folder, '--json')
    expect(JSON.parse(stdout)).toEqual({
      schema: 'rfa.report/1',
      output: null,
      html: null,
      runs: [
        {
          directory: folder,
          experiment: 'bench',
          cells: 1,
          counts: {total: 1, completed: 1, skipped: 0, failed: 0},
          verdicts: [],
          fits: [expect.objectContaining({lengths: [128], no_slope: 'one_length'})],
        },
      ],
    })
  })

  it('tells growth, crossovers and what the machine was like under --json, as summaries do', async () => {
    const conditions = {
      ...{load_before: 0.2, load_after: 1, steal_share: 0, lowest_mhz: 3000, highest_mhz: 3000},
      unknown: null,
    }
    const records = [128, 256].flatMap(L => [
      exactForm('softmax', L, 1e6 * L),
      timed({seq_len: L}, 5e5 * L, {conditions}),
    ])
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records})
    runner.planKeys.mockResolvedValue(records.map(({key}) => key))
    const {stdout} = await report(folder, '--json')
    const [{fits, machine}] = reportDocument.parse(JSON.parse(stdout)).runs as [
      ReportDocument['runs'][number],
    ]
    expect({fits, machine}).toEqual(benchFindings(records))
    expect(fits!.flatMap(({crossovers}) => crossovers)).toMatchObject([{answer: 'faster'}])
    expect(machine!.verdict).toBe('quiet')
  })

  it('tells a run that stopped early, with the command that goes on', async () => {
    runner.planKeys.mockResolvedValue([record.key, ...Array(18).fill('other')])
    const {stdout} = await report(folder)
    expect(stdout).toContain('- 1 of 19 cells, incomplete: 1 completed, 0 skipped, 0 failed\n')
    expect(stdout).toContain(`- resume with: rfa bench --quick --output ${folder} --resume\n`)
  })

  it('goes on with the command of the larger plan where a session extended the run', async () => {
    const session = {
      started_at: BENCH_MANIFEST.created_at,
      argv: ['rfa', 'bench', '--seq-len', '64,128'],
      commit: null,
      instruction_set: null,
      extended: true,
    }
    const manifest = {...BENCH_MANIFEST, sessions: [session]}
    runner.openRun.mockResolvedValueOnce({manifest, records: [record]})
    runner.planKeys.mockResolvedValue([record.key, 'other'])
    const {stdout} = await report(folder, '--details')
    expect(stdout).toContain(`- command: rfa bench --quick\n`)
    expect(stdout).toContain(
      `- resume with: rfa bench --seq-len 64,128 --output ${folder} --resume\n`,
    )
  })

  it('shows the cells of the plan, in its order, and says what else is in the journal', async () => {
    const [short, long, foreign] = [
      timed({seq_len: 64}),
      timed({seq_len: 4096}),
      timed({seq_len: 99}),
    ]
    const records = [foreign, long, {...foreign, key: short.key}, short]
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records})
    runner.planKeys.mockResolvedValue([short.key, long.key])
    const {stdout} = await report(folder, '--details')
    expect(stdout).toContain('- 2 cells: 2 completed, 0 skipped, 0 failed\n')
    expect(stdout).toContain('- left out: 2 records outside this plan')
    expect(JSON.parse((await report(folder, '--json')).stdout).runs[0].counts.completed).toBe(2)
  })

  it('shows settings in messages of failed cells as flags, in Markdown, too', async () => {
    const message = 'plan: too large; lower `seqLen`'
    const broken = failed(timed(), {code: 'TOO_LARGE', message})
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records: [broken]})
    runner.planKeys.mockResolvedValue([broken.key])
    expect((await report(folder)).stdout).toContain('too large; lower --seq-len')
    expect((await report(folder, '-o', '-')).stdout).toContain('too large; lower --seq-len')
  })

  it('prints a journal in the order of the plan, whatever order its cells ended in', async () => {
    const cells = (['orth', 'iid'] as const).flatMap(projection =>
      [256, 64].map(num_features => ({projection, num_features})),
    )
    const planned = [
      ...cells.map(cell => sweep(cell)),
      deterministic('softmax'),
      deterministic('elu'),
    ]
    runner.planKeys.mockResolvedValue(planned.map(({key}) => key))
    const printed = async (records: typeof planned) => {
      runner.openRun.mockResolvedValue({manifest: {...BENCH_MANIFEST, plan: sweepPlan()}, records})
      return (await report(folder, '--details')).stdout
    }
    const text = await printed(planned)
    const shuffled = [3, 0, 5, 2, 4, 1].map(at => planned[at]!)
    expect(await printed(shuffled)).toBe(text)
    const [, table = ''] = text.split('Error against softmax')
    const rows = table
      .split('\n')
      .filter(line => /^(favor-pos|softmax|elu) /.test(line))
      .slice(0, 6)
    expect(rows.map(row => row.split(/\s+/).slice(0, 3).join(' '))).toEqual([
      'favor-pos orth 64',
      'favor-pos orth 256',
      'favor-pos iid 64',
      'favor-pos iid 256',
      'softmax - -',
      'elu - -',
    ])
  })

  it('reads a run whose plan names what this version does not have', async () => {
    runner.planKeys.mockRejectedValue(new RfaError('UNKNOWN_NAME', 'method: expected one'))
    expect((await report(folder, '--details')).stdout).toContain('- 1 cell: 1 completed')
    runner.planKeys.mockRejectedValue(new TypeError('a bug'))
    expect((await report(folder)).exitCode).toBe(70)
  })

  it('leaves out files among folders, as patterns match them, and says so; alone they are refused', async () => {
    const file = join(folder, 'kernels.json')
    await writeFile(file, '{}')
    const {stdout, stderr, exitCode} = await report(file, folder, '--output', '-')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('Forward pass')
    expect(stderr).toBe(`left out: no folders of runs: ${file}\n`)
    runner.openRun.mockRejectedValue(new RfaError('FILE_MISSING', 'no run there'))
    expect(await report(file)).toMatchObject({exitCode: 3})
    expect(await report(folder, join(folder, 'absent'))).toMatchObject({exitCode: 3})
  })

  it('wants at least one run', async () => {
    expect(await report()).toMatchObject({
      exitCode: 2,
      stderr: 'RUN: expected folders of runs, got nothing\nCode: USAGE   Try: see --help\n',
    })
  })
})

describe('rfa report of a folder of claims', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rfa-report-'))
    runner.openRun.mockImplementation(async (...args) => services.openRun(...args))
  })
  afterEach(() => rm(folder, {recursive: true}))
  const report = (...argv: string[]) => run(Report, 'report', argv)
  const claims = (...argv: string[]) => run(Claims, 'claims', [...argv, '--output', folder])

  it('prints and writes the verdicts, from wherever it lies now', async () => {
    const {stdout: before} = await claims('H3', 'H14')
    const markdown = await mkdtemp(join(tmpdir(), 'rfa-report-'))
    const {stdout} = await report(folder, '--output', join(markdown, 'report.md'))
    expect(stdout).toMatch(/^Claims: .* \(full run, seed 0\)\n/)
    expect(stdout.split('\n').slice(2)).toEqual(before.split('\n'))
    expect(stdout).not.toContain('state over cache')
    expect((await report(folder, '--details')).stdout).toContain('state over cache')
    expect(await readFile(join(markdown, 'report.md'), 'utf8')).toContain('| H14 | depends |')
    await rm(markdown, {recursive: true})
    const path = join(folder, 'claims.json')
    await writeFile(path, (await readFile(path, 'utf8')).replace(folder, '/elsewhere'))
    const {runs, claims: told} = JSON.parse((await report(folder, '--json')).stdout)
    expect([runs, told[0].directory, told[0].claims.length]).toEqual([[], folder, 2])
  })

  it('prints and writes a figure', async () => {
    const records = ['softmax', 'ra', 'lara', 'favor-pos', 'softmax-online'].map(method =>
      timedInTurns({method}, 1e6),
    )
    answerWith(...records)
    const {stdout: before} = await claims('--figure', 'lara-cost')
    const {stdout} = await report(folder)
    expect(stdout.split('\n').slice(1)).toEqual(before.split('\n').slice(1))
    const {stdout: markdown} = await report(folder, '--output', '-')
    expect(markdown).toMatch(/\| time, RA \| (1\.0|0\.9)\d+ ±/)
    const {figures} = JSON.parse((await report(folder, '--json')).stdout)
    expect(figures[0]).toMatchObject({id: 'lara-cost', directory: folder})
  })

  it('names the runs of claims that were interrupted, and refuses any other folder', async () => {
    const {stderr, exitCode} = await report(folder)
    expect(stderr).toContain('expected the directory of a run, got one without manifest.json')
    expect(stderr).not.toContain('runs that are in it')
    expect(exitCode).toBe(3)
    await mkdir(join(folder, 'h06-rfa'))
    await writeFile(join(folder, 'h06-rfa', 'manifest.json'), '{}')
    expect((await report(folder)).stderr).toContain(
      `name the runs that are in it: ${join(folder, 'h06-rfa')}`,
    )
  })

  it('stands beside reports of runs', async () => {
    await claims('H3')
    const record = timed()
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records: [record]})
    runner.planKeys.mockResolvedValue([record.key])
    const {stdout} = await report(folder, 'run', '--output', '-')
    expect(stdout).toMatch(/^# Claims: [\s\S]*^# bench: run$/m)
  })
})
