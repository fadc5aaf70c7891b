import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {renderMarkdown} from '../../../src/report/markdown.js'
import {printable, printableJson, printableStyled} from '../../../src/report/printable.js'
import {renderTerminal} from '../../../src/report/terminal.js'

describe('printable', () => {
  it.each([
    ['\u001b[31mred', '\\x1b[31mred'],
    ['bell\u0007 and delete\u007f', 'bell\\x07 and delete\\x7f'],
    ['\u009b31m of C1', '\\x9b31m of C1'],
    ['a\ttab\r', 'a\\x09tab\\x0d'],
    ['\u202egpj.exe', '\\u202egpj.exe'],
    ['zero\u200bwidth\ufeff', 'zero\\u200bwidth\\ufeff'],
    ['\u{e0041}', '\\u{e0041}'],
    ['\ud800 alone', '\\ud800 alone'],
    ['two\nlines', 'two\nlines'],
    ['Größe, 長さ, 🙂', 'Größe, 長さ, 🙂'],
  ])('writes %j as %j', (text, shown) => {
    expect(printable(text)).toBe(shown)
  })

  it('leaves bold and its end to results, and no other sequence', () => {
    expect(printableStyled('\u001b[1mhead\u001b[22m \u001b[31m')).toBe(
      '\u001b[1mhead\u001b[22m \\x1b[31m',
    )
  })
})

const HOSTILE = '\u001b[2J\u001b[1m\u0007\u007f\u009b\u202e\u200b\u{e0041}\r\n'
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

it('JSON shows nothing unprintable and stays the same value', () => {
  const value = {[HOSTILE]: [HOSTILE, '\ud800']}
  const text = printableJson(value)
  expect(text.replaceAll('\n', '')).not.toMatch(UNSEEN)
  expect(JSON.parse(text)).toEqual(value)
  fc.assert(
    fc.property(fc.json(), json => {
      expect(JSON.parse(printableJson(JSON.parse(json)))).toEqual(JSON.parse(json))
    }),
  )
})

describe('every kind of block', () => {
  const column = {title: 'a', align: 'left', priority: 0, flexible: false} as const
  const blocks = [
    {kind: 'heading', level: 1, text: HOSTILE},
    {kind: 'text', text: HOSTILE},
    {kind: 'list', items: [HOSTILE]},
    {kind: 'table', columns: [column], rows: [[HOSTILE]]},
    {kind: 'table', columns: [column, {...column, title: 'b'}], rows: [[HOSTILE, 'x'.repeat(200)]]},
  ] as const

  it.each(blocks)('reaches terminal and Markdown without a control sequence: $kind', block => {
    for (const colour of [false, true]) {
      const text = renderTerminal([block], {width: 80, colour})
      const own = text.replaceAll('\u001b[1m', '').replaceAll('\u001b[22m', '') // bold of titles
      expect(own.replaceAll('\n', '')).not.toMatch(UNSEEN)
      expect(text.split('\u001b[1m').length).toBeLessThan(4)
    }
    expect(renderMarkdown([block]).replaceAll('\n', '')).not.toMatch(UNSEEN)
  })
})

it('Markdown shows an entity as it was written', () => {
  expect(renderMarkdown([{kind: 'text', text: '&#27; &lt;b>'}])).toBe('\\&\\#27; \\&lt;b\\>\n')
})
