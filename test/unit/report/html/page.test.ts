import {createHash} from 'node:crypto'
import {describe, expect, it} from 'vitest'
import {type Block, heading, list, table, text} from '../../../../src/report/document.js'
import {figureWithTexts} from '../../../../src/report/figures/figure.js'
import {type PageFacts, pageAssets, renderHtml} from '../../../../src/report/html/page.js'
import {FIGURE} from '../../../helpers/figures.js'

const FACTS: PageFacts = {
  title: 'bench: results/x',
  runs: [],
  command: 'rfa report results/x --html x.html',
  generator: 'rfa 0.0.0',
}
const RUN = {title: 'a run', what: 'A benchmark.', facts: [], findings: [], missing: []}

/** What stands in `<main>`. */
const bodyOf = async (...blocks: Block[]) =>
  /<main>\n([\s\S]*)\n<\/main>/.exec(await renderHtml(blocks, FACTS))![1]!

const numbers = (count: number) =>
  table(
    [
      {title: 'name', align: 'left', cell: (row: number) => `row ${row}`},
      {title: 'error\nof it', cell: row => String(row)},
    ],
    Array.from({length: count}, (_, row) => row),
  )

describe('renderHtml', async () => {
  it('renders every kind of block', async () => {
    const items = ['one', {label: 'again', command: 'rfa bench'}]
    const body = await bodyOf(
      heading(1, 'Run'),
      heading(3, 'Deep'),
      text('Words.'),
      ...list(items),
      numbers(1),
    )
    expect(body).toContain(
      '<h2 id="section-1">Run</h2>\n<h4 id="section-2">Deep</h4>\n<p>Words.</p>',
    )
    expect(body).toContain('<li>one</li><li>again: <span class="command"><code>rfa bench</code>')
    expect(body).toContain('aria-label="Table 1: Deep"')
    expect(body).toContain(
      '<th scope="col" class="n"><button type="button" class="sort">error<br>of it</button></th>',
    )
    expect(body).toContain('<tr><th scope="row">row 0</th><td class="n">0</td></tr>')
  })

  it('says of a table without rows that there are none', async () => {
    expect(await bodyOf(numbers(0))).toBe('<p>none</p>')
  })

  it('shows hostile text as it is, in every place', async () => {
    const hostile = '</script><script>alert(1)</script>\u202e\u0000=cmd()'
    const row = table([{title: hostile, cell: () => hostile}], [{}])
    const card = {
      title: hostile,
      what: hostile,
      facts: [['made', hostile] as const],
      findings: [hostile],
      missing: [hostile],
    }
    const page = await renderHtml(
      [
        heading(1, hostile),
        text(hostile),
        ...list([hostile, {label: hostile, command: hostile}]),
        row,
      ],
      {title: hostile, runs: [card, card], command: hostile, generator: 'rfa'},
    )
    expect(page.match(/<\/?script>/g)).toEqual(['<script>', '</script>'])
    for (const unseen of ['\u202e', '\u0000']) expect(page).not.toContain(unseen)
    expect(page.match(/&lt;script&gt;alert/g)!.length).toBeGreaterThanOrEqual(15)
    expect(page).toContain('\\u202e\\x00=cmd()')
  })

  it('runs its own script alone, and fetches nothing', async () => {
    const page = await renderHtml([], FACTS)
    const hash = createHash('sha256').update(pageAssets().script).digest('base64')
    expect(page).toContain(`script-src &#39;sha256-${hash}&#39;`)
    expect(page).toContain('content="default-src &#39;none&#39;;')
    expect(page).not.toMatch(/(src|href)=|url\(|@import|https?:/)
  })

  it('is known as a report by its first two lines', async () => {
    expect(await renderHtml([], FACTS)).toMatch(
      /^<!doctype html>\n<!-- written by rfa report -->\n<html lang="en">/,
    )
  })

  it('cuts tables of more cells than a page can hold, all at the same length, and says so', async () => {
    const body = await bodyOf(numbers(100), numbers(30_000), numbers(30_000))
    // 2 columns: 2 * (100 + 2 * 9950) = 40,000 cells
    expect(body.match(/<tr>/g)).toHaveLength(3 + 100 + 2 * 9950)
    expect(body.match(/9,950 of 30,000 rows, evenly chosen/g)).toHaveLength(2)
  })

  it('has a table of contents where there is more than two sections to go to', async () => {
    const headings = ['one', 'two', 'three'].map(name => heading(2, name))
    expect(await renderHtml(headings, FACTS)).toContain('<a href="#section-3">three</a>')
    expect(await renderHtml(headings.slice(1), FACTS)).not.toContain('<nav')
  })

  it('puts a run first, without frames for what it has not', async () => {
    const page = await renderHtml([], {...FACTS, runs: [RUN]})
    const card = /<section[\s\S]*<\/section>/.exec(page)![0]
    expect(card.replaceAll(/\s+/g, ' ')).toBe(
      '<section class="card"> <p>A benchmark.</p> </section>',
    )
  })

  it('folds what is found beyond six sentences and counts it beyond two hundred', async () => {
    const findings = Array.from({length: 250}, (_, at) => `finding ${at}`)
    const page = await renderHtml([], {...FACTS, runs: [{...RUN, findings}, RUN]})
    const [shown, folded] = page.split('<summary>194 more</summary>')
    expect(shown!.match(/<li>finding/g)).toHaveLength(6)
    expect(folded!.match(/<li>finding/g)).toHaveLength(194)
    expect(folded).toContain('50 more are in the tables below.')
    expect(page).toContain('<h2>a run</h2>')
  })

  it('draws figures for wide and narrow windows, with legend, table and command', async () => {
    const figure = {...FIGURE, command: 'rfa error-sweep --quick'}
    const body = await bodyOf(heading(1, 'Run'), {kind: 'figure', figure})
    expect(body).toContain('<figure id="figure-1">\n<h3>Title of it</h3>')
    expect(body.match(/<button type="button" aria-pressed="true" data-series="\d">/g)).toHaveLength(
      3,
    )
    expect(body.match(/class="drawing (wide|narrow)"><svg/g)).toHaveLength(2)
    expect(body).toContain('var(--series-')
    expect(body).toContain('aria-label="Numbers of: Title of it"')
    expect(body).toContain('<code>rfa error-sweep --quick</code>')
  })

  it('shows hostile text of figures as it is', async () => {
    const hostile = '</script><img src=x onerror="a()">\u202e'
    const figure = figureWithTexts({...FIGURE, command: 'x'}, () => hostile)
    const body = await bodyOf({kind: 'figure', figure})
    // within quoted attributes markup is text, as long as quotes are escaped
    expect(body.replaceAll(/="[^"]*"/g, '')).not.toMatch(/<img|<\/script|\u202e/)
    expect(body).toContain('\\u202e')
  })
})
