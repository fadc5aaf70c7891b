import {mkdirSync} from 'node:fs'
import {join} from 'node:path'
import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../../src/backends/index.js'
import {
  exactLayerAttention,
  type LayerAttention,
  type LayerContext,
  type Model,
  openModel,
  repeatHeads,
  type TokenBatch,
} from '../../../src/model/index.js'
import {temporaryFolder} from '../../helpers/folders.js'
import {CONFIGS, ENCODERS, modelFolder, type TinyModel, WORDS} from '../../helpers/model-folders.js'

const KINDS = Object.keys(CONFIGS) as TinyModel[]
/** Heads of queries and of keys, entries of a head and of a hidden state. */
const HEADS: Record<TinyModel, [number, number, number, number]> = {
  ...{bert: [2, 2, 5, 10], roberta: [2, 2, 5, 10], distilbert: [2, 2, 5, 10], gpt2: [2, 2, 5, 10]},
  ...{llama: [6, 3, 4, 12], mistral: [6, 2, 2, 12], qwen2: [6, 3, 2, 12], qwen3: [6, 3, 4, 12]},
}
const PREFIXES: Partial<Record<TinyModel, string>> = {
  ...{bert: 'bert.', roberta: 'roberta.', distilbert: 'distilbert.', gpt2: 'transformer.'},
}
const TEXTS = ['a b c d e', 'f', 'g h i a', 'b b']

beforeAll(async () => {
  await useBackend('auto', {threads: 1})
})

const models = temporaryFolder()
const opened = new Map<TinyModel, Promise<Model>>()

/** A tiny model as it is, one for all tests. */
function tiny(kind: TinyModel): Promise<Model> {
  const place = join(models, kind)
  const open = async () => {
    mkdirSync(place)
    return openModel(await modelFolder(kind, {}, place))
  }
  const model = opened.get(kind) ?? open()
  opened.set(kind, model)
  return model
}

type TokenizedTexts = ReturnType<Model['tokenize']>
const tokenized = new Map<string, TokenizedTexts>()

/** Texts as tokens. Kinds share tokenizers, and making one starts a thread: each tokenizes the same texts once. */
function tokensOf(model: Model, texts = TEXTS, batchSize?: number): TokenizedTexts {
  const key = JSON.stringify([model.facts.causal, texts, batchSize])
  const found = tokenized.get(key) ?? model.tokenize(texts, {batchSize})
  tokenized.set(key, found)
  return found
}

/** The output of the last layer, `[B, L, W]`. */
async function lastHidden(
  model: Model,
  batch: TokenBatch,
  attention: LayerAttention = exactLayerAttention,
): Promise<tf.Tensor3D> {
  let hidden = await model.embed(batch)
  for (let index = 0; index < model.facts.layers; index++) {
    const layer = await model.layer(index)
    const next = layer.forward(hidden, batch, attention)
    tf.dispose(hidden)
    layer.dispose()
    hidden = next
  }
  return hidden
}

/** Hidden states of each text without padding, in the order of the texts. */
async function states(model: Model, batchSize: number): Promise<number[][]> {
  const {batches, order} = await tokensOf(model, TEXTS, batchSize)
  const found: number[][] = []
  for (const [at, batch] of batches.entries()) {
    const data = (await lastHidden(model, batch)).dataSync()
    const size = batch.length * model.facts.width
    batch.lengths.forEach((tokens, row) => {
      const from = row * size
      found[order[at]![row]!] = [...data.subarray(from, from + tokens * model.facts.width)]
    })
  }
  return found
}

/** Largest difference, relative to the largest number. */
function furthest(a: readonly number[][], b: readonly number[][]): number {
  const size = Math.max(...b.flat().map(Math.abs))
  return Math.max(...a.flatMap((row, i) => row.map((x, j) => Math.abs(x - b[i]![j]!)))) / size
}

/**
 * Padding changes which sums are taken together, and so how they round: each of two layers has some ten sums of at most 14 terms,
 * of 2^-24 for each term.
 */
const ROUNDING = 2 * 10 * 14 * 2 ** -24

