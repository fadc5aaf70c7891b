/**
 * `src/model` against Transformers: every hidden state, logits, embeddings and token ids of small random models, and of
 * MiniLM. Needs a Python with `python/requirements.txt`, which `npm run test:python` makes; skipped without.
 */
import {readFileSync} from 'node:fs'
import {join, resolve} from 'node:path'
import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {readArrays} from '../../src/inputs/files/index.js'
import {toFloat32} from '../../src/inputs/nd-array.js'
import {exactLayerAttention, type Model, openModel, type TokenBatch} from '../../src/model/index.js'
import {temporaryFolder} from '../helpers/folders.js'
import {CONFIGS, modelFolder, type TinyModel} from '../helpers/model-folders.js'
import {PYTHON, python} from './python.js'

const NAMES = [
  'bert',
  'bert-prefixed',
  'gpt2',
  'gpt2-bare',
  'gpt2-untied-float16',
  'llama',
  'llama-bfloat16-shards',
  'llama-biases-tied',
  'llama3',
  'mistral',
  'roberta',
  'roberta-prefixed',
  'roberta-other-padding',
  'xlm-roberta',
  'distilbert',
  'distilbert-prefixed',
  'qwen2',
  'qwen2-tied-window',
  'qwen2-wide-heads-bfloat16',
  'qwen3',
  'qwen3-biases-tied',
  'minilm',
]
const GOLDEN_KINDS = Object.keys(CONFIGS) as TinyModel[]
/** Of the largest entry of a hidden state. */
const TOLERANCE = 1e-5

const folder = temporaryFolder()

/** What Transformers computed. */
interface Golden {
  facts: {folder: string; texts: string[]; hard: {text: string; ids: number[]}[]; cut: number[][]}
  batch: TokenBatch
  array(name: string): Float32Array
}

async function goldenOf(name: string): Promise<Golden> {
  const facts = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))
  const {arrays} = await readArrays(join(folder, `${name}.safetensors`))
  const {shape, data} = arrays.get('ids')!
  const lengths = [...toFloat32(arrays.get('lengths')!)]
  const [batch, length] = shape as [number, number]
  return {
    facts,
    batch: {ids: Int32Array.from(data as Int32Array), batch, length, lengths},
    array: key => toFloat32(arrays.get(key)!),
  }
}

/** Largest difference at tokens of texts, as a share of the largest entry there. */
function difference(got: tf.Tensor, wanted: Float32Array, {length, lengths}: TokenBatch): number {
  const width = got.shape[2]!
  const data = got.dataSync()
  expect(data.length).toBe(wanted.length)
  let [most, largest] = [0, 0]
  for (let i = 0; i < data.length; i++) {
    const token = Math.floor(i / width)
    if (token % length >= lengths[Math.floor(token / length)]!) continue
    const apart = Math.abs(data[i]! - wanted[i]!)
    most = Number.isNaN(apart) ? apart : Math.max(most, apart)
    largest = Math.max(largest, Math.abs(wanted[i]!))
  }
  return most / largest
}

beforeAll(async () => {
  if (!PYTHON) return
  await useBackend('auto', {threads: 1})
  await python([resolve('test/python/models.py'), folder, ...NAMES])
}, 600_000)

it.runIf(PYTHON)(
  'stored numbers of tiny models are what Transformers gives',
  async () => {
    const folders = await Promise.all(GOLDEN_KINDS.map(kind => modelFolder(kind)))
    const printed = await python([resolve('test/python/golden_models.py'), ...folders])
    const stored = JSON.parse(readFileSync('test/golden/models.json', 'utf8'))
    expect(JSON.parse(printed)).toEqual(stored)
  },
  300_000,
)

describe.runIf(PYTHON).each(NAMES)('%s', name => {
  let golden: Golden
  let model: Model
  beforeAll(async () => {
    golden = await goldenOf(name)
    model = await openModel(golden.facts.folder)
  })

  it('has the tokens of Transformers, cut ones too', async () => {
    const {texts, hard, cut} = golden.facts
    const full = hard.filter(({ids}) => ids.length > 0)
    const {batches, order} = await model.tokenize(
      full.map(({text}) => text),
      {batchSize: 1},
    )
    const found = batches.map(({ids}, i) => [full[order[i]![0]!]!.text, [...ids]])
    const wanted = full.map(({text, ids}) => [text, ids.slice(0, model.facts.maxTokens)])
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(wanted))
    const short = await model.tokenize(texts, {maxTokens: 7, batchSize: 1})
    const rows = short.batches.map(({ids}, i) => [short.order[i]![0]!, [...ids]])
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(cut.entries()))
  })

  it('has its hidden states, and its logits or embeddings', async () => {
    const {batch, array} = golden
    let hidden = await model.embed(batch)
    const differences = [difference(hidden, array('hidden.0'), batch)]
    for (let index = 0; index < model.facts.layers; index++) {
      const layer = await model.layer(index)
      const next = layer.forward(hidden, batch, exactLayerAttention)
      layer.dispose()
      hidden.dispose()
      hidden = next
      differences.push(difference(hidden, array(`hidden.${index + 1}`), batch))
    }
    if (model.facts.causal) {
      const logits = await model.logits(hidden, batch)
      differences.push(difference(logits, array('logits'), batch))
      logits.dispose()
    } else {
      const embedding = model.embedding(hidden, batch)
      const rows: TokenBatch = {...batch, length: 1, lengths: batch.lengths.map(() => 1)}
      const flat = tf.reshape(embedding, [batch.batch, 1, -1])
      differences.push(difference(flat, array('embedding'), rows))
    }
    hidden.dispose()
    if (process.env.RFA_SHOW) process.stderr.write(`${name}: ${Math.max(...differences)}\n`)
    for (const share of differences) expect(share).toBeLessThan(TOLERANCE)
  })

  it('leaves no tensor behind', async () => {
    const before = tf.memory().numTensors
    const hidden = await model.embed(golden.batch)
    const layer = await model.layer(0)
    layer.forward(hidden, golden.batch, exactLayerAttention).dispose()
    if (model.facts.causal) (await model.logits(hidden, golden.batch)).dispose()
    tf.dispose([hidden])
    layer.dispose()
    expect(tf.memory().numTensors).toBe(before)
  })
})
