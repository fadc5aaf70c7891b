/**
 * Tiny models against what Transformers computes of them in float64, stored in models.json; `test:python` holds the stored
 * numbers against Transformers, and larger models besides.
 */
import {readFileSync} from 'node:fs'
import type * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {exactLayerAttention, openModel, type TokenBatch} from '../../src/model/index.js'
import {runnableBackends} from '../helpers/backends.js'
import {CONFIGS, modelFolder, type TinyModel} from '../helpers/model-folders.js'

/** Rows of the tokens of both texts. */
interface Stored {
  hidden: number[][]
  logits?: number[][]
}

const STORED: Record<TinyModel, Stored> = JSON.parse(
  readFileSync(new URL('models.json', import.meta.url), 'utf8'),
)
/** As in test/python/golden_models.py. */
const BATCH: TokenBatch = {
  ids: Int32Array.of(4, 5, 6, 7, 8, 9, 2, 12, 0, 0),
  batch: 2,
  length: 5,
  lengths: [5, 3],
}
const TOLERANCE = 1e-5

/** Rows of the tokens of texts. */
function rowsOf(x: tf.Tensor3D): number[][] {
  return (x.arraySync() as number[][][]).flatMap((text, at) => text.slice(0, BATCH.lengths[at]))
}

/** Largest difference as a share of the largest number. */
function difference(got: number[][], wanted: number[][]): number {
  expect(got.map(row => row.length)).toEqual(wanted.map(row => row.length))
  const apart = got.flatMap((row, i) => row.map((x, j) => Math.abs(x - wanted[i]![j]!)))
  return Math.max(...apart) / Math.max(...wanted.flat().map(Math.abs))
}

describe.each(await runnableBackends())('on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(Object.keys(CONFIGS) as TinyModel[])('%s computes what Transformers does', async kind => {
    const model = await openModel(await modelFolder(kind))
    let hidden = await model.embed(BATCH)
    for (let index = 0; index < model.facts.layers; index++) {
      const layer = await model.layer(index)
      hidden = layer.forward(hidden, BATCH, exactLayerAttention)
      layer.dispose()
    }
    const {hidden: wanted, logits} = STORED[kind]
    expect(difference(rowsOf(hidden), wanted)).toBeLessThan(TOLERANCE)
    if (!logits) return
    const own = await model.logits(hidden, BATCH)
    expect(difference(rowsOf(own), logits)).toBeLessThan(TOLERANCE)
  })
})