describe.each(KINDS)('a tiny %s', kind => {
  let plain: number[][] | undefined

  it('says what it is', async () => {
    const {facts} = await tiny(kind)
    const causal = !ENCODERS.includes(kind)
    const [heads, keyHeads, headDim, width] = HEADS[kind]
    expect(facts).toEqual({
      ...{kind, layers: 2, heads, keyHeads, headDim, width, causal, vocabulary: 13, maxTokens: 11},
      scale: headDim ** -0.5,
    })
  })

  it('gives a text in a padded batch what it gives the text alone', async () => {
    const model = await tiny(kind)
    const alone = await states(model, 1)
    const together = await states(model, 4)
    expect(together.map(row => row.length)).toEqual(alone.map(row => row.length))
    expect(furthest(together, alone)).toBeLessThan(ROUNDING)
  })

  it.each([
    ['F16', {dtype: 'float16'}],
    ['BF16', {dtype: 'bfloat16'}],
    ['three files', {shards: 3}],
    ['a prefix', {prefix: PREFIXES[kind] ?? 'model.'}],
  ] as const)('computes the same of weights as %s', async (_, changes) => {
    plain ??= await states(await tiny(kind), 4)
    expect(await states(await openModel(await modelFolder(kind, changes)), 4)).toEqual(plain)
  })

  it('runs with the attention that it is given, and tells it what it needs', async () => {
    const model = await tiny(kind)
    const {batches} = await tokensOf(model)
    const batch = batches[0]!
    const {heads, keyHeads, headDim, causal, scale} = model.facts
    const seen: (LayerContext & {shapes: number[][]; mask: number[]})[] = []
    const none: LayerAttention = (query, key, value, context) => {
      const shapes = [query, key, value].map(tensor => tensor.shape)
      seen.push({...context, shapes, mask: [...context.keyMask!.dataSync()]})
      return tf.zerosLike(query)
    }
    const without = await lastHidden(model, batch, none)
    const head = [batch.batch, keyHeads, batch.length, headDim]
    const shapes = [[batch.batch, heads, batch.length, headDim], head, head]
    const tokens = Array.from({length: batch.length}, (_, at) => at)
    const mask = batch.lengths.flatMap(length => tokens.map(at => (at < length ? 1 : 0)))
    const layer = (index: number) => ({layer: index, causal, scale, shapes, mask})
    expect(seen).toMatchObject([layer(0), layer(1)])
    const apart = tf.max(tf.abs(tf.sub(without, await lastHidden(model, batch)))).dataSync()[0]!
    expect(apart).toBeGreaterThan(0.01)
  })

  it('has no key mask where no text is padded', async () => {
    const model = await tiny(kind)
    const {batches} = await tokensOf(model, ['a b', 'c d'])
    const contexts: LayerContext[] = []
    await lastHidden(model, batches[0]!, (query, key, value, context) => {
      contexts.push(context)
      return exactLayerAttention(query, key, value, context)
    })
    expect(contexts.map(context => 'keyMask' in context)).toEqual([false, false])
  })

  it('leaves no tensor behind', async () => {
    const model = await tiny(kind)
    const {batches} = await tokensOf(model)
    const before = tf.memory().numTensors
    const hidden = await lastHidden(model, batches[0]!)
    const out = model.facts.causal
      ? await model.logits(hidden, batches[0]!)
      : model.embedding(hidden, batches[0]!)
    tf.dispose([hidden, out])
    expect(tf.memory().numTensors).toBe(before)
  })
})

describe.each(['bert', 'qwen3'] as const)('any model, as %s,', kind => {
  it.each([
    [
      'a layer beyond the last',
      (m: Model) => m.layer(2),
      'BAD_RANGE',
      /a layer from 0 to 1, got 2/,
    ],
    [
      'an unknown id',
      (m: Model) => m.embed(batchOf([3, 13])),
      'BAD_OPTION',
      /ids from 0 to 12, got 13/,
    ],
    [
      'an id below all',
      (m: Model) => m.embed(batchOf([3, -1])),
      'BAD_OPTION',
      /ids from 0 to 12, got -1/,
    ],
    [
      'too many tokens',
      (m: Model) => m.embed(batchOf(Array(12).fill(1))),
      'BAD_OPTION',
      /at most 11 tokens, got 12/,
    ],
    [
      'other ids than it says',
      (m: Model) => m.embed({...batchOf([1, 2]), length: 3}),
      'BAD_OPTION',
      /ids of 1 x 3 tokens/,
    ],
    [
      'a text of no tokens',
      (m: Model) => m.embed({...batchOf([1, 2]), lengths: [0]}),
      'BAD_OPTION',
      /1 lengths from 1 to 2/,
    ],
  ] as const)('refuses %s', async (_, call, code, message) => {
    const model = await tiny(kind)
    await expect(call(model)).rejects.toMatchObject({code, message: expect.stringMatching(message)})
  })
})

function batchOf(ids: number[]): TokenBatch {
  return {ids: Int32Array.from(ids), batch: 1, length: ids.length, lengths: [ids.length]}
}

