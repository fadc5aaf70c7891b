/** The page of `rfa report --html` as a reader has it. */
import {execFileSync} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import axe from 'axe-core'
import type {Page} from 'playwright-core'
import {beforeAll, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {type Block, heading, list, table, text} from '../../src/report/document.js'
import {type PageFacts, renderHtml} from '../../src/report/html/page.js'
import {describeBrowser} from './browser.js'

const WIDTHS = [360, 900, 1600]
const SCHEMES = ['light', 'dark'] as const

/** A report of runs that are kept, made by the program itself. */
function reportOf(...runs: string[]): string {
  const root = packageRoot()
  const folders = runs.map(run => join('results', 'reference', run))
  const argv = [join(root, 'bin', 'run.js'), 'report', ...folders, '--html', '-']
  return execFileSync(process.execPath, argv, {cwd: root, encoding: 'utf8', maxBuffer: 2 ** 27})
}

/** What axe finds that keeps readers out: its serious and critical violations. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const {violations} = await page.evaluate(() =>
    (globalThis as unknown as {axe: typeof axe}).axe.run(),
  )
  return violations
    .filter(({impact}) => impact === 'serious' || impact === 'critical')
    .map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html.slice(0, 200)).join(' | ')}`)
}

const FACTS: PageFacts = {title: 't', runs: [], command: 'rfa report', generator: 'rfa'}

describeBrowser('a report in a browser', ({open}) => {
  let [html, shorter] = ['', '']
  beforeAll(() => {
    html = reportOf('error-sweep-quick', 'claims/lengths', 'claims')
    // axe looks at every cell: at 28 claims for ten seconds
    shorter = reportOf('error-sweep-quick', 'claims/lengths')
  })

  it('opens without a network and without a complaint, and shows all that it has', async () => {
    const {page, complaints} = await open(html)
    expect(complaints).toEqual([])
    expect(await page.title()).toBe('3 runs of rfa')
    const cards = page.locator('.card')
    expect(await cards.count()).toBe(3)
    const run = join(packageRoot(), 'results/reference/error-sweep-quick/manifest.json')
    const {commit} = JSON.parse(readFileSync(run, 'utf8')).machine
    expect(await cards.first().innerText()).toMatch(
      new RegExp(`An error sweep of favor-pos[\\s\\S]*commit ${commit.slice(0, 7)}`),
    )
    expect(await page.locator('main table').count()).toBeGreaterThan(30)
    expect(await page.locator('main :empty:not(br, wbr, svg *, .tip, td, th)').count()).toBe(0)
  })

  it.each(SCHEMES.flatMap(scheme => WIDTHS.map(width => ({scheme, width}))))(
    'is for everybody: $scheme, $width px',
    async ({scheme, width}) => {
      const size = {viewport: {width, height: 900}, colorScheme: scheme}
      const {page} = await open(shorter, size)
      expect(await violations(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
      expect(paper).toBe(scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(21, 24, 28)')
    },
  )

  it('sorts tables by numbers with their units, by pointer and keys', async () => {
    const times = table(
      [
        {title: 'method', align: 'left', cell: ([name]) => name},
        {title: 'median', cell: ([, time]) => time},
      ],
      [
        ['a', '1.2 s'],
        ['b', '-'],
        ['c', '12.3 ms'],
      ] as [string, string][],
    )
    const {page, complaints} = await open(await renderHtml([times], FACTS))
    const header = page.locator('th', {hasText: 'median'})
    const names = () => page.locator('tbody th').allInnerTexts()
    await header.getByRole('button').click()
    expect(await names()).toEqual(['c', 'a', 'b'])
    expect(await header.getAttribute('aria-sort')).toBe('ascending')
    await header.getByRole('button').press('Enter')
    expect(await names()).toEqual(['a', 'c', 'b'])
    expect(await header.getAttribute('aria-sort')).toBe('descending')
    await page.getByRole('button', {name: 'method'}).press('Space')
    expect(await header.getAttribute('aria-sort')).toBeNull()
    expect(await names()).toEqual(['a', 'b', 'c'])
    expect(complaints).toEqual([])
  })

  it('keeps what is hostile in records as text', async () => {
    const hostile =
      '</script><script>window.hit = 1</script><img src=x onerror="window.hit = 1">\u202e=cmd()\u0007'
    const blocks: Block[] = [
      heading(1, hostile),
      text(hostile),
      ...list([hostile, {label: hostile, command: hostile}]),
      table([{title: hostile, cell: () => hostile}], [{}]),
    ]
    const run = {title: hostile, what: hostile, facts: [], findings: [hostile], missing: [hostile]}
    const facts = {...FACTS, title: hostile, runs: [run, run]}
    const {page, complaints} = await open(await renderHtml(blocks, facts))
    expect(complaints).toEqual([])
    expect(await page.evaluate(() => 'hit' in window)).toBe(false)
    expect(await page.locator('img').count()).toBe(0)
    const shown = hostile.replace('\u202e', '\\u202e').replace('\u0007', '\\x07')
    expect(await page.locator('main p').first().innerText()).toBe(shown)
    expect(await page.locator('tbody th').innerText()).toBe(shown)
  })

  it('runs no script but its own, even where one got in', async () => {
    const forced = (await renderHtml([], FACTS)).replace(
      '<main>',
      '<main><script>window.hit = 1</script><img src="http://example.org/x.png">',
    )
    const {page, complaints} = await open(forced)
    expect(await page.evaluate(() => 'hit' in window)).toBe(false)
    expect(complaints.join('\n')).toContain('Content Security Policy')
  })

  it('prints what is folded, and no buttons', async () => {
    const findings = Array.from({length: 9}, (_, at) => `finding ${at}`)
    const run = {title: 'r', what: 'w', facts: [], findings, missing: []}
    const made = await renderHtml(list([{label: 'again', command: 'rfa'}]), {
      ...FACTS,
      runs: [run],
    })
    const {page} = await open(made)
    const last = page.getByText('finding 8')
    expect(await last.isVisible()).toBe(false)
    await page.emulateMedia({media: 'print'})
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
    expect(await last.isVisible()).toBe(true)
    expect(await page.getByRole('button', {name: 'copy'}).count()).toBe(0)
  })

  it('keeps a page of ten thousand rows small, and says what is left out', async () => {
    const rows = Array.from({length: 10_000}, (_, at) => at)
    const wide = Array.from({length: 12}, (_, at) => ({
      title: `column ${at}`,
      cell: (row: number) => `${row * at} ms`,
    }))
    const made = await renderHtml([table(wide, rows)], FACTS)
    expect(made.length).toBeLessThan(5 * 2 ** 20)
    const {page} = await open(made)
    expect(await page.locator('tbody tr').count()).toBe(Math.floor(40_000 / 12))
    await page.getByRole('button', {name: 'column 1', exact: true}).click()
    expect(await page.locator('.note').innerText()).toContain('3,333 of 10,000 rows, evenly chosen')
  })
})
