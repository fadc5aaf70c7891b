import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import {tf} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {originalOf} from '../../../../../src/experiments/swap/measure/context.js'
import {natsByPosition, positionsOf} from '../../../../../src/experiments/swap/measure/positions.js'
import {tokenDistances} from '../../../../../src/experiments/swap/measure/token-squares.js'
import {mean} from '../../../../../src/stats/index.js'
import {swapCellOf} from '../../../../helpers/swap-cells.js'

/** A text that adds its position to the loss at every place, times a factor. */
const text = (places: number, factor = 1) => ({
  ...{original: 0, exchanged: 0, kl: 0, agreement: 1},
  added: Float64Array.from({length: places}, (_, place) => factor * (place + 1)),
})

describe('nats by position', () => {
  it('are means over bins that double, and over the tokens in them', () => {
    const found = natsByPosition([
      [text(1), text(6)],
      [text(1, 3), text(6, 3)],
    ])
    // draws add 1 and 3 times: 2 in the mean; bins 1, 2, 3 to 4, 5 to 6
    expect(found.map(effect => effect.mean)).toEqual([2, 4, 7, 11])
    // of two texts: one has a single place in 3 to 4, the other two
    const uneven = natsByPosition([[text(3, 6), text(4)]])
    expect(uneven[2]!.mean!).toMatchReference((18 + 3 + 4) / 3, 14)
    // a single text has no interval over texts
    expect(found.map(({low}) => low === null)).toEqual([false, true, true, true])
  })
})

describe('effects by position', () => {
  beforeAll(() => useBackend('cpu'))
  afterAll(() => tf.disposeVariables())

  it('have the errors of the hidden states in each bin, in place of padding', async () => {
    const original = await originalOf(await swapCellOf('elu', {count: 2}))
    const bin = (place: number) => Math.ceil(Math.log2(place + 1))
    const finals = original.batches.map(({hidden}) => {
      const [, length] = hidden.at(-1)!.shape
      const factors = Array.from({length}, (_, place) => 1 + bin(place))
      return tf.mul(hidden.at(-1)!, tf.tensor3d(factors, [1, length, 1])) as tf.Tensor3D
    })
    const distances = finals.map((own, at) =>
      tokenDistances(own, original.batches[at]!.hidden.at(-1)!),
    )
    const found = positionsOf(original, [distances], [])
    expect(found.map(({first, last}) => [first, last])).toEqual([
      [1, 1],
      [2, 2],
      [3, 4],
      [5, 8],
      [9, 16],
      [17, 32],
      [33, 40],
    ])
    const width = finals[0]!.shape[2]
    found.forEach(({hidden_error}, at) => {
      // |x (1 + bin) - x| / |x|: float32 rounds the product, the difference, and both norms of so many entries
      const bound = 2 ** -24 * (1 + 2 * at + at * (width + 2))
      expect(Math.abs(hidden_error! - at)).toBeLessThanOrEqual(bound)
    })
    expect(found.every(({nats_added, texts}) => nats_added === null && texts === 2)).toBe(true)
    expect(mean(found.map(({texts}) => texts))).toBe(2)
    tf.dispose(finals)
  })
})
