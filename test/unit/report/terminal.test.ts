import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {heading, list, table, text} from '../../../src/report/document.js'
import {renderTerminal} from '../../../src/report/terminal.js'

interface Row {
  name: string
  error: string
  note: string
}

const ROWS: Row[] = [
  {name: 'elu', error: '0.45', note: 'a deterministic map'},
  {name: 'favor-pos', error: '0.125', note: ''},
]

const TABLE = table<Row>(
  [
    {title: 'name', align: 'left', cell: ({name}) => name},
    {title: 'error', cell: ({error}) => error},
    {title: 'note', align: 'left', priority: 2, cell: ({note}) => note},
  ],
  ROWS,
)

const at = (width: number) => renderTerminal([TABLE], {width, colour: false})

describe('renderTerminal', () => {
  it('breaks items, but never a command, which could not be copied', () => {
    const items = ['words of an item', {label: 'resume with', command: 'rfa bench --resume'}]
    expect(renderTerminal(list(items), {width: 12, colour: false})).toBe(
      ['- words of', '  an item', '- resume with: rfa bench --resume'].join('\n'),
    )
  })

  it('aligns text left and numbers right, under a rule', () => {
    expect(at(80)).toBe(
      [
        'name       error  note',
        '---------  -----  -------------------',
        'elu         0.45  a deterministic map',
        'favor-pos  0.125',
      ].join('\n'),
    )
  })

  it('drops the least important columns of a narrow terminal and names them', () => {
    expect(at(30)).toBe(
      [
        'name       error',
        '---------  -----',
        'elu         0.45',
        'favor-pos  0.125',
        '(hidden: note; widen the',
        'terminal or pipe to less -S)',
      ].join('\n'),
    )
  })

  it('puts cells below each other where even the important columns are too wide', () => {
    expect(at(15)).toBe(
      [
        'name   elu',
        'error  0.45',
        '',
        'name   favor-pos',
        'error  0.125',
        '(hidden: note;',
        'widen the',
        'terminal or',
        'pipe to less',
        '-S)',
      ].join('\n'),
    )
  })

  it('breaks long texts before it drops anything', () => {
    const quirk = 'adds a small epsilon to every feature and so pulls the output to the mean'
    const block = table(
      [
        {title: 'preset', align: 'left', cell: () => 'hku'},
        {title: 'quirk', flexible: true, priority: 1, cell: () => quirk},
      ],
      [{}],
    )
    expect(renderTerminal([block], {width: 40, colour: false})).toBe(
      [
        'preset  quirk',
        '------  --------------------------------',
        'hku     adds a small epsilon to every',
        '        feature and so pulls the output',
        '        to the mean',
      ].join('\n'),
    )
  })

  it('leaves out a column in which no row has anything to tell', () => {
    const block = table(
      [
        {title: 'name', align: 'left', cell: ({name}: Row) => name},
        {title: 'NaN %', cell: () => '0', tells: () => false},
      ],
      ROWS,
    )
    expect(renderTerminal([block], {width: 80, colour: false})).not.toContain('NaN')
  })

  it('separates blocks by one empty line and indents items', () => {
    const blocks = [heading(1, 'Title'), text('one two three'), ...list(['four five six'])]
    expect(renderTerminal(blocks, {width: 9, colour: false})).toBe(
      'Title\n\none two\nthree\n\n- four\n  five\n  six',
    )
  })

  it('writes escape sequences only where colour is wanted', () => {
    const blocks = [heading(1, 'Title'), TABLE]
    expect(renderTerminal(blocks, {width: 80, colour: false})).not.toContain('\u001b')
    expect(renderTerminal(blocks, {width: 80, colour: true})).toContain('\u001b[1mTitle\u001b[22m')
  })

  it('never writes a wider line than asked while the important columns fit', () => {
    fc.assert(
      fc.property(fc.integer({min: 24, max: 80}), width => {
        for (const line of at(width).split('\n')) expect(line.length).toBeLessThanOrEqual(width)
      }),
    )
  })
})

describe('list', () => {
  it('is nothing when there is nothing to list', () => {
    expect(list([])).toEqual([])
  })
})
