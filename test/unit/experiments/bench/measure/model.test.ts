import {existsSync, mkdirSync} from 'node:fs'
import {join} from 'node:path'
import * as tf from '@tensorflow/tfjs-core'
import {describe, expect, it} from 'vitest'
import {attend} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {gamma} from '../../../../../src/check/calls/rounding.js'
import {benchSizesOf} from '../../../../../src/experiments/bench/fields/model.js'
import {runBenchCell} from '../../../../../src/experiments/bench/measure/cell.js'
import {type ModelCell, modelCell} from '../../../../../src/experiments/bench/measure/inputs.js'
import {
  loadedModel,
  randomTokens,
  readyModel,
  readySteps,
} from '../../../../../src/experiments/bench/measure/model.js'
import {benchPlan} from '../../../../../src/experiments/bench/schema.js'
import {resolveMethod} from '../../../../../src/experiments/method.js'
import {modelDigest} from '../../../../../src/experiments/model-digest.js'
import {
  exactLayerAttention,
  type LayerAttention,
  openModel,
  repeatHeads,
} from '../../../../../src/model/index.js'
import {randomStream} from '../../../../../src/random/index.js'
import {benchCells} from '../../../../helpers/cells.js'
import {sample} from '../../../../helpers/effort.js'
import {temporaryFolder} from '../../../../helpers/folders.js'
import {modelFolder, type TinyModel} from '../../../../helpers/model-folders.js'
import {bench, method} from '../../../../helpers/plans.js'

await useBackend('cpu')

/** Tokens of a text, and texts. */
const [L, B] = [9, 2]

const models = temporaryFolder()

/** The folder of a tiny model, one for all tests. */
async function folderOf(kind: TinyModel): Promise<string> {
  const folder = join(models, kind)
  if (!existsSync(folder)) {
    mkdirSync(folder)
    await modelFolder(kind, {}, folder)
  }
  return folder
}

async function cellOf(
  kind: TinyModel,
  name: string,
  changes: Partial<ModelCell> = {},
): Promise<ModelCell> {
  const folder = await folderOf(kind)
  const {facts} = await openModel(folder)
  const plan = bench({
    ...{mode: changes.mode ?? 'model', methods: [method(name)], seq_lens: [L], batch: B},
    ...{model: {folder, digest: await modelDigest(folder)}, layers: [0, 1]},
    ...benchSizesOf(facts),
    causal: facts.causal,
    num_features: [6],
  })
  const [cell] = await benchCells(benchPlan.parse(plan))
  return {...modelCell(cell!)!, ...changes}
}

/** What a forward of a cell gives. */
async function forwardOf(cell: ModelCell): Promise<Float32Array> {
  const ready = await readyModel(cell, await resolveMethod(cell), await loadedModel(cell.model))
  return taken(ready.forward(), ready.dispose)
}

/** What its tokens give one by one, `[B, L, V]`. */
async function decodedOf(cell: ModelCell): Promise<Float32Array> {
  const ready = await readySteps(cell, await resolveMethod(cell), await loadedModel(cell.model))
  const steps = ready.make()
  const each = Array.from({length: L}, (_, at) => steps.next(at + 1))
  const whole = tf.concat(each, 1)
  tf.dispose(each)
  return taken(whole, () => {
    steps.dispose()
    ready.dispose()
  })
}

function taken(tensor: tf.Tensor, end: () => void): Float32Array {
  const data = tensor.dataSync<'float32'>().slice()
  tensor.dispose()
  end()
  return data
}

/** The model by its own functions, layer by layer as in a swap, with any attention. @param change - of what is read and made */
async function originalOf(
  cell: ModelCell,
  attention: LayerAttention,
  change: <T extends tf.Tensor>(x: T) => T = x => x,
): Promise<Float32Array> {
  const model = await openModel(cell.model.folder)
  const tokens = randomTokens(cell, model.facts.vocabulary)
  const changed: LayerAttention = (query, key, value, context) =>
    change(attention(change(query), change(key), change(value), context))
  let hidden = change(await model.embed(tokens))
  for (let index = 0; index < model.facts.layers; index++) {
    const layer = await model.layer(index)
    hidden = change(layer.forward(hidden, tokens, changed))
    layer.dispose()
  }
  const out = model.facts.causal
    ? await model.logits(hidden, tokens)
    : model.embedding(hidden, tokens)
  return taken(out, () => {})
}

/** Relative change of each number of hidden states and of attention, and how many patterns of signs are tried. */
const [EPSILON, PATTERNS] = [2 ** -9, 4]

/**
 * How far apart float32 may put two ways of computing the same outputs: roundings of each hidden state, query, key, value and output of
 * attention are counted, and what they do to the outputs is measured under random signs (see `src/check/output-bound.ts`).
 */
