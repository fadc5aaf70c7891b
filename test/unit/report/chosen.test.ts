import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {reportFlags} from '../../../src/cli/flags/figures.js'
import {ERROR_SWEEP} from '../../../src/cli/plans/error-sweep.js'
import {errorSweepReport} from '../../../src/experiments/error-sweep/report/report.js'
import {type Choice, chosenTables} from '../../../src/report/chosen.js'
import {type Block, heading, list, table, text} from '../../../src/report/document.js'
import {latexTables} from '../../../src/report/latex.js'
import {renderMarkdown} from '../../../src/report/markdown.js'
import {deterministic, sweep} from '../../helpers/records/error-sweep.js'

interface Row {
  method: string
  M: number
  error: number
}

const SPARSE = table(
  [
    {title: 'method', align: 'left', cell: ([method]: string[]) => method!},
    {title: 'M', cell: row => row[1]!},
    {title: 'layer', cell: row => row[2]!},
    {title: 'gain', cell: row => row[3]!},
  ],
  [
    ['rfa', '16', '0', '-0.5'],
    ['rfa', '64', '3', '0.25'],
    ['elu', '-', '0', '-'],
  ],
)

const ROWS: Row[] = [
  {method: 'elu', M: 16, error: 0.5},
  {method: 'elu', M: 64, error: 0.25},
  {method: 'rfa', M: 64, error: 0.125},
]

const REPORT: Block[] = [
  heading(1, 'error-sweep: results/run'),
  text('What was found.'),
  heading(2, 'Errors'),
  table(
    [
      {title: 'method', align: 'left', cell: ({method}: Row) => method},
      {title: 'M', cell: ({M}: Row) => String(M)},
      {title: 'rel L2\nmedian', cell: ({error}: Row) => String(error)},
      {title: 'seed', cell: ({M}: Row) => String(M + 1)},
    ],
    ROWS,
  ),
  heading(2, 'Notes'),
  ...list(['a note']),
  heading(2, 'Growth'),
  table(
    [
      {title: 'method', align: 'left', cell: ({method}: Row) => method},
      {title: 'slope', cell: () => '1.0'},
    ],
    ROWS.slice(1),
  ),
]

const chosen = (columns: string[], pivot?: string) => chosenTables(REPORT, {columns, pivot})
const shown = (columns: string[], pivot?: string) =>
  chosen(columns, pivot).flatMap(block =>
    block.kind === 'table' ? [[block.columns.map(({title}) => title), ...block.rows]] : [],
  )

