import {describe, expect, it} from 'vitest'
import {bestLegend, leastOf} from '../../../src/report/best.js'
import {type ColumnSpec, table} from '../../../src/report/document.js'
import {tableMarkup} from '../../../src/report/html/table.js'
import {renderMarkdown} from '../../../src/report/markdown.js'
import {renderTable} from '../../../src/report/terminal-table.js'

interface Row {
  group: string
  value: number | null
}
const rowsOf = (...pairs: (readonly [string, number | null])[]): Row[] =>
  pairs.map(([group, value]) => ({group, value}))

describe('leastOf', () => {
  const contest = {
    what: 'lowest value',
    rivals: ({group}: Row) => group || undefined,
    value: ({value}: Row) => value,
  }
  const near = (most: number) => ({
    what: 'they are near',
    hold: (row: Row, best: Row) => row.value! - best.value! <= most,
  })
  const marked = (rows: Row[], most = 0) => {
    const found = leastOf(most ? {...contest, ties: near(most)} : contest)(rows)
    return found && rows.flatMap((row, at) => (found.rows.has(row) ? [at] : []))
  }

  it('takes the least of each group', () => {
    expect(marked(rowsOf(['a', 2], ['b', 9], ['a', 1], ['b', 8]))).toEqual([2, 3])
  })

  it('takes all that may as well be it, and none where those are all', () => {
    const rows = rowsOf(['a', 1], ['a', 1.5], ['a', 3], ['b', 1], ['b', 1.5])
    expect(marked(rows, 1)).toEqual([0, 1])
    expect(marked(rowsOf(['a', 1], ['a', 1], ['a', 2]))).toEqual([0, 1])
    expect(marked(rowsOf(['a', 1], ['a', 1.5]), 1)).toEqual([])
    expect(marked(rowsOf(['a', 1], ['a', 1]))).toBeUndefined()
  })

  it('leaves out what takes no part, and what has no rivals', () => {
    expect(marked(rowsOf(['', 0], ['a', 2], ['a', null], ['a', 3]))).toEqual([1])
    expect(marked(rowsOf(['a', 1], ['b', 2], ['', 3], ['', 4]))).toBeUndefined()
  })

  it('takes none where the least is not known well enough to be as good as itself', () => {
    const ties = {what: 'x', hold: (row: Row, best: Row) => best.value !== 1 && row === best}
    expect(leastOf({...contest, ties})(rowsOf(['a', 1], ['a', 2]))?.rows.size).toBe(0)
  })

  it('says which ties are marked, or that all tie', () => {
    const how = (...values: number[]) =>
      leastOf({...contest, ties: near(1)})(rowsOf(...values.map(one => ['a', one] as const)))?.how
    expect(how(1, 3)).toBe('ties included (they are near)')
    expect(how(1, 2)).toBe('all tie (they are near)')
    expect(leastOf(contest)(rowsOf(['a', 1], ['a', 2]))?.how).toBe('ties included')
  })
})

describe('bestLegend', () => {
  const [rows, none] = [new Set([0]), new Set<number>()]
  const time = {rows, what: 'lowest time', how: 'ties included'}
  const open = {rows: none, what: 'lowest time', how: 'all tie'}

  it('says once what is marked', () => {
    const columns = [{best: time}, {}, {best: time}, {best: open}]
    expect(bestLegend([...columns, {best: {...time, what: 'lowest state'}}], '*')).toBe(
      '* lowest time, ties included; lowest state, ties included.',
    )
  })

  it('says why nothing is', () => {
    expect(bestLegend([{best: open}, {best: open}], '*')).toBe('No * for lowest time: all tie.')
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
      best: leastOf({what: 'lowest time', rivals: () => '', value: value => value}),
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
      '★ lowest time, ties included.',
    ])
  })

  it('has an asterisk where there is no Unicode', () => {
    expect(lines({})).toContain('row 3    * 3 ms [1, 9]    12')
    expect(lines({})).toContain('* lowest time, ties included.')
  })

  it('keeps its mark in short forms, and below each other', () => {
    expect(lines({width: 14})).toEqual([
      'name     time',
      '-------  ----',
      'row 20     20',
      'row 3     * 3',
      'row 100   100',
      '* lowest time,',
      'ties included.',
      '(hidden:',
      'interval,',
      'runs; widen',
      'the terminal',
      'or pipe to',
      'less -S)',
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
        '★ lowest time, ties included.\n',
      ].join('\n'),
    )
  })

  it('is bold behind a star in a page, and called so for those who see neither', () => {
    const {text} = tableMarkup(block, {label: 'Times'})
    expect(text).toContain(
      '<td class="n"><b class="best">3 ms [1, 9]<span class="unseen"> (best)</span></b></td>',
    )
    expect(text.match(/class="best"/g)).toHaveLength(1)
    expect(text).toContain('<p class="note">★ lowest time, ties included.</p>')
    expect(text).toContain('<td class="n">20 ms [1, 9]</td>')
  })
})
