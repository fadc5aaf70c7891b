import {describe, expect, it} from 'vitest'
import {bestLegend, leastAmong} from '../../../src/report/best.js'
import {type ColumnSpec, table} from '../../../src/report/document.js'
import {tableMarkup} from '../../../src/report/html/table.js'
import {renderMarkdown} from '../../../src/report/markdown.js'
import {renderTable} from '../../../src/report/terminal-table.js'

interface Row {
  group: string
  value: number | null
}
const rowsOf = (...pairs: [string, number | null][]): Row[] =>
  pairs.map(([group, value]) => ({group, value}))

describe('leastAmong', () => {
  const contest = {rivals: ({group}: Row) => group || undefined, value: ({value}: Row) => value}
  const marked = (rows: Row[], near = 0) => {
    const ties = (row: Row, best: Row) => row.value! - best.value! <= near
    const found = leastAmong(rows, near ? {...contest, ties} : contest)
    return found && rows.flatMap((row, at) => (found.has(row) ? [at] : []))
  }

  it('takes the least of each group', () => {
    expect(marked(rowsOf(['a', 2], ['b', 9], ['a', 1], ['b', 8]))).toEqual([2, 3])
  })

  it('takes all that may as well be it, and none where those are all', () => {
    const rows = rowsOf(['a', 1], ['a', 1.5], ['a', 3], ['b', 1], ['b', 1.5])
    expect(marked(rows, 1)).toEqual([0, 1])
    expect(marked(rowsOf(['a', 1], ['a', 1], ['a', 2]))).toEqual([0, 1])
    expect(marked(rowsOf(['a', 1], ['a', 1]))).toEqual([])
  })

  it('leaves out what takes no part, and what has no rivals', () => {
    expect(marked(rowsOf(['', 0], ['a', 2], ['a', null], ['a', 3]))).toEqual([1])
    expect(marked(rowsOf(['a', 1], ['b', 2], ['', 3], ['', 4]))).toBeUndefined()
  })

  it('takes none where the least is not known well enough to be as good as itself', () => {
    const ties = (row: Row, best: Row) => best.value !== 1 && row === best
    expect(leastAmong(rowsOf(['a', 1], ['a', 2]), {...contest, ties})?.size).toBe(0)
  })
})

describe('bestLegend', () => {
  const rows = new Set([0])

  it('says once what is marked, and how others come to be', () => {
    const time = {rows, what: 'least time', ties: 'intervals overlap'}
    const columns = [{best: time}, {}, {best: {...time, rows: new Set<number>()}}]
    expect(bestLegend([...columns, {best: {rows, what: 'least state'}}], '*')).toBe(
      '* best: least time, with rivals not distinguishable from it (intervals overlap) unless that is all of them; least state.',
    )
  })

  it('says what is not marked for noise', () => {
    const none = {rows: new Set<number>(), what: 'least time'}
    expect(bestLegend([{best: {...none, ties: 'intervals overlap'}}], '*')).toBe(
      'Not marked: least time, as no rival is distinguishable from it (intervals overlap).',
    )
    expect(bestLegend([{best: none}], '*')).toBeUndefined()
    expect(bestLegend([{}], '*')).toBeUndefined()
  })
})

describe('the best value', () => {
  const columns: ColumnSpec<number>[] = [
    {title: 'name', align: 'left', cell: value => `row ${value}`},
    {
      title: 'time',
      cell: value => `${value} ms [1, 9]`,
      short: {cell: value => String(value), lacks: 'interval'},
      best: {
        what: 'least time',
        among: rows => leastAmong(rows, {rivals: () => '', value: value => value}),
      },
    },
    {title: 'runs', priority: 2, cell: () => '12'},
  ]
  const block = table(columns, [20, 3, 100])
  const lines = (layout: Partial<Parameters<typeof renderTable>[1]>) =>
    renderTable(block, {width: 80, colour: false, ...layout}).split('\n')

  it('has a star before it in a terminal, with the numbers in line, and says what that is', () => {
    expect(lines({unicode: true})).toEqual([
      'name              time  runs',
      '-------  -------------  ----',
      'row 20    20 ms [1, 9]    12',
      'row 3    ★ 3 ms [1, 9]    12',
      'row 100  100 ms [1, 9]    12',
      '★ best: least time.',
    ])
  })

  it('has an asterisk where there is no Unicode', () => {
    expect(lines({})).toContain('row 3    * 3 ms [1, 9]    12')
    expect(lines({})).toContain('* best: least time.')
  })

  it('keeps its mark in short forms, and below each other', () => {
    expect(lines({width: 14})).toEqual([
      'name     time',
      '-------  ----',
      'row 20     20',
      'row 3     * 3',
      'row 100   100',
      '* best: least',
      'time.',
      '(too wide to',
      'show:',
      'interval,',
      'runs; a wider',
      'terminal, or a',
      'pipe to less',
      '-S, shows all)',
    ])
    expect(lines({width: 8})).toContain('time  * 3')
  })

  it('is bold besides where escape sequences are welcome, in every part of a long table', () => {
    expect(lines({colour: true}).filter(line => line.includes('\u001b[1m*'))).toEqual([
      'row 3    \u001b[1m* 3 ms [1, 9]\u001b[22m    12',
    ])
    const many = table(columns, [...Array.from({length: 600}, (_, at) => at + 2), 1])
    const shown = renderTable(many, {width: 80, colour: true}).split('\n')
    expect(shown.filter(line => line.includes('\u001b[1m*'))).toHaveLength(1)
    expect(shown.at(-2)).toContain('* 1 ms')
  })

  it('is bold behind a star in Markdown', () => {
    expect(renderMarkdown([block])).toBe(
      [
        '| name | time | runs |',
        '| --- | ---: | ---: |',
        '| row 20 | 20 ms \\[1, 9\\] | 12 |',
        '| row 3 | ★ **3 ms \\[1, 9\\]** | 12 |',
        '| row 100 | 100 ms \\[1, 9\\] | 12 |',
        '',
        '★ best: least time.\n',
      ].join('\n'),
    )
  })

  it('is bold behind a star in a page, and called so for those who see neither', () => {
    const {text} = tableMarkup(block, {label: 'Times'})
    expect(text).toContain(
      '<td class="n"><b class="best">3 ms [1, 9]<span class="unseen"> (best)</span></b></td>',
    )
    expect(text.match(/class="best"/g)).toHaveLength(1)
    expect(text).toContain('<p class="note">★ best: least time.</p>')
    expect(text).toContain('<td class="n">20 ms [1, 9]</td>')
  })
})
