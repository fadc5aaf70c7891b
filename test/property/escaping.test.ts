/** Whatever texts files hold: no table runs them, no Markdown takes them for markup, no terminal obeys them. */
import {parse} from 'csv-parse/sync'
import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {figurePoint} from '../../src/claims/figures/figure.js'
import {claimOutcome} from '../../src/claims/outcome.js'
import {claimTables} from '../../src/claims/report/tables.js'
import {formatErrorReport} from '../../src/cli/program/error-report.js'
import {allExperiments} from '../../src/experiments/index.js'
import type {Block} from '../../src/report/document.js'
import {renderHtml} from '../../src/report/html/page.js'
import {renderMarkdown} from '../../src/report/markdown.js'
import {printableJson} from '../../src/report/printable.js'
import {renderTerminal} from '../../src/report/terminal.js'
import type {CellRecord} from '../../src/results/record.js'
import {columnsOf} from '../../src/results/tables/columns.js'
import {plainCsv, toCsv} from '../../src/results/tables/csv.js'
import {FULL} from '../helpers/effort.js'
import {timed} from '../helpers/records/bench.js'
import {sweep} from '../helpers/records/error-sweep.js'
import {failed, skipped} from '../helpers/records/outcomes.js'
import {variance} from '../helpers/records/variance.js'
import {formulasOf} from '../helpers/spreadsheet.js'

const EXPERIMENTS = await allExperiments()
/** Obeyed or unseen, line ends apart. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

/** Texts that mean something to somebody. */
const hostile = fc.oneof(
  fc.string({unit: 'binary', maxLength: 20}),
  fc
    .tuple(
      fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n=', '"', ';=', ',@', ' =', "'", '\u0000'),
      fc.constantFrom('1+1', "cmd|' /c calc'!A1", 'SUM(A1)', '', '"', ';"=2', '\r\n@x', ',=3'),
    )
    .map(parts => parts.join('')),
  fc
    .array(
      fc.constantFrom(
        ...['|', '<b>', '[a](b)', '![', '`', '*', '_', '\\', '\n', '\n\n', '# ', '> ', '- ', '1. '],
        ...['---', '&lt;', '~~', '\u001b[2J', '\u001b]0;t\u0007', '\u202e', '\u200b', '\u009b1m'],
        ...['\r', 'x', '    '],
      ),
      {maxLength: 6},
    )
    .map(parts => parts.join('')),
)

/** Every text of a value behind or in place of which a hostile one may stand, replaced by one. */
function infected(value: unknown, text: string, fits: (whole: unknown) => boolean): unknown {
  const whole = structuredClone(value) as Record<string, unknown>
  const visit = (node: Record<string, unknown>) => {
    for (const [name, child] of Object.entries(node)) {
      if (typeof child === 'object' && child !== null) visit(child as Record<string, unknown>)
      if (typeof child !== 'string') continue
      node[name] = text
      if (!fits(whole)) node[name] = child
    }
    if (Array.isArray(node) || Object.hasOwn(node, text)) return
    Object.defineProperty(node, text, {
      value: text,
      ...{enumerable: true, configurable: true, writable: true},
    })
    if (!fits(whole)) delete node[text]
  }
  visit(whole)
  return whole
}

/** No cell is a formula, and every line has as many cells as the first. */
function expectCalm(csv: string): void {
  expect(formulasOf(csv)).toEqual([])
  const rows: string[][] = parse(csv, {relax_column_count: true})
  expect(new Set(rows.map(({length}) => length)).size).toBeLessThanOrEqual(1)
  // where somebody's program takes semicolons or tabs for ends of cells
  expect(csv.replaceAll(/"(?:[^"]|"")*"/g, '')).not.toMatch(/[;\t\r]/)
}

