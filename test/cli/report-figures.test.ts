import {mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import Bench from '../../commands/bench.js'
import Report from '../../commands/report.js'
import {BENCH_MANIFEST, exactForm, timed} from '../helpers/records/bench.js'
import {expectXml} from '../helpers/xml.js'
import {answerWith, run, runner} from './services.js'

const RECORDS = [128, 256].flatMap(L => [
  exactForm('softmax-online', L, 1e6 * L),
  timed({seq_len: L}, 5e5 * L),
])
const NAMES = ['time-over-length', 'memory-over-length']

describe('rfa report with figures', () => {
  let folder: string
  beforeEach(async () => {
    vi.clearAllMocks()
    folder = await mkdtemp(join(tmpdir(), 'rfa-figures-'))
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records: RECORDS})
    runner.readPlan.mockResolvedValue(BENCH_MANIFEST.plan)
    runner.planKeys.mockResolvedValue(RECORDS.map(({key}) => key))
  })
  afterEach(() => rm(folder, {recursive: true}))
  const report = (...argv: string[]) => run(Report, 'report', [folder, ...argv])

  it('writes each as wide as a page and as a column, and Markdown that shows them', async () => {
    const figures = join(folder, 'figures')
    const {exitCode, stderr} = await report('--png', figures, '-o', join(folder, 'report.md'))
    expect(exitCode).toBe(0)
    expect(stderr).toContain(`written to ${join(folder, 'report.md')}\nwritten to ${figures}\n`)
    const files = NAMES.flatMap(name => [`${name}-column.png`, `${name}.png`])
    expect((await readdir(figures)).sort()).toEqual(['figures.json', ...files].sort())
    const markdown = await readFile(join(folder, 'report.md'), 'utf8')
    for (const name of NAMES) expect(markdown).toContain(`](<figures/${name}.png>)`)
  })

  it('writes PDF, which Markdown does not show, with captions for a paper', async () => {
    const figures = join(folder, 'figures')
    const {exitCode, stdout} = await report('--pdf', figures, '--json', '-o', join(folder, 'x.md'))
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout).pdf).toHaveLength(4)
    const file = await readFile(join(figures, 'time-over-length.pdf'), 'latin1')
    expect(file).toMatch(/^%PDF/)
    expect(await readFile(join(folder, 'x.md'), 'utf8')).not.toContain('.pdf')
    const [first] = JSON.parse(await readFile(join(figures, 'figures.json'), 'utf8')).figures
    expect(first.caption).toMatch(
      /^Time over length, B=1 .*\. Median time of a call; bars are 95 % intervals.* From run rfa-figures-\w+, rfa \S+, seed \d+\.$/,
    )
  })

  it('writes tables as LaTeX, and replaces no files of others', async () => {
    const tex = join(folder, 'tex')
    const {exitCode, stderr} = await report('--tex', tex)
    expect(exitCode).toBe(0)
    expect(stderr).toContain(`written to ${tex}\n`)
    const [first] = await readdir(tex)
    expect(await readFile(join(tex, first!), 'utf8')).toContain('\\toprule')
    expect(await report('--tex', tex)).toMatchObject({exitCode: 0})
    await writeFile(join(tex, first!), 'mine')
    expect(await report('--tex', tex)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/WOULD_OVERWRITE[\s\S]*name another folder with --tex/),
    })
    expect(await readFile(join(tex, first!), 'utf8')).toBe('mine')
  })

  it('comes with a run that asks for it, as from its folder later', async () => {
    answerWith(...RECORDS)
    const place = (name: string) => join(folder, name)
    const folders = ['--svg', place('svg'), '--tex', place('tex')]
    const files = ['--html', place('page.html'), '--markdown', place('all.md')]
    const ended = await run(Bench, 'bench', [
      ...['--quick', '--output', folder],
      ...[...folders, ...files],
    ])
    expect(ended).toMatchObject({exitCode: 0})
    expect((await readdir(place('svg'))).length).toBe(5)
    const written = await readFile(place('all.md'), 'utf8')
    const [table] = await readdir(place('tex'))
    const tex = await readFile(join(place('tex'), table!), 'utf8')
    expect(await readFile(place('page.html'), 'utf8')).toMatch(/^<!doctype html>/i)
    await report(...folders, '--markdown', place('all.md'))
    expect(await readFile(place('all.md'), 'utf8')).toBe(written)
    expect(await readFile(join(place('tex'), table!), 'utf8')).toBe(tex)
  })

  it('has the table of the first screen as LaTeX, or else every one', async () => {
    await report('--tex', join(folder, 'screen'))
    await report('--tex', join(folder, 'all'), '--details')
    const [screen, all] = [
      await readdir(join(folder, 'screen')),
      await readdir(join(folder, 'all')),
    ]
    expect(screen).toHaveLength(1)
    expect(all.length).toBeGreaterThan(1)
  })

  it('has chosen columns, and one as columns, wherever tables go: of a saved run and of one that ends', async () => {
    answerWith(...RECORDS)
    const place = (name: string) => join(folder, name)
    const asked = ['--columns', 'method,L,p10', '--pivot', 'L']
    const files = ['--csv', place('csv'), '--tex', place('tex'), '--markdown', place('all.md')]
    const ended = await run(Bench, 'bench', ['--quick', '--output', folder, ...asked, ...files])
    expect(ended.exitCode).toBe(0)
    expect(ended.stdout).toMatch(/^method +L=128 +L=256\n-+ +-+ +-+\nsoftmax-online +/m)
    const [name] = await readdir(place('csv'))
    const csv = await readFile(join(place('csv'), name!), 'utf8')
    expect(csv).toMatch(/^method,L=128,L=256\nsoftmax-online,[^\n]+\nfavor-pos,[^\n]+\n$/)
    const tex = await readFile(join(place('tex'), name!.replace('csv', 'tex')), 'utf8')
    expect(tex).toContain('method & L=128 & L=256 \\\\')
    expect(await readFile(place('all.md'), 'utf8')).toMatch(/\| method +\| L=128 +\| L=256 +\|\n/)
    const again = await report(...asked, ...files)
    expect(again).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^method +L=128 +L=256$/m),
    })
    expect(await readFile(join(place('csv'), name!), 'utf8')).toBe(csv)
    await writeFile(join(place('csv'), name!), 'mine')
    expect((await report(...asked, ...files)).stderr).toMatch(/name another folder with --csv/)
  })

  it('refuses columns that no table has; a run that has ended shows all, with a warning', async () => {
    answerWith(...RECORDS)
    expect(await report('--columns', 'method,p11')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(
        /^--columns: expected one of the columns .*\n.*did you mean p10\?/,
      ),
    })
    const flags = ['--quick', '--output', folder, '--columns', 'method,p11']
    const place = (name: string) => join(folder, name)
    const tables = ['--markdown', place('all.md'), '--tex', place('tex'), '--csv', place('csv')]
    const others = ['--html', place('page.html'), '--svg', place('svg')]
    const ended = await run(Bench, 'bench', [...flags, ...tables, ...others])
    expect(ended.exitCode).toBe(0)
    expect(ended.stderr.match(/--columns: expected/g)).toHaveLength(1)
    const command = `rfa report ${folder} --columns NAME,NAME`
    expect(ended.stderr).toMatch(/^warning: --columns: expected .*; did you mean p10\?; /m)
    expect(ended.stderr).toContain(`; the tables can still be written: ${command}\n`)
    expect(ended.stdout).toContain('p10')
    expect((await readdir(folder)).sort()).toEqual(['page.html', 'svg'])
    const later = command.replace('NAME,NAME', 'method,p10').split(' ').slice(3)
    expect(await report(...later, ...tables)).toMatchObject({exitCode: 0})
    expect((await readdir(folder)).sort()).toEqual(['all.md', 'csv', 'page.html', 'svg', 'tex'])
  })

  it('writes other columns over those of an earlier report or run', async () => {
    answerWith(...RECORDS)
    const csv = join(folder, 'csv')
    const headers = async () => {
      const [name] = (await readdir(csv)).sort()
      return (await readFile(join(csv, name!), 'utf8')).split('\n', 1)
    }
    const all = await report('--csv', csv, '--details')
    expect(all).toMatchObject({exitCode: 0})
    const choice = ['--csv', csv, '--columns', 'method,L,p10']
    expect(await report(...choice)).toMatchObject({exitCode: 0})
    expect(await headers()).toEqual(['method,L,p10'])
    const asked = ['--quick', '--output', folder, ...choice, '--pivot', 'L']
    expect(await run(Bench, 'bench', asked)).toMatchObject({exitCode: 0})
    expect(await headers()).toEqual(['method,L=128,L=256'])
    expect(await report('--csv', csv, '--details')).toMatchObject({exitCode: 0})
  })

  it.each(['csv', 'svg'])(
    'refuses a file of others: a run has no flag to replace it in --%s',
    async kind => {
      answerWith(...RECORDS)
      const place = join(folder, kind)
      await report(`--${kind}`, place)
      for (const name of await readdir(place)) await writeFile(join(place, name), 'mine')
      const later = await report(`--${kind}`, place)
      const ended = await run(Bench, 'bench', ['--quick', '--output', folder, `--${kind}`, place])
      for (const {stderr} of [later, ended])
        expect(stderr).toContain(`another folder with --${kind}`)
      expect(later.stderr).toContain('add --force to replace it')
      expect(ended.stderr).not.toContain('--force')
    },
  )

  it('writes them where others of its own are, in another format too, and nowhere else', async () => {
    const figures = join(folder, 'figures')
    expect(await report('--svg', figures)).toMatchObject({exitCode: 0})
    expect(await report('--svg', figures, '--png', figures)).toMatchObject({exitCode: 0})
    expect(await report('--svg', figures)).toMatchObject({exitCode: 0})
    const list = JSON.parse(await readFile(join(figures, 'figures.json'), 'utf8'))
    expect(list.figures[0].files).toHaveLength(4)
    for (const file of (await readdir(figures)).filter(name => name.endsWith('.svg'))) {
      await expectXml(await readFile(join(figures, file), 'utf8'))
    }
    expect(list.figures.map(({name}: {name: string}) => name)).toEqual(NAMES)
    const other = join(folder, 'other')
    await report('--svg', other)
    await rm(join(other, 'figures.json'))
    await writeFile(join(other, 'time-over-length.svg'), 'mine')
    expect(await report('--svg', other)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('WOULD_OVERWRITE'),
    })
    expect(await readFile(join(other, 'time-over-length.svg'), 'utf8')).toBe('mine')
    expect(await report('--svg', other, '--force')).toMatchObject({exitCode: 0})
    expect((await stat(join(other, 'time-over-length.svg'))).size).toBeGreaterThan(10_000)
  })

  it.skipIf(process.platform !== 'linux').each([
    ['--svg', '/proc/x'],
    ['--png', '/proc/x/y'],
    ['--pdf', '/proc/x'],
    ['--tex', '/proc/x'],
    ['--html', '/proc/x.html'],
    ['--markdown', '/proc/x/y.md'],
    ['--output', '/proc/x.md'],
  ])('says of %s %s, where nothing can be made, that it cannot', async (flag, place) => {
    expect(await report(flag, place)).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(
        /^--\w+: cannot write \/proc\/x.*: expected .*, got .*\nCode: NOT_WRITABLE/,
      ),
    })
  })

  it('writes through no link of a folder that is not its own', async () => {
    const figures = join(folder, 'figures')
    await mkdir(figures)
    await writeFile(join(folder, 'precious'), 'mine')
    await symlink(join(folder, 'precious'), join(figures, 'time-over-length.svg'))
    expect(await report('--svg', figures)).toMatchObject({exitCode: 2})
    expect(await report('--svg', figures, '--force')).toMatchObject({exitCode: 0})
    expect(await readFile(join(folder, 'precious'), 'utf8')).toBe('mine')
  })

  it('replaces no figures.json of others', async () => {
    const figures = join(folder, 'mine')
    await mkdir(figures)
    await writeFile(join(figures, 'figures.json'), '{"mine": true}')
    expect(await report('--svg', figures)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('figures.json, which is neither'),
    })
    expect(await readdir(figures)).toEqual(['figures.json'])
    expect(await readFile(join(figures, 'figures.json'), 'utf8')).toBe('{"mine": true}')
  })

  it('tells the files under --json', async () => {
    const svg = join(folder, 'svg')
    const {stdout} = await report('--svg', svg, '--json')
    expect(JSON.parse(stdout).svg).toContain(join(svg, 'time-over-length-column.svg'))
  })

  it('says where there is nothing to draw', async () => {
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records: [timed()]})
    const {exitCode, stderr} = await report('--svg', join(folder, 'svg'))
    expect(exitCode).toBe(0)
    expect(stderr).toContain('--svg: nothing to draw')
    await expect(stat(join(folder, 'svg'))).rejects.toThrow('ENOENT')
  })

  it('says where it cannot write', async () => {
    const file = join(folder, 'file')
    await writeFile(file, '')
    expect(await report('--png', file)).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining(`--png: cannot write ${file}`),
    })
  })
})
