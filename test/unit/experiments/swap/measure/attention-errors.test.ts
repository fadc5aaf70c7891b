import {beforeAll, describe, expect, it} from 'vitest'
import {tf} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {AttentionErrors} from '../../../../../src/experiments/swap/measure/attention-errors.js'
import type {OriginalBatch} from '../../../../../src/experiments/swap/measure/context.js'
import {exactLayerAttention, type ModelLayer} from '../../../../../src/model/index.js'
import {normals, randomStream} from '../../../../../src/random/index.js'

const [heads, headDim] = [2, 3]
const width = heads * headDim
const context = {layer: 0, causal: true, scale: 1}

function drawn(name: string, count: number): Float32Array {
  return Float32Array.from(normals(randomStream(3, name), count))
}

/** A batch, and what attention reads in it. */
function batchOf(name: string, texts: number[], lengths: number[], length: number) {
  const batch = texts.length
  const tokens = {ids: new Int32Array(batch * length), batch, length, lengths}
  const numbers = (what: string) => drawn(`${name} ${what}`, batch * length * width)
  const stream = tf.tensor3d(numbers('stream'), [batch, length, width])
  const original: OriginalBatch = {tokens, texts, hidden: [stream], squares: []}
  const side = (what: string) => tf.tensor4d(numbers(what), [batch, heads, length, headDim])
  // values are positive, so that means over tokens cancel nothing
  const inputs = [side('query'), side('key'), tf.abs(side('value')) as tf.Tensor4D] as const
  return {original, inputs}
}

/** Without padding: the sum of squares of a tensor, `[B, blocks, L, width]`. */
function sizeOf(x: tf.Tensor, {batch, length, lengths}: OriginalBatch['tokens']): number {
  const data = x.dataSync<'float32'>()
  const blocks = x.rank === 4 ? x.shape[1]! : 1
  const row = data.length / (batch * blocks * length)
  return data.reduce((sum, value, at) => {
    const place = Math.floor(at / row) % length
    const text = Math.floor(at / (row * length * blocks))
    return place < lengths[text]! ? sum + value ** 2 : sum
  }, 0)
}

describe('errors of attention', () => {
  beforeAll(() => useBackend('cpu'))

  it('of outputs that are too large by a factor are that factor, in every draw and batch', () => {
    const batches = [batchOf('a', [2, 0], [4, 2], 4), batchOf('b', [1], [5], 5)]
    // heads side by side: of the same norm
    const layer: ModelLayer = {
      forward: hidden => hidden,
      project: x => tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [x.shape[0], x.shape[2], width]),
      dispose: () => undefined,
    }
    const factors = [0.5, 1]
    const measured = {batches: batches.map(({original}) => original), draws: 2, texts: 3}
    const errors = new AttentionErrors(measured)
    const before = tf.memory().numTensors
    batches.forEach(({inputs}, at) => {
      factors.forEach((factor, draw) => {
        const off = errors.noting(
          (...call) => tf.mul(exactLayerAttention(...call), 1 + factor),
          layer,
          {draw, at, stream: batches[at]!.original.hidden[0]!},
        )
        tf.dispose(tf.tidy(() => off(...inputs, context)))
      })
      errors.endBatch()
    })
    expect(tf.memory().numTensors).toBe(before)

    const sum = (of: (batch: (typeof batches)[number]) => tf.Tensor) =>
      batches.reduce((all, batch) => all + sizeOf(of(batch), batch.original.tokens), 0)
    const size = sum(({inputs}) => exactLayerAttention(...inputs, context))
    const stream = sum(({original}) => original.hidden[0]!)
    factors.forEach((factor, draw) => {
      // the product and the difference round by 2^-24 (1 + factor) and 2^-24 factor of an output, at most
      const bound = 2 ** -24 * (1 + 2 * factor)
      const {rel_l2, token_mean_rel_l2, residual} = errors.squares
      expect(Math.abs(rel_l2.relative({draw}) - factor)).toBeLessThanOrEqual(bound)
      // float32 rounds both means once for every token, of which there are 5 at most
      const ofMeans = bound + 2 ** -24 * factor * 2 * 5
      expect(Math.abs(token_mean_rel_l2.relative({draw}) - factor)).toBeLessThanOrEqual(ofMeans)
      const added = factor * Math.sqrt(size / stream)
      expect(Math.abs(residual.relative({draw}) / added - 1)).toBeLessThanOrEqual(bound / factor)
    })
  })
})