describe('CSV', () => {
  const records: readonly CellRecord[] = [sweep(), timed(), variance()]
  it.each(records.flatMap(one => [one, failed(one), skipped(one)]))(
    'of $schema, $status, runs nothing',
    one => {
      const {record, tables} = EXPERIMENTS.find(({schema}) => schema === one.schema)!
      const fits = (whole: unknown) => record.safeParse(whole).success
      fc.assert(
        fc.property(hostile, text => {
          const said = infected(one, text, fits) as CellRecord
          for (const table of tables) expectCalm(toCsv([said], table))
        }),
        {numRuns: FULL ? 100 : 6, seed: 15},
      )
    },
  )

  it('of claims and figures runs nothing', () => {
    const outcome = (text: string) => ({
      ...Object.fromEntries(
        columnsOf(claimOutcome).map(({path: [name = ''], kind}) => [
          name,
          kind === 'list' ? [text] : text,
        ]),
      ),
      quantities: [{name: text, unit: text, value: 1}],
      tests: [{name: text, method: text}],
    })
    fc.assert(
      fc.property(hostile, text => {
        for (const table of claimTables([outcome(text) as never])) expectCalm(table.text)
        const point = Object.fromEntries(Object.keys(figurePoint.shape).map(name => [name, text]))
        expectCalm(plainCsv(columnsOf(figurePoint), [point]))
      }),
      {numRuns: 100, seed: 15},
    )
  })
})

const blocks: fc.Arbitrary<{blocks: Block[]; text: string}> = hostile.map(text => ({
  text,
  blocks: [
    {kind: 'heading', level: 2, text},
    {kind: 'text', text},
    {kind: 'list', items: [text, {label: text, command: text}]},
    {
      kind: 'table',
      columns: [text, 'b'].map(title => ({title, align: 'left', priority: 0, flexible: true})),
      rows: [
        [text, 'x'],
        ['y', text],
      ],
    },
  ],
}))

describe('a report', () => {
  it('in Markdown has its own markup only', () => {
    fc.assert(
      fc.property(blocks, ({blocks: all}) => {
        const markdown = renderMarkdown(all)
        expect(markdown).not.toMatch(UNSEEN)
        // what is left without escaped characters, and without the markup of the blocks themselves
        const [heading = '', text = '', list = '', table = ''] = markdown.trimEnd().split('\n\n')
        const literal = (part: string) => part.replaceAll(/\\[!-/:-@[-`{-~]/g, '')
        for (const part of [heading.slice(3), text, list]) {
          expect(literal(part)).not.toMatch(/[`*_<>|[\]#~&\\]/)
        }
        expect(heading.startsWith('## ')).toBe(true)
        expect(text).not.toMatch(/^(\s|[-+](\s|$)|-[-\s]*$|\d{1,9}[.)](\s|$))/)
        const items = list.split('\n')
        expect(items).toHaveLength(2)
        for (const item of items) {
          expect(item).not.toMatch(/^- (\s{4}|[-+](\s|$)|\d{1,9}[.)](\s|$))/)
        }
        const rows = table.split('\n')
        expect(rows).toHaveLength(4)
        for (const row of rows) expect(literal(row).split('|')).toHaveLength(4)
      }),
      {numRuns: FULL ? 2000 : 200, seed: 15},
    )
  })

  it('as a page has no elements but its own', async () => {
    const facts = (text: string) => {
      const run = {title: text, what: text, facts: [], findings: [text], missing: [text]}
      return {title: text, runs: [run], command: text, generator: 'rfa'}
    }
    await fc.assert(
      fc.asyncProperty(blocks, async ({blocks: all, text}) => {
        const page = await renderHtml(all, facts(text))
        expect(page).not.toMatch(UNSEEN)
        expect(page).not.toMatch(/<(?:b|img|iframe)\b(?!di)/)
      }),
      {numRuns: FULL ? 300 : 20, seed: 15},
    )
  })

  it('in a terminal has no sequences but bold ones', () => {
    fc.assert(
      fc.property(blocks, fc.constantFrom(20, 80), ({blocks: all}, width) => {
        expect(renderTerminal(all, {width, colour: false})).not.toMatch(UNSEEN)
        const bold = renderTerminal(all, {width, colour: true})
        // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
        expect(bold.replaceAll(/\u001b\[(1|22)m/g, '')).not.toMatch(UNSEEN)
      }),
      {numRuns: FULL ? 1000 : 100, seed: 15},
    )
  })
})

it('errors and JSON show texts from files without obeying them', () => {
  fc.assert(
    fc.property(hostile, text => {
      const told = {code: 'BAD_FILE', message: text, exit: 3, suggestions: [text, text]}
      expect(formatErrorReport(told)).not.toMatch(UNSEEN)
      const json = printableJson({[text]: [text]})
      expect(json).not.toMatch(UNSEEN)
      expect(Object.entries(JSON.parse(json))).toEqual([[text, [text]]])
    }),
    {numRuns: FULL ? 2000 : 200, seed: 15},
  )
})