describe('causal models', () => {
  it.each(KINDS.filter(kind => !ENCODERS.includes(kind)))(
    '%s: tokens do not see those after them',
    async kind => {
      const model = await tiny(kind)
      const [first, second] = await Promise.all(
        [
          [4, 5, 6, 7],
          [4, 5, 6, 9],
        ].map(async ids => (await lastHidden(model, batchOf(ids))).dataSync()),
      )
      const same = 3 * model.facts.width
      expect(first!.subarray(0, same)).toEqual(second!.subarray(0, same))
      expect(first!.subarray(same)).not.toEqual(second!.subarray(same))
    },
  )

  it('a head gives some tokens the logits that all have', async () => {
    const model = await tiny('llama')
    const batch = batchOf([4, 5, 6])
    const hidden = await lastHidden(model, batch)
    const head = await model.head()
    const all = head.logits(hidden)
    expect(all.shape).toEqual([1, 3, 13])
    const last = head.logits(tf.slice(hidden, [0, 2, 0], [1, 1, 12]))
    expect([...last.dataSync()]).toEqual([...all.dataSync().subarray(2 * 13)])
    head.dispose()
  })

  it.each(ENCODERS)('%s has embeddings of unit length in place of logits', async kind => {
    const model = await tiny(kind)
    const {batches} = await tokensOf(model)
    const hidden = await lastHidden(model, batches[0]!)
    const lengths = tf.sum(tf.square(model.embedding(hidden, batches[0]!)), -1)
    // a square, a root and a division round W terms each way: (W + 4) 2^-24 of each of two sums
    const bound = 2 * (model.facts.width + 4) * 2 ** -24
    for (const length of lengths.dataSync()) expect(Math.abs(length - 1)).toBeLessThanOrEqual(bound)
    const message = expect.stringMatching(/a causal model, got an encoder/)
    await expect(model.head()).rejects.toMatchObject({code: 'UNSUPPORTED', message})
  })
})

it('heads of keys are repeated side by side', () => {
  const x = tf.tensor4d([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 1, 2])
  const repeated = repeatHeads(x, 4)
  expect(repeated.shape).toEqual([2, 4, 1, 2])
  expect([...repeated.dataSync()]).toEqual([1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 7, 8, 7, 8])
  expect(repeatHeads(x, 2)).toBe(x)
})

describe('texts', () => {
  const words = (ids: Int32Array) => Array.from(ids, id => WORDS[id]).join(' ')

  it('come as batches of similar length, shortest first', async () => {
    const model = await tiny('bert')
    const {batches, order} = await model.tokenize(TEXTS, {batchSize: 3})
    expect(order).toEqual([[1, 3, 2], [0]])
    expect(batches.map(({batch, length, lengths}) => ({batch, length, lengths}))).toEqual([
      {batch: 3, length: 6, lengths: [3, 4, 6]},
      {batch: 1, length: 7, lengths: [7]},
    ])
    expect(words(batches[0]!.ids)).toBe(
      '[CLS] f [SEP] [PAD] [PAD] [PAD] [CLS] b b [SEP] [PAD] [PAD] [CLS] g h i a [SEP]',
    )
  })

  it('are cut where they are too long, and keep their special tokens', async () => {
    const model = await tiny('bert')
    const cut = async (text: string, maxTokens: number) =>
      words((await model.tokenize([text], {maxTokens})).batches[0]!.ids)
    expect(await cut('a b c d e', 5)).toBe('[CLS] a b c [SEP]')
    expect(await cut('a b c d e', 7)).toBe('[CLS] a b c d e [SEP]')
    const long = 'a b c d e f g h i a b c'
    expect(await cut(long, 100)).toBe('[CLS] a b c d e f g h i [SEP]')
    const decoder = await tiny('gpt2')
    const {batches} = await decoder.tokenize([long])
    expect(words(batches[0]!.ids)).toBe('a b c d e f g h i a b')
  })

  it.each([
    [
      'no positive maxTokens',
      ['a'],
      {maxTokens: 0},
      'BAD_OPTION',
      /maxTokens: expected a positive integer, got 0/,
    ],
    [
      'a broken batchSize',
      ['a'],
      {batchSize: 1.5},
      'BAD_OPTION',
      /batchSize: expected a positive integer, got 1.5/,
    ],
    [
      'no room beside special tokens',
      ['a b'],
      {maxTokens: 2},
      'BAD_OPTION',
      /more than the 2 special tokens, got 2/,
    ],
  ] as const)('with %s are refused', async (_, texts, options, code, message) => {
    const model = await tiny('bert')
    const call = model.tokenize(texts, options)
    await expect(call).rejects.toMatchObject({code, message: expect.stringMatching(message)})
  })

  it('with too few tokens are left out with a count, and refused where none remains', async () => {
    const model = await tiny('gpt2')
    const {order, leftOut, batches} = await model.tokenize(['a b c', 'd', ' ', 'e f'], {least: 2})
    expect([order, leftOut]).toEqual([[[1, 0]], 2])
    expect(batches[0]!.lengths).toEqual([2, 3])
    expect(await model.tokenize([' ', 'a'])).toMatchObject({order: [[0]], leftOut: 1})
    const call = model.tokenize(['a', ' '], {least: 2})
    const message = expect.stringMatching(
      /^texts: expected texts of 2 tokens or more, got 2 with fewer/,
    )
    await expect(call).rejects.toMatchObject({code: 'BAD_FILE', message})
  })

  it('are of no interest to a folder that is not there', async () => {
    const folder = join(await modelFolder('bert'), 'none')
    const message = expect.stringMatching(/none.config\.json: expected a file, got none/)
    await expect(openModel(folder)).rejects.toMatchObject({code: 'FILE_MISSING', message})
  })
})
