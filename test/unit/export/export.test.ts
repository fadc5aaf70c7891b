import {readdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../../src/backends/index.js'
import {exportLayers} from '../../../src/export/export.js'
import type {ExportRequest} from '../../../src/export/record.js'
import {exportRecord} from '../../../src/export/record.js'
import {type ArrayFile, readArrays} from '../../../src/inputs/files/index.js'
import {loadInput} from '../../../src/inputs/load.js'
import {
  exactLayerAttention,
  type LayerAttention,
  type Model,
  openModel,
  type TokenBatch,
} from '../../../src/model/index.js'
import {tf} from '../../../src/tf.js'
import {newFolder} from '../../helpers/folders.js'
import {modelFolder, type TinyModel, WORDS} from '../../helpers/model-folders.js'

/** Of different lengths, the longest in the middle. */
const TEXTS = [WORDS.slice(4, 7), WORDS.slice(5, 11), WORDS.slice(8, 10)].map(words =>
  words.join(' '),
)

async function requestOf(
  kind: TinyModel,
  changes: Partial<ExportRequest> = {},
): Promise<ExportRequest> {
  const folder = await newFolder()
  const texts = join(folder, 'texts.txt')
  await writeFile(texts, TEXTS.join('\n'))
  return {
    ...{model: await modelFolder(kind), texts, maxTexts: 9, maxTokens: 99},
    ...{layers: 'all', output: join(folder, 'out'), force: false, backend: 'cpu'},
    ...changes,
  }
}

/** What attention reads and gives in the second layer when the model runs on one text alone. @param before - attention of the first */
async function alone(
  model: Model,
  batch: TokenBatch,
  before: LayerAttention = exactLayerAttention,
) {
  let hidden = await model.embed(batch)
  const kept: Record<'q' | 'k' | 'v' | 'added', number[]> = {q: [], k: [], v: [], added: []}
  for (let at = 0; at <= 1; at++) {
    const layer = await model.layer(at)
    hidden = layer.forward(hidden, batch, (query, key, value, context) => {
      const attention = at < 1 ? before : exactLayerAttention
      const out = attention(query, key, value, context)
      kept.q = [...query.dataSync()]
      kept.k = [...key.dataSync()]
      kept.v = [...value.dataSync()]
      kept.added = [...layer.project(out).dataSync()]
      return out
    })
  }
  return {...kept, length: batch.length}
}

/** The tokens of a text, `[H, length, D]`. */
function rowsOf({arrays}: ArrayFile, name: string, text: number, length: number): number[] {
  const {shape, data} = arrays.get(name)!
  const [batch, heads, tokens, dim] = shape as [number, number, number, number]
  const all = tf.tensor(data as Float32Array, [batch, heads, tokens, dim])
  return [...tf.slice(all, [text, 0, 0, 0], [1, heads, length, dim]).dataSync()]
}

/** Largest difference, relative to the largest number. */
function apart(a: readonly number[], b: readonly number[]): number {
  expect(a).toHaveLength(b.length)
  const size = Math.max(...b.map(Math.abs))
  return Math.max(...a.map((value, at) => Math.abs(value - b[at]!))) / size
}

/**
 * Padding changes which sums are taken together, and so how they round: each of two layers has some ten sums of at most 14 terms,
 * of 2^-24 for each term.
 */
const ROUNDING = 2 * 10 * 14 * 2 ** -24

describe('queries, keys and values of a model', () => {
  beforeAll(() => useBackend('cpu'))

  it.each(['bert', 'gpt2', 'llama'] as const)('are what attention of %s reads', async kind => {
    const request = await requestOf(kind)
    const record = exportRecord.parse(await exportLayers(request))
    expect(record).toMatchObject({texts_read: 3, causal: kind !== 'bert'})
    expect(record.layers.map(({layer}) => layer)).toEqual([0, 1])
    const file = await readArrays(record.layers[1]!.path)
    const mask = [...(file.arrays.get('key_mask')!.data as Uint8Array)]
    const o = tf.tensor(file.arrays.get('o')!.data as Float32Array, file.arrays.get('o')!.shape)
    const model = await openModel(request.model)
    const {batches, order} = await model.tokenize(TEXTS, {batchSize: 1})
    for (const [at, batch] of batches.entries()) {
      const [text] = order[at]! as [number]
      const {length, added, ...read} = await alone(model, batch)
      for (const name of ['q', 'k', 'v'] as const) {
        expect(apart(rowsOf(file, name, text, length), read[name])).toBeLessThan(ROUNDING)
      }
      const row = mask.slice(text * record.seq_len, (text + 1) * record.seq_len)
      expect(row).toEqual(row.map((_, at) => Number(at < length)))
      // the file alone gives what attention adds to the stream
      const input = await loadInput(
        {kind: 'file', paths: [record.layers[1]!.path], names: {query: 'q', key: 'k', value: 'v'}},
        {seqLen: null, seed: 0},
      )
      const part = (name: string, own: number) =>
        tf.tensor4d(rowsOf(file, name, text, length), [1, own, length, record.head_dim])
      const out = exactLayerAttention(
        part('q', record.heads),
        part('k', record.key_heads),
        part('v', record.key_heads),
        {layer: 1, causal: input.ranCausal!, scale: input.logitScale!},
      )
      const merged = tf.reshape(tf.transpose(out, [0, 2, 1, 3]), [length, -1])
      const product = [...tf.matMul(merged, o as tf.Tensor2D).dataSync()]
      expect(apart(product, added)).toBeLessThan(ROUNDING)
    }
  })

  it('are written of the layers that are named, and over files only where that is asked for', async () => {
    const request = await requestOf('gpt2', {layers: [1], maxTexts: 1})
    const written: number[] = []
    const {layers, texts_read} = await exportLayers(request, {
      onLayer: ({layer}) => written.push(layer),
    })
    expect([layers.map(({layer}) => layer), written, texts_read]).toEqual([[1], [1], 1])
    await expect(exportLayers(request)).rejects.toMatchObject({code: 'WOULD_OVERWRITE'})
    expect((await exportLayers({...request, force: true})).layers).toEqual(layers)
    const {arrays, metadata} = await readArrays(layers[0]!.path)
    // nothing is padded
    expect([...arrays.keys()].sort()).toEqual(['k', 'o', 'q', 'residual_norm', 'v'])
    expect(metadata).toMatchObject({causal: 'true', layers: '1', layout: 'bhld'})
  })

  it('are those of copies, too, which go through layers with other attention', async () => {
    const request = await requestOf('bert')
    const nothing: LayerAttention = query => tf.zerosLike(query)
    const seen: string[] = []
    const {layers} = await exportLayers(request, {
      inTurn: {
        copies: 2,
        exchange: async ({layer}, inputs) => {
          seen.push(inputs)
          expect(layer).toBe(seen.length - 1)
          return copy => (copy === 0 ? exactLayerAttention : nothing)
        },
      },
    })
    const files = await Promise.all(seen.map(path => readArrays(path)))
    const originals = await Promise.all(layers.map(({path}) => readArrays(path)))
    for (const [index, {arrays}] of files.entries()) {
      const own = originals[index]!.arrays
      for (const name of ['q', 'k', 'v', 'key_mask']) {
        const numbers = Array.from(arrays.get(name)!.data, Number)
        const exact = Array.from(own.get(name)!.data, Number)
        const second = numbers.slice(exact.length)
        expect(numbers.slice(0, exact.length), name).toEqual(exact)
        // the second copy is the same up to the layer that it was exchanged in
        const isSame = index === 0 || name === 'key_mask'
        if (isSame) expect(second, name).toEqual(exact)
        else expect(apart(second, exact)).toBeGreaterThan(0.01)
      }
    }
    const model = await openModel(request.model)
    const {batches} = await model.tokenize([TEXTS[1]!])
    const without = await alone(model, batches[0]!, nothing)
    const read = rowsOf(files[1]!, 'q', TEXTS.length + 1, without.length)
    expect(apart(read, without.q)).toBeLessThan(ROUNDING)
  })

  it('are written by one of two exports into a folder, and the other is refused', async () => {
    const request = await requestOf('gpt2')
    const ends = await Promise.allSettled([exportLayers(request), exportLayers(request)])
    const refused = ends.filter(end => end.status === 'rejected')
    expect(refused).toHaveLength(1)
    expect(refused[0]).toMatchObject({
      reason: {code: expect.stringMatching(/^(NOT_WRITABLE|WOULD_OVERWRITE)$/)},
    })
    expect((await readdir(request.output)).filter(name => !/^layer\d+\./.test(name))).toEqual([])
  })

  it('leave no tensors behind', async () => {
    const request = await requestOf('bert')
    await exportLayers(request)
    const before = tf.memory().numTensors
    await exportLayers({...request, force: true})
    expect(tf.memory().numTensors).toBe(before)
  })

  it('refuses a layer that the model does not have', async () => {
    const request = await requestOf('bert', {layers: [0, 2]})
    await expect(exportLayers(request)).rejects.toMatchObject({
      code: 'BAD_RANGE',
      message: expect.stringContaining('layers from 0 to 1, got 2'),
    })
  })
})
