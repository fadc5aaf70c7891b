import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {ASCII, BRAILLE, Canvas} from '../../../../src/report/plot/canvas.js'

const plain = (text: string) => text

/** Dots that a line of Braille shows, by the numbers of the standard: 1 2 3 7 to the left, 4 5 6 8 to the right. */
function dotsOf(lines: readonly string[]): string[] {
  const NUMBERS = [1, 2, 3, 7, 4, 5, 6, 8]
  const BITS = [1, 2, 3, 4, 5, 6, 7, 8].map(number => 1 << (number - 1))
  return lines.flatMap((line, row) =>
    [...line].flatMap((character, column) => {
      const bits = character === ' ' ? 0 : character.codePointAt(0)! - 0x2800
      return NUMBERS.flatMap((number, place) => {
        if (!(bits & BITS[number - 1]!)) return []
        return [`${2 * column + Math.floor(place / 4)},${4 * row + (place % 4)}`]
      })
    }),
  )
}

describe('a canvas', () => {
  it('shows each dot where it was drawn, and no other', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({min: -3, max: 12}), fc.integer({min: -3, max: 14}))),
        places => {
          const canvas = new Canvas(5, 3, BRAILLE)
          for (const [x, y] of places) canvas.dot(x, y, null)
          const inside = places.filter(([x, y]) => x >= 0 && x < 10 && y >= 0 && y < 12)
          const wanted = new Set(inside.map(([x, y]) => `${x},${y}`))
          expect(new Set(dotsOf(canvas.lines(plain)))).toEqual(wanted)
        },
      ),
    )
  })

  it('joins places by lines without gaps, ends included', () => {
    const canvas = new Canvas(7, 4, ASCII)
    canvas.line([0, 3], [6, 1], {ink: null})
    canvas.line([0, 0], [0, 0], {ink: null})
    expect(canvas.lines(plain)).toEqual(['.      ', '     ..', '  ...  ', '..     '])
  })

  it('leaves the gaps of a pattern', () => {
    const canvas = new Canvas(9, 1, ASCII)
    canvas.line([0, 0], [8, 0], {ink: null, pattern: [2, 1, 1, 1]})
    expect(canvas.lines(plain)).toEqual(['.. . .. .'])
  })

  it('draws in free cells alone where that is asked for, through its own', () => {
    const canvas = new Canvas(4, 1, BRAILLE)
    canvas.dot(4, 3, null)
    canvas.line([0, 0], [7, 0], {ink: null, free: true})
    expect(canvas.lines(plain)).toEqual(['⠉⠉⡀⠉'])
  })

  it('paints cells in the colour of what was drawn last, characters before dots', () => {
    const canvas = new Canvas(3, 1, BRAILLE)
    canvas.line([0, 0], [5, 0], {ink: 1})
    canvas.dot(1, 0, 2)
    canvas.mark(4, 3, 'a', 3)
    expect(canvas.characterAt(5, 0)).toBe('a')
    expect(canvas.lines((text, ink) => `${ink}${text}`)).toEqual(['2⠉1⠉3a'])
  })
})