describe('tables with chosen columns', () => {
  it('have these columns in this order, under the headings of the table, and nothing else is left', () => {
    expect(shown(['rel-l2 median', 'METHOD'])).toEqual([
      [
        ['rel L2\nmedian', 'method'],
        ['0.5', 'elu'],
        ['0.25', 'elu'],
        ['0.125', 'rfa'],
      ],
    ])
    const kinds = chosen(['M', 'method']).map(block =>
      block.kind === 'heading' ? block.text : block.kind,
    )
    expect(kinds).toEqual(['error-sweep: results/run', 'Errors', 'table'])
    expect(shown(['method'])).toHaveLength(2)
    expect(shown(['num_features', 'method'])).toEqual(shown(['M', 'method']))
    expect(chosenTables(REPORT, {})).toBe(REPORT)
  })

  it('have the values of one column side by side, missing ones empty', () => {
    expect(shown(['method', 'rel L2 median'], 'M')).toEqual([
      [
        ['method', 'M=16', 'M=64'],
        ['elu', '0.5', '0.25'],
        ['rfa', '', '0.125'],
      ],
    ])
    expect(shown(['M', 'rel L2 median'], 'method')).toEqual([
      [
        ['M', 'elu', 'rfa'],
        ['16', '0.5', ''],
        ['64', '0.25', '0.125'],
      ],
    ])
  })

  it('name the values after the column of the table, however it was typed, and rows without one', () => {
    const titles = (columns: string[], pivot: string) => {
      const [block] = chosenTables([SPARSE], {columns, pivot})
      return block?.kind === 'table' ? block.columns.map(({title}) => title) : []
    }
    const own = ['method', 'M=16', 'M=64', 'no M']
    expect(titles(['method', 'gain'], 'M')).toEqual(own)
    expect(titles(['method', 'M', 'gain'], 'm')).toEqual(own)
    expect(titles(['Method', 'num_features', 'GAIN'], 'M')).toEqual(own)
    expect(titles(['method', 'gain'], 'LAYER')).toEqual(['method', 'layer 0', 'layer 3'])
  })

  it.each([
    ['help', reportFlags.pivot.description],
    ['docs/runs.md', readFileSync('docs/runs.md', 'utf8')],
  ])('are those of a sweep with default projections by the example of %s', (_, words = '') => {
    const [, columns, pivot] = /--columns "([^"]+)" --pivot (\w+)/.exec(words) ?? []
    const {projections, numFeatures} = ERROR_SWEEP.standard
    const records = projections.flatMap(projection =>
      numFeatures.map(num_features => sweep({projection, num_features})),
    )
    const report = errorSweepReport([...records, deterministic('elu')])
    const tables = chosenTables(report, {columns: columns?.split(','), pivot})
    const [block] = tables.filter(({kind}) => kind === 'table')
    const titles = block?.kind === 'table' && block.columns.map(({title}) => title)
    expect(titles).toEqual(['method', 'projection', 'M=64', 'M=256', 'M=1024', 'no M'])
    expect(block?.kind === 'table' && block.rows.map(row => row.slice(0, 2))).toEqual([
      ['favor-pos', 'iid'],
      ['favor-pos', 'orth'],
      ['elu', '-'],
    ])
  })

  it('are the same in Markdown and LaTeX', () => {
    const blocks = chosen(['method', 'rel L2 median'], 'M')
    expect(renderMarkdown(blocks)).toMatch(/\| method +\| M=16 +\| M=64 +\|\n/)
    const [own] = latexTables(blocks)
    expect(own!.name).toBe('errors')
    expect(own!.text).toContain('method & M=16 & M=64 \\\\')
    expect(own!.text).toContain('rfa &  & 0.125 \\\\')
  })

  const refusal = (choice: Choice): {message: string; suggestions: readonly string[]} => {
    try {
      chosenTables(REPORT, choice)
    } catch (error) {
      return error as {message: string; suggestions: readonly string[]}
    }
    throw new Error('expected a refusal')
  }

  it('are refused with the columns that there are, and with what was meant', () => {
    const unknown = refusal({columns: ['method', 'slop']})
    expect(unknown.message).toMatch(
      /^--columns: expected one of the columns method, M, rel L2 median/,
    )
    expect(unknown.suggestions).toContain('did you mean slope?')
    expect(refusal({columns: ['method', 'M'], pivot: 'sede'}).message).toMatch(
      /^--pivot: expected one/,
    )
    const apart = refusal({columns: ['slope', 'seed']})
    expect(apart.message).toBe('--columns: expected columns of one table, got slope, seed')
    expect(apart.suggestions).toEqual(['tables with slope have method, slope'])
    const several = refusal({columns: ['method', 'rel L2 median'], pivot: 'method'})
    expect(several.message).toBe('--pivot: expected one row for elu, got several')
    expect(several.suggestions[0]).toBe('add a column that distinguishes them: M, seed')
    const retyped = refusal({columns: ['method', 'Rel-L2 Median'], pivot: 'METHOD'})
    expect(retyped.suggestions).toEqual(several.suggestions)
  })

  it('are refused where the pivot is also what would stand in its columns', () => {
    const last = refusal({columns: ['method', 'seed', 'm'], pivot: 'num-features'})
    expect(last.message).toBe(
      '--columns: expected a last column other than that of --pivot, to stand in its columns, got method, seed, m',
    )
    expect(last.suggestions).toEqual(['write --columns "method,m,seed" --pivot "m"'])
    expect(shown(['method', 'm', 'seed'], 'm')[0]![0]).toEqual(['method', 'M=16', 'M=64'])
    const alone = refusal({columns: ['M'], pivot: 'M'})
    expect(alone.suggestions).toEqual(['write --columns "M,NAME" --pivot "M"'])
  })
})