async function boundOf(cell: ModelCell, attention: LayerAttention): Promise<number> {
  const {width, headDim, layers} = (await openModel(cell.model.folder)).facts
  const plain = await originalOf(cell, attention)
  let most = 0
  for (let pattern = 0; pattern < PATTERNS; pattern++) {
    const stream = randomStream(7, 'test.signs', pattern)
    const moved = await originalOf(cell, attention, x => {
      const factors = Float32Array.from({length: x.size}, () =>
        stream.uniform() < 0.5 ? 1 - EPSILON : 1 + EPSILON,
      )
      return tf.mul(x, tf.tensor(factors, x.shape)) as typeof x
    })
    moved.forEach((value, at) => {
      most = Math.max(most, Math.abs(value - plain[at]!) / EPSILON)
    })
  }
  // sums over a hidden state, its four times wider inside, a head, and keys; each way has its own roundings
  const roundings = layers * (5 * width + headDim + L + 64)
  return 2 * gamma(roundings) * 2 * most
}

function furthest(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length)
  return a.reduce((most, value, at) => Math.max(most, Math.abs(value - b[at]!)), 0)
}

const named =
  (name: string, causal: boolean): LayerAttention =>
  (query, key, value, {scale}) => {
    const [keys, values] = [key, value].map(x => repeatHeads(x, query.shape[1]))
    return attend(query, keys!, values!, {method: name as 'elu', scale, causal}).out
  }

describe('a forward of a whole model', () => {
  it.each<TinyModel>(['bert', 'gpt2', 'llama'])(
    'with its own attention is the original: %s',
    async kind => {
      const cell = await cellOf(kind, 'softmax-online')
      expect(await forwardOf(cell)).toEqual(await originalOf(cell, exactLayerAttention))
    },
  )

  it.each<TinyModel>(['bert', 'gpt2', 'llama'])(
    'with another exact form is close to it: %s',
    async kind => {
      const cell = await cellOf(kind, 'softmax')
      const original = await originalOf(cell, exactLayerAttention)
      const apart = furthest(await forwardOf(cell), original)
      expect(apart).toBeLessThanOrEqual(await boundOf(cell, exactLayerAttention))
    },
  )

  it('has the method in the layers of the cell alone', async () => {
    const cell = await cellOf('gpt2', 'elu', {layers: [1]})
    const inOne: LayerAttention = (query, key, value, context) =>
      (context.layer === 1 ? named('elu', true) : exactLayerAttention)(query, key, value, context)
    expect(await forwardOf(cell)).toEqual(await originalOf(cell, inOne))
    expect(await forwardOf(cell)).not.toEqual(await forwardOf(await cellOf('gpt2', 'elu')))
  })

  it('draws for each layer', async () => {
    const both = await forwardOf(await cellOf('gpt2', 'favor-pos'))
    expect(both.every(Number.isFinite)).toBe(true)
    expect(both).not.toEqual(await forwardOf(await cellOf('gpt2', 'favor-pos', {seed: 1})))
  })
})

describe('a whole model token by token', () => {
  const decoders: [TinyModel, string][] = [
    ['gpt2', 'softmax'],
    ['gpt2', 'elu'],
    ['llama', 'elu'],
    ['llama', 'softmax'],
  ]
  const title = 'gives what it gives of the whole text: %s with %s'
  it.each(sample(decoders, 2, 0))(title, async (kind, name) => {
    const cell = await cellOf(kind, name, {mode: 'decode'})
    const attention = named(name, true)
    const whole = await originalOf(cell, attention)
    const bound = await boundOf(cell, attention)
    expect(furthest(await decodedOf(cell), whole)).toBeLessThanOrEqual(bound)
    // a bound that tells texts apart
    const other = await decodedOf({...cell, seed: 1})
    expect(furthest(other, whole)).toBeGreaterThan(10 * bound)
  })

  it('holds keys and values of the tokens so far, or sums that do not grow', async () => {
    const bytesAt = async (name: string, tokens: number) => {
      const cell = await cellOf('gpt2', name, {mode: 'decode'})
      const ready = await readySteps(cell, await resolveMethod(cell), await loadedModel(cell.model))
      const steps = ready.make()
      for (let t = 1; t <= tokens; t++) steps.next(t).dispose()
      const {stateBytes} = steps
      steps.dispose()
      ready.dispose()
      return stateBytes
    }
    // two layers, B texts, two heads of five entries
    expect(await bytesAt('softmax', 3)).toBe(2 * B * 2 * 3 * (5 + 5) * 4)
    expect(await bytesAt('elu', 3)).toBe(await bytesAt('elu', 7))
  })
})

describe('runBenchCell, a whole model', () => {
  it.each(['model', 'decode'] as const)('leaves nothing but the weights: %s', async mode => {
    const cell = await cellOf('llama', mode === 'model' ? 'favor-pos' : 'elu', {mode})
    await runBenchCell(cell)
    const {numTensors} = tf.memory()
    const outcome = await runBenchCell(cell)
    expect(tf.memory().numTensors).toBe(numTensors)
    expect(outcome).toMatchObject({
      status: 'completed',
      result: {model_kind: 'llama', model_layers: 2, gate: {rows: L}},
    })
  })

  it('says which methods a model cannot decode with', async () => {
    const outcome = await runBenchCell(await cellOf('gpt2', 'saderf', {mode: 'decode'}))
    expect(outcome).toMatchObject({status: 'skipped'})
  })
})
