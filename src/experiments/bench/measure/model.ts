/** The whole model of a cell: its weights, the attention of its layers, and one forward pass. */
import {attend, type Decoder} from '../../../attention/index.js'
import {callNoise} from '../../../attention/internal.js'
import {decoderOver} from '../../../check/calls/decode.js'
import {
  exactLayerAttention,
  type LayerAttention,
  type Model,
  type ModelHead,
  type ModelLayer,
  openModel,
  repeatHeads,
  type TokenBatch,
} from '../../../model/index.js'
import {randomStream} from '../../../random/index.js'
import {tf} from '../../../tf.js'
import {attendOptions, drawOf} from '../../axes.js'
import type {ResolvedMethod} from '../../method.js'
import type {PretrainedModel} from '../../pretrained.js'
import {benchShape} from '../cost/work.js'
import {CACHED, MODELS_OWN, PASS_THROUGH} from '../fields/baselines.js'
import type {BenchCell} from '../schema.js'
import type {Stepper} from './decoding.js'
import {groupedDecoder} from './grouped-decoder.js'
import {type ModelCell, newSource} from './inputs.js'
import {monotonic} from './timing.js'

/** A model with all its weights in memory, as a user has it. */
export interface LoadedModel {
  model: Model
  layers: readonly ModelLayer[]
  /** Of a causal model. */
  head: ModelHead | undefined
}

/** Open until the process ends: tokens are embedded from their folders. */
const loaded = new Map<string, Promise<LoadedModel>>()

/** The model of a cell: read once on each backend, and kept for all cells of the process. @throws as {@link openModel} */
export function loadedModel({folder, digest}: PretrainedModel): Promise<LoadedModel> {
  const key = JSON.stringify([folder, digest, tf.getBackend()])
  const known = loaded.get(key) ?? load(folder)
  loaded.set(key, known)
  known.catch(() => loaded.delete(key))
  return known
}

async function load(folder: string): Promise<LoadedModel> {
  const model = await openModel(folder)
  const {facts} = model
  const layers: ModelLayer[] = []
  for (let index = 0; index < facts.layers; index++) layers.push(await model.layer(index))
  return {model, layers, head: facts.causal ? await model.head() : undefined}
}

/** Texts of random tokens, all of the length of a cell. */
export function randomTokens(
  {batch, seq_len: length, seed}: Pick<BenchCell, 'batch' | 'seq_len' | 'seed'>,
  vocabulary: number,
): TokenBatch {
  const stream = randomStream(seed, 'bench.model.tokens')
  const ids = Int32Array.from({length: batch * length}, () => stream.integer(vocabulary))
  return {ids, batch, length, lengths: Array.from({length: batch}, () => length)}
}

/** A forward pass that is ready, and what it computes with until that is disposed of. */
interface ReadyModel {
  /** From the embeddings of the tokens to logits of all places, `[B, L, V]`, or to embeddings of the texts, `[B, W]`. */
  forward(): tf.Tensor
  /** Drawing what its attention draws once; `null`: nothing. */
  projection_ns: number | null
  dispose(): void
}

/** One forward pass of a model on random tokens. */
export async function readyModel(
  cell: ModelCell,
  method: ResolvedMethod,
  {model, layers, head}: LoadedModel,
): Promise<ReadyModel> {
  const tokens = randomTokens(cell, model.facts.vocabulary)
  const embedded = await model.embed(tokens)
  const start = monotonic()
  const attentions = layers.map((_, layer) => attentionOf(cell, method, layer))
  return {
    projection_ns: cell.projection === null ? null : monotonic() - start,
    forward: () =>
      tf.tidy(() => {
        let hidden = embedded
        layers.forEach((layer, at) => {
          const next = layer.forward(hidden, tokens, attentions[at]!.attend)
          // what is not needed any more leaves its memory to the next layer
          if (hidden !== embedded) hidden.dispose()
          hidden = next
        })
        return head ? head.logits(hidden) : model.embedding(hidden, tokens)
      }),
    dispose() {
      embedded.dispose()
      for (const {dispose} of attentions) dispose()
    },
  }
}

