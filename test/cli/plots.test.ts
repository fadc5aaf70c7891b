/** What commands draw in a terminal. */
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import Report from '../../commands/report.js'
import {benchFigures} from '../../src/experiments/bench/report/figures/figures.js'
import {plotFigure} from '../../src/report/plot/plot.js'
import {FIGURE} from '../helpers/figures.js'
import {BENCH_MANIFEST, exactForm, inProcesses, timed} from '../helpers/records/bench.js'
import {answerWith, run, runner} from './services.js'

const RECORDS = [128, 256].flatMap(L => [
  exactForm('softmax-online', L, 1e6 * L),
  timed({seq_len: L}, 5e5 * L),
])
const bench = (...argv: string[]) => run(Bench, 'bench', ['--quick', ...argv])
const plots = (text: string) => text.match(/^Time over length/gm)?.length ?? 0

/** Lets stdout be a terminal while a function runs. */
async function onTerminal<Result>(columns: number, call: () => Promise<Result>): Promise<Result> {
  const {isTTY, columns: before, getColorDepth} = process.stdout
  Object.assign(process.stdout, {isTTY: true, columns, getColorDepth: () => 8})
  try {
    return await call()
  } finally {
    Object.assign(process.stdout, {isTTY, columns: before, getColorDepth})
  }
}

beforeEach(() => {
  vi.clearAllMocks()
  for (const [name, value] of Object.entries({LC_ALL: 'C.UTF-8', TERM: 'xterm', NO_COLOR: '1'})) {
    vi.stubEnv(name, value)
  }
  answerWith(...RECORDS)
})

describe('a plot', () => {
  const [times] = benchFigures(
    [128, 256, 512, 1024].flatMap(L => [
      exactForm('softmax-online', L, 9 * L ** 2),
      // processes far apart: intervals have room
      timed({seq_len: L}, 1500 * L, inProcesses([0.9, 1, 1.1].map(factor => factor * 1500 * L))),
    ]),
  )
  const plain = {colour: false, unicode: true}

  it.each([80, 120])('of errors is shown so in %i columns', width => {
    expect(plotFigure(FIGURE, {...plain, width})).toMatchSnapshot()
  })

  it.each([80, 120])('of times is shown so in %i columns', width => {
    expect(plotFigure(times!, {...plain, width})).toMatchSnapshot()
  })

  it('is made of ASCII where there is no Braille', () => {
    const text = plotFigure(times!, {...plain, unicode: false, width: 80})
    expect(text).toMatchSnapshot()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all that is ASCII
    expect(text).toMatch(/^[\x00-\x7f]*$/)
  })
})

describe('a run', () => {
  it('draws its most telling figure below its tables where that is asked for', async () => {
    const {stdout} = await onTerminal(80, () => bench('--plot'))
    expect(plots(stdout)).toBe(1)
    expect(stdout).toContain('rfa bench: forward pass')
    expect(stdout.indexOf('Time over length')).toBeGreaterThan(stdout.indexOf('grows as'))
    expect(stdout).toMatch(/[\u2801-\u28ff]/)
    expect(stdout).toContain('favor-pos')
    expect(stdout).not.toContain('\u001b')
    const lines = stdout.split('\n').map(line => line.length)
    expect(Math.max(...lines)).toBeLessThanOrEqual(80)
  })

  it('draws nothing unasked, under --no-plot and under --json', async () => {
    expect(plots((await onTerminal(120, () => bench())).stdout)).toBe(0)
    expect(plots((await onTerminal(120, () => bench('--no-plot'))).stdout)).toBe(0)
    expect(
      JSON.parse((await onTerminal(80, () => bench('--json', '--plot'))).stdout).records,
    ).toHaveLength(4)
  })

  it('draws under --plot anywhere', async () => {
    expect(plots((await bench('--plot')).stdout)).toBe(1)
    vi.stubEnv('LC_ALL', 'C')
    const {stdout} = await bench('--plot')
    expect(stdout).not.toMatch(/[\u2800-\u28ff]/)
    expect(stdout).toContain('+---')
  })

  it('says so where there is nothing to draw', async () => {
    answerWith(timed())
    const {stderr, exitCode} = await bench('--plot')
    expect(stderr).toContain('warning: --plot: nothing to draw')
    expect(exitCode).toBe(0)
    expect((await onTerminal(80, () => bench())).stderr).not.toContain('nothing to draw')
  })

  it('has the colours of figures where there are any, and no other escape sequences', async () => {
    vi.stubEnv('NO_COLOR', undefined)
    vi.stubEnv('TERM', 'xterm-256color')
    const {stdout} = await onTerminal(80, () => bench('--plot'))
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
    const sequences = new Set(stdout.match(/\u001b\[[0-9;]*m/g))
    expect([...sequences].filter(one => one.includes('38;5;')).length).toBeGreaterThan(1)
    expect([...sequences].every(one => /\[(1|22|39|38;5;\d+)m/.test(one))).toBe(true)
    expect(stdout).not.toContain('\\x1b')
  })
})

describe('rfa report --plot', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rfa-plots-'))
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records: RECORDS})
    runner.readPlan.mockResolvedValue(BENCH_MANIFEST.plan)
    runner.planKeys.mockResolvedValue(RECORDS.map(({key}) => key))
  })
  afterEach(() => rm(folder, {recursive: true}))
  const report = (...argv: string[]) => run(Report, 'report', [folder, ...argv])

  it('draws one figure of each run among its tables, and none in Markdown', async () => {
    const {stdout} = await report('--plot')
    expect(plots(stdout)).toBe(1)
    expect(stdout).toContain('rfa bench: forward pass')
    const {stdout: markdown} = await report('--output', '-')
    expect(plots((await report()).stdout)).toBe(0)
    expect((await report('--plot', '--output', '-')).stdout).toBe(markdown)
  })

  it('draws it above chosen tables, which Markdown has without it', async () => {
    const chosen = ['--plot', '--columns', 'method,L,p10', '--pivot', 'L']
    const {stdout, stderr} = await report(...chosen)
    expect(stderr).not.toContain('nothing to draw')
    expect(plots(stdout)).toBe(1)
    expect(stdout.indexOf('Time over length')).toBeGreaterThan(stdout.indexOf(folder))
    expect(stdout.search(/^method +L=128 +L=256$/m)).toBeGreaterThan(stdout.indexOf('Time over'))
    const written = await report(...chosen, '--output', '-')
    expect(written.stdout).toMatch(/\| method +\| L=128 +\| L=256 +\|\n/)
    expect(plots(written.stdout)).toBe(0)
    const page = await report(...chosen, '--html', join(folder, 'page.html'))
    expect(plots(page.stdout)).toBe(1)
    expect(page.stdout).not.toContain('L=128')
  })

  it('draws it beside a page, whose tables are not printed', async () => {
    const {stdout, exitCode} = await report('--plot', '--html', join(folder, 'page.html'))
    expect(exitCode).toBe(0)
    expect(plots(stdout)).toBe(1)
    expect(stdout).not.toContain('rfa bench: forward pass')
  })
})
