/**
 * Pretrained transformers of a folder as Hugging Face writes it, run layer by layer with their attention exchanged:
 * forward only, on the backend in force.
 */
import {readdir} from 'node:fs/promises'
import {describe, expected, type RfaError} from '../errors.js'
import {type FolderConfig, readConfig} from './config.js'
import type {Model, ModelFacts} from './model.js'
import type {Parts} from './parts.js'
import {openPooling} from './pooling.js'
import {openTokenizer} from './tokenizer.js'
import type {TokenBatch} from './types.js'
import {refuseUnread, requireLayers} from './unread.js'
import {openWeights, weightFiles} from './weights.js'

export type {Model, ModelFacts} from './model.js'
export {exactLayerAttention} from './operations.js'
export {openPooling, type Pooling} from './pooling.js'
export {repeatHeads} from './repeat-heads.js'
export {batchesOf} from './tokenizer.js'
export {openTransformers, type TransformersModel} from './transformers.js'
export type {
  LayerAttention,
  LayerContext,
  ModelHead,
  ModelLayer,
  TokenBatch,
} from './types.js'

/**
 * Opens a model: its configuration and tokenizer are read, and its weights are looked over, so that what cannot be run is
 * refused at once. No weights of layers are read yet.
 *
 * @param folder - with `config.json`, `model.safetensors` (or several files with their index) and `tokenizer.json`
 * @throws {FILE_MISSING} when one of them is not there
 * @throws {BAD_FILE | ARRAY_MISSING | SHAPE_MISMATCH} when one of them is damaged, or they do not go together
 * @throws {UNSUPPORTED} for what cannot be run here, by its name: other architectures, position biases, quantised weights, weights
 *   that a model of its kind does not have, other ways of pooling
 */
export async function openModel(folder: string): Promise<Model> {
  const config = await readConfig(folder)
  const {facts} = config
  const parts = await openParts(folder, config)
  const tokenize = await openTokenizer(folder, facts)
  const pooling = facts.causal ? undefined : await openPooling(folder, facts.width)
  const head = async () => {
    if (parts.head) return parts.head()
    throw headless(folder, facts)
  }
  return {
    facts,
    sizes: parts.sizes,
    tokenize,
    async embed(batch) {
      checkBatch(batch, facts)
      return parts.embed(batch)
    },
    async layer(index) {
      if (Number.isInteger(index) && index >= 0 && index < facts.layers) return parts.layer(index)
      const what = `a layer from 0 to ${facts.layers - 1}`
      throw expected('BAD_RANGE', folder, what, describe(index))
    },
    hasHead: parts.head !== undefined,
    head,
    async logits(hidden) {
      const whole = await head()
      try {
        return whole.logits(hidden)
      } finally {
        whole.dispose()
      }
    },
    pooledBy: pooling?.text ?? null,
    embedding(hidden, batch) {
      if (pooling) return pooling.embed(hidden, batch)
      const what = 'an encoder'
      throw expected('UNSUPPORTED', folder, what, 'a causal model', 'use `logits`')
    },
    async close() {},
  }
}

/** Files that Transformers may read a model from. */
const READ = /\.(json|safetensors|bin|txt|model|jinja)$/

/**
 * Names of the files in a folder that a model is read from, in their order.
 *
 * @param engine - what reads it. Default: what is here
 * @throws as {@link openModel}
 */
export async function modelFiles(folder: string, engine?: 'transformers'): Promise<string[]> {
  if (engine) {
    const names = await readdir(folder, {recursive: true})
    return names.filter(name => READ.test(name)).sort()
  }
  const {facts} = await readConfig(folder)
  const there = new Set(await readdir(folder))
  const optional = ['tokenizer_config.json'].filter(name => there.has(name))
  const pooling = facts.causal ? [] : (await openPooling(folder, facts.width)).files
  const names = ['config.json', 'tokenizer.json', ...optional, ...(await weightFiles(folder))]
  return [...new Set([...names, ...pooling])].sort()
}

function headless(folder: string, {causal}: ModelFacts): RfaError {
  if (!causal) {
    const got = 'an encoder, which has no head'
    return expected('UNSUPPORTED', folder, 'a causal model', got, 'use `embedding`')
  }
  const what = 'a decoder with its output matrix, or tie_word_embeddings in config.json'
  const remedies = [
    'save the whole model: `AutoModelForCausalLM.from_pretrained(NAME).save_pretrained(FOLDER)`',
    'write its queries, keys and values with `rfa export`, which needs none',
  ]
  return expected('UNSUPPORTED', folder, what, 'one without lm_head.weight', ...remedies)
}

async function openParts(folder: string, config: FolderConfig): Promise<Parts> {
  const {facts, weights: names} = config
  const weights = await openWeights(folder, names.prefix)
  requireLayers(folder, names, weights, facts.layers)
  const parts = config.parts(weights)
  const read = new Set(parts.specs.flatMap(specs => weights.check(specs)))
  refuseUnread(folder, names, weights, read)
  return parts
}

/** @throws {BAD_OPTION} for ids or lengths without an embedding */
function checkBatch(
  {ids, batch, length, lengths, offset = 0}: TokenBatch,
  facts: ModelFacts,
): void {
  const wrong = (what: string, got: string) => expected('BAD_OPTION', 'batch', what, got)
  const end = offset + length
  if (end > facts.maxTokens) throw wrong(`at most ${facts.maxTokens} tokens`, String(end))
  if (ids.length !== batch * length) {
    throw wrong(`ids of ${batch} x ${length} tokens`, `${ids.length} ids`)
  }
  const fits = lengths.every(tokens => tokens > 0 && tokens <= length)
  if (lengths.length !== batch || !fits) {
    throw wrong(`${batch} lengths from 1 to ${length}`, describe([...lengths]))
  }
  const unknown = ids.find(id => id < 0 || id >= facts.vocabulary)
  if (unknown !== undefined) {
    throw wrong(`ids from 0 to ${facts.vocabulary - 1}`, String(unknown))
  }
}
