import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {wrap, wrapHard} from '../../../src/report/wrap.js'

describe('wrap', () => {
  it('keeps the words, and lines within the width unless one word is longer', () => {
    const words = fc.array(fc.stringMatching(/^\w{1,13}$/), {minLength: 1})
    fc.assert(
      fc.property(words, fc.integer({min: 1, max: 31}), (parts, width) => {
        const lines = wrap(parts.join(' '), width)
        expect(lines.join(' ')).toBe(parts.join(' '))
        for (const line of lines) expect(line.length <= width || !line.includes(' ')).toBe(true)
      }),
    )
  })

  it('keeps a percent sign with its number', () => {
    expect(wrap('the 95 % interval', 7)).toEqual(['the', '95 %', 'interval'])
  })
})

describe('wrapHard', () => {
  it('cuts words that are longer than a line, and keeps every character', () => {
    const words = fc.array(fc.stringMatching(/^\w{1,40}$/), {minLength: 1})
    fc.assert(
      fc.property(words, fc.integer({min: 1, max: 31}), (parts, width) => {
        const lines = wrapHard(parts.join(' '), width)
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width)
        expect(lines.join('').replaceAll(' ', '')).toBe(parts.join(''))
      }),
    )
  })
})
