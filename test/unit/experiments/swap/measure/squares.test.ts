import {describe, expect, it} from 'vitest'
import {RelativeSquares, textSquares} from '../../../../../src/experiments/swap/measure/squares.js'

describe('squares of a text', () => {
  // two texts of two blocks, three tokens of two entries; the second text has two tokens
  const sizes = {blocks: 2, length: 3, width: 2}
  const data = Float32Array.from({length: 24}, (_, at) => at)

  it('are those of its tokens, in all blocks', () => {
    const values = [12, 13, 14, 15, 18, 19, 20, 21]
    const {all, mean} = textSquares(data, sizes, 1, 2)
    expect(all).toBe(values.reduce((sum, value) => sum + value ** 2, 0))
    expect(mean).toBe(13 ** 2 + 14 ** 2 + 19 ** 2 + 20 ** 2)
  })

  it('of errors that change sign from token to token vanish in the mean', () => {
    const signs = Float32Array.of(1, -1, -1, 1)
    expect(textSquares(signs, {length: 2, width: 2}, 0, 2)).toEqual({all: 4, mean: 0})
  })
})

describe('relative squares', () => {
  const squares = new RelativeSquares({draws: 2, texts: 3})
  for (const draw of [0, 1]) {
    for (const text of [0, 1, 2]) squares.add(draw, text, (draw + 1) * (text + 1), 4)
  }

  it('are of any draw and texts', () => {
    expect(squares.relative()).toMatchReference(Math.sqrt(18 / 24), 14)
    expect(squares.relative({draw: 1})).toMatchReference(1, 14)
    expect(squares.relative({draw: 0, isIn: text => text > 0})).toMatchReference(
      Math.sqrt(5 / 8),
      14,
    )
  })
})
