import {describe, expect, it} from 'vitest'
import {type ColumnSpec, type TableBlock, table} from '../../../src/report/document.js'
import {renderTable} from '../../../src/report/terminal-table.js'
import {SLOW} from '../../helpers/effort.js'

const lines = (block: TableBlock, width: number, whole = false) =>
  renderTable(block, {width, colour: false, whole}).split('\n')

it.each([500, 501, SLOW ? 130_000 : 1203])('a table of %i rows is shown in one piece', count => {
  const column = {title: 'row', align: 'right', priority: 0, flexible: false} as const
  const rows = Array.from({length: count}, (_, index) => [String(index)])
  const block = {kind: 'table', columns: [column], rows} as const
  const text = renderTable(block, {width: 80, colour: false}).split('\n')
  const width = String(count - 1).length
  expect(text.slice(0, 2)).toEqual(['row'.padStart(width), '-'.repeat(width)])
  expect(text.slice(2)).toEqual(rows.map(([text]) => text?.padStart(width)))
})

/** Heads as columns, or turned, as rows. */
function perHead(heads: number, variants: readonly string[]): TableBlock {
  const index = Array.from({length: heads}, (_, head) => head)
  const label: ColumnSpec<string> = {title: 'method', align: 'left', cell: name => name}
  const cell = (name: string, head: number) => `${name.length}.${head}`
  const byHead = index.map(head => ({
    title: `head ${head}`,
    cell: (name: string) => cell(name, head),
  }))
  const byVariant = variants.map(name => ({title: name, cell: (head: number) => cell(name, head)}))
  const head: ColumnSpec<number> = {title: 'head', cell: String}
  return {
    ...table([label, ...byHead], variants),
    everything: true,
    turned: table([head, ...byVariant], index),
  }
}

describe('a table that nothing may be left out of', () => {
  const variants = ['elu', 'favor-pos\niid\nM=256']

  it('stands as it is where it fits', () => {
    expect(lines(perHead(2, ['elu']), 80)).toEqual([
      'method  head 0  head 1',
      '------  ------  ------',
      'elu        3.0     3.1',
    ])
  })

  it('is turned where one table then is enough', () => {
    const text = lines(perHead(12, [...variants, 'a', 'b', 'c', 'd', 'e', 'f', 'g']), 64)
    expect(text).toHaveLength(3 + 1 + 12)
    expect(text.slice(0, 5)).toEqual([
      '            favor-pos',
      '                  iid',
      'head   elu      M=256     a     b     c     d     e     f     g',
      '----  ----  ---------  ----  ----  ----  ----  ----  ----  ----',
      '   0   3.0       19.0   1.0   1.0   1.0   1.0   1.0   1.0   1.0',
    ])
  })

  it.each([40, 60, 80])('becomes several tables in %i columns, with every value', width => {
    const names = Array.from({length: 40}, (_, at) => `method-${'x'.repeat(at)}`.slice(0, 20))
    const text = lines(perHead(32, names), width)
    for (const line of text) expect(line.length).toBeLessThanOrEqual(width)
    for (const name of names) {
      for (let head = 0; head < 32; head++)
        expect(text.join(' ')).toContain(` ${name.length}.${head}`)
    }
  })

  it('stays one table where nobody reads a screen', () => {
    const text = lines(perHead(40, ['elu', 'x'.repeat(200)]), 120, true)
    expect(text.filter(line => line.startsWith('-'))).toHaveLength(1)
    expect(text).toHaveLength(1 + 1 + 40)
  })
})

describe('a narrow terminal', () => {
  const columns: ColumnSpec<string>[] = [
    {title: 'name', align: 'left', cell: name => name},
    {title: 'F', priority: 1, cell: () => '512'},
    {
      title: 'rel error',
      short: {title: 'rel', cell: () => '0.25', lacks: 'spread'},
      cell: () => '0.25 [0.20, 0.30]',
    },
    {title: 'cosine', priority: 3, cell: () => '0.97'},
    {title: 'NaN', priority: 2, cell: () => '0'},
  ]
  const head = (width: number) => lines(table(columns, ['elu']), width)[0]

  it('drops what matters least, then shortens, and at last drops what comparisons need', () => {
    expect(head(60)).toBe('name    F          rel error  cosine  NaN')
    expect(head(39)).toBe('name    F          rel error  NaN')
    expect(head(28)).toBe('name    F          rel error')
    expect(head(27)).toBe('name    F   rel  NaN')
    expect(head(15)).toBe('name    F   rel')
    expect(head(14)).toBe('name   rel')
  })

  it('brings back a narrow column that fits in the place of a wide one', () => {
    const wide: ColumnSpec<string>[] = [
      {title: 'name', cell: name => name},
      {title: 'a very wide column', priority: 1, cell: () => ''},
      {title: 'narrow', priority: 2, cell: () => '1'},
    ]
    expect(lines(table(wide, ['elu']), 20)[0]).toBe('name  narrow')
  })

  it('names what short forms do not say', () => {
    expect(
      lines(table(columns, ['elu']), 20)
        .slice(3)
        .join(' '),
    ).toContain('(hidden: spread')
  })

  it('leaves out nothing where nobody reads a screen', () => {
    expect(lines(table(columns, ['elu']), 14, true)).toEqual([
      'name    F          rel error  cosine  NaN',
      '----  ---  -----------------  ------  ---',
      'elu   512  0.25 [0.20, 0.30]    0.97    0',
    ])
  })
})

it('a table without rows has no frame', () => {
  expect(lines(table([{title: 'name', cell: String}], []), 80)).toEqual(['none'])
})
