import {describe, expect, it} from 'vitest'
import {forEachError} from '../../../../../src/experiments/swap/measure/attention-errors.js'
import {partsOf} from '../../../../../src/experiments/swap/measure/parts.js'
import {RelativeSquares} from '../../../../../src/experiments/swap/measure/squares.js'
import {mean} from '../../../../../src/stats/index.js'

const [DRAWS, TEXTS] = [2, 25]

/** Text t of draw d loses 100 d + t and has a squared error of so much, of a size of 1. */
function partsOfTexts(tokens = Array.from({length: TEXTS}, () => 1)) {
  const lost = (draw: number, text: number) => 100 * draw + text
  const squares = () => {
    const own = new RelativeSquares({draws: DRAWS, texts: TEXTS})
    for (let draw = 0; draw < DRAWS; draw++) {
      for (let text = 0; text < TEXTS; text++) own.add(draw, text, lost(draw, text), 1)
    }
    return own
  }
  const damage = Array.from({length: DRAWS}, (_, draw) =>
    Array.from({length: TEXTS}, (_, text) => lost(draw, text)),
  )
  return partsOf({damage, tokens, hidden: [undefined, squares()], attention: forEachError(squares)})
}

describe('parts', () => {
  it('are of every tenth text, for each draw', () => {
    const parts = partsOfTexts()
    expect(parts.length).toBe(DRAWS * 10)
    for (const {draw, group, damage, hidden_error, attention_errors} of parts) {
      const texts = [group, group + 10, group + 20].filter(text => text < TEXTS)
      const lost = mean(texts.map(text => 100 * draw + text))
      expect(damage).toMatchReference(lost, 5)
      expect(hidden_error[0]).toBe(0)
      // root of the mean square, in six digits
      const error = Number(Math.sqrt(lost).toPrecision(6))
      expect(hidden_error[1]).toBe(error)
      expect(Object.values(attention_errors)).toEqual([error, error, error, error])
    }
  })

  it('count texts by their tokens in what is lost', () => {
    const tokens = Array.from({length: TEXTS}, (_, text) => (text < 10 ? 3 : 1))
    const own = partsOfTexts(tokens).find(({draw, group}) => draw === 0 && group === 7)!
    expect(own.damage).toBe((3 * 7 + 17) / 4)
  })

  it('of few texts are single texts', () => {
    const alone = new RelativeSquares({draws: 1, texts: 3})
    for (const text of [0, 1, 2]) alone.add(0, text, text, 1)
    const found = partsOf({
      damage: [[0, 1, 2]],
      tokens: [4, 2, 1],
      hidden: [],
      attention: forEachError(() => alone),
    })
    expect(found.map(({group, damage}) => [group, damage])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ])
  })
})
