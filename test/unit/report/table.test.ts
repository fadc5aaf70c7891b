import {describe, expect, it} from 'vitest'
import {leastOf} from '../../../src/report/best.js'
import {type ColumnSpec, table} from '../../../src/report/document.js'
import {renderMarkdown} from '../../../src/report/markdown.js'
import {significant} from '../../../src/report/numbers.js'
import {MOST_ROWS} from '../../../src/report/table.js'
import {renderTable} from '../../../src/report/terminal-table.js'

const COLUMNS: ColumnSpec<number>[] = [
  {
    title: 'error',
    cell: String,
    best: leastOf({
      what: 'lowest',
      rivals: () => 'all',
      value: row => (row === 777 ? -1 : row),
    }),
  },
]
const rows = Array.from({length: 25_000}, (_, at) => at)
const LAYOUT = {width: 80, colour: false, unicode: true}
const NOTE = 'of 25,000 rows, evenly chosen. The folder of the run has every row'

describe('a table of many rows', () => {
  it('makes texts of so many rows alone, evenly chosen, and of the best one', () => {
    let made = 0
    const counted = COLUMNS.map(own => ({
      ...own,
      cell: (row: number) => {
        made++
        return String(row)
      },
    }))
    const short = table(counted, rows, 11)
    expect(short.rows.flat()).toContain('777')
    expect(short.rows.flat()).toEqual(expect.arrayContaining(['0', '24999']))
    expect(short.rows.length).toBeLessThanOrEqual(11)
    expect(made).toBe(short.rows.length)
    expect([...short.columns[0]!.best!.rows].map(at => short.rows[at]![0])).toEqual(['777'])
    expect(table(COLUMNS, rows).rows.length).toBeLessThanOrEqual(MOST_ROWS)
  })

  it('says of how many, in Markdown and in the terminal', () => {
    const block = table(COLUMNS, rows, 11)
    expect(renderMarkdown([block])).toContain(NOTE)
    expect(renderTable(block, LAYOUT).replaceAll('\n', ' ')).toContain(NOTE)
    const whole = table(COLUMNS, rows.slice(0, 20), 20)
    expect(whole.all).toBeUndefined()
    expect(renderMarkdown([whole])).not.toContain('evenly')
  })
})

it('leaves a sparse column out where all of its cells are missing, and only there', () => {
  const columns: ColumnSpec<number | null>[] = [
    {title: 'row', cell: () => 'one'},
    {title: 'known', cell: value => significant(value), sparse: true},
  ]
  const titles = (values: (number | null)[]) => table(columns, values).columns.map(own => own.title)
  expect(titles([null, null])).toEqual(['row'])
  expect(titles([null, 0])).toEqual(['row', 'known'])
})