/** A decode that is ready. */
interface ReadySteps extends Pick<ReadyModel, 'projection_ns' | 'dispose'> {
  /** The model before its first token; each gives its logits, `[B, 1, V]`. */
  make(): Stepper
}

/** The same random tokens one by one through a causal model: with sums in place of keys in exchanged layers, and a cache of keys and values in the others. */
export async function readySteps(
  cell: ModelCell,
  method: ResolvedMethod,
  {model, layers, head}: LoadedModel,
): Promise<ReadySteps> {
  const {batch, seq_len} = cell
  const {facts} = model
  const tokens = randomTokens(cell, facts.vocabulary)
  const whole = await model.embed(tokens)
  const lengths = tokens.lengths.map(() => 1)
  const steps = Array.from({length: seq_len}, (_, offset) => ({
    embedded: tf.slice(whole, [0, offset, 0], [batch, 1, facts.width]),
    one: {
      ids: Int32Array.from({length: batch}, (_, text) => tokens.ids[text * seq_len + offset]!),
      ...{batch, length: 1, lengths, offset},
    },
  }))
  whole.dispose()
  const start = monotonic()
  const sources = layers.map((_, layer) =>
    cell.layers.includes(layer) ? newSource(cell, method, layer) : undefined,
  )
  const projection_ns = cell.projection === null ? null : monotonic() - start
  const decoderOf = (layer: number): Decoder => {
    const source = sources[layer]
    const asked = cell.layers.includes(layer) ? attendOptions(cell, layer) : {method: CACHED}
    const options = {
      ...asked,
      ...(source && {projection: source.next()}),
      ...{batch, heads: facts.heads, headDim: facts.headDim, valueDim: facts.headDim},
      ...{capacity: seq_len, scale: facts.scale},
    }
    return groupedDecoder(decoderOver(options, seq_len), cell)
  }
  const make = (): Stepper => {
    const decoders = layers.map((_, layer) => decoderOf(layer))
    return {
      next: t =>
        tf.tidy(() => {
          const {embedded, one} = steps[t - 1]!
          const hidden = layers.reduce(
            (own, layer, at) =>
              layer.forward(own, one, (query, key, value) => decoders[at]!.next(query, key, value)),
            embedded,
          )
          return head!.logits(hidden)
        }),
      get stateBytes() {
        return decoders.reduce((sum, {stateBytes}) => sum + stateBytes, 0)
      },
      dispose() {
        for (const own of decoders) own.dispose()
      },
    }
  }
  return {
    make,
    projection_ns,
    dispose() {
      for (const {embedded} of steps) embedded.dispose()
      for (const source of sources) source?.dispose()
    },
  }
}

/** The attention of a layer: the method with its own draws in exchanged layers, the model's own in the others. */
function attentionOf(
  cell: ModelCell,
  method: ResolvedMethod,
  layer: number,
): {attend: LayerAttention; dispose(): void} {
  if (cell.method === MODELS_OWN || !cell.layers.includes(layer)) {
    return {attend: exactLayerAttention, dispose: () => {}}
  }
  const source = newSource(cell, method, layer)
  // drawn before the timed region, as a trained model would have it
  const noise = callNoise(
    method.estimator,
    benchShape(cell),
    method.options,
    {},
    drawOf(cell, layer),
  )
  const options = {...attendOptions(cell, layer), noise}
  return {
    attend: (query, key, value, {scale}) => {
      const [, heads] = query.shape
      const projection = source && {projection: source.next()}
      const values = repeatHeads(value, heads)
      // without attention nobody looks at keys
      const keys = cell.method === PASS_THROUGH ? query : repeatHeads(key, heads)
      return attend(query, keys, values, {...options, scale, ...projection}).out
    },
    dispose() {
      source?.dispose()
      tf.dispose(Object.values(noise ?? {}))
    },
  }
}
