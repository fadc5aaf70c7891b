/**
 * Pretrained transformers of a folder as Hugging Face writes it, run layer by layer with their attention exchanged:
 * forward only, on the backend in force.
 */
import {describe, expected} from '../errors.js'
import {tf} from '../tf.js'
import {BERT_PREFIX, bertParts} from './bert.js'
import {type ModelConfig, readConfig} from './config.js'
import {GPT2_PREFIX, gpt2Parts} from './gpt2.js'
import {LLAMA_PREFIX, llamaParts} from './llama.js'
import type {Parts} from './parts.js'
import {openTokenizer} from './tokenizer.js'
import type {Model, ModelFacts, TokenBatch} from './types.js'
import {openWeights} from './weights.js'

export {exactLayerAttention} from './operations.js'
export {repeatHeads} from './repeat-heads.js'
export type {
  LayerAttention,
  LayerContext,
  Model,
  ModelFacts,
  ModelHead,
  ModelLayer,
  TokenBatch,
  TokenizedTexts,
} from './types.js'

/**
 * Opens a model: its configuration and tokenizer are read, and its weights are looked over, so that what cannot be run is
 * refused at once. No weights are read yet.
 *
 * @param folder - with `config.json`, `model.safetensors` (or several files with their index) and `tokenizer.json`
 * @throws {FILE_MISSING} when one of them is not there
 * @throws {BAD_FILE | ARRAY_MISSING | SHAPE_MISMATCH} when one of them is damaged, or they do not go together
 * @throws {UNSUPPORTED} for what cannot be run here, by its name: other architectures, position biases, sliding windows,
 *   quantised weights
 */
export async function openModel(folder: string): Promise<Model> {
  const config = await readConfig(folder)
  const {facts} = config
  const parts = await openParts(folder, config)
  const tokenize = await openTokenizer(folder, facts)
  const head = async () => {
    if (parts.head) return parts.head()
    const remedy = 'use `embedding`'
    throw expected('UNSUPPORTED', folder, 'a causal model', 'an encoder, which has no head', remedy)
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
    head,
    async logits(hidden) {
      const whole = await head()
      try {
        return whole.logits(hidden)
      } finally {
        whole.dispose()
      }
    },
    embedding: meanEmbedding,
    async close() {},
  }
}

async function openParts(folder: string, config: ModelConfig): Promise<Parts> {
  const prefix = {bert: BERT_PREFIX, gpt2: GPT2_PREFIX, llama: LLAMA_PREFIX}[config.facts.kind]
  const weights = await openWeights(folder, prefix)
  const parts = config.rotary
    ? llamaParts(config, config.rotary, weights)
    : config.facts.causal
      ? gpt2Parts(config, weights)
      : bertParts(config, weights)
  for (const specs of parts.specs) weights.check(specs)
  return parts
}

/** @throws {BAD_OPTION} for ids or lengths without an embedding */
function checkBatch({ids, batch, length, lengths}: TokenBatch, facts: ModelFacts): void {
  const wrong = (what: string, got: string) => expected('BAD_OPTION', 'batch', what, got)
  if (length > facts.maxTokens) throw wrong(`at most ${facts.maxTokens} tokens`, String(length))
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

/** See `Model.embedding`. */
function meanEmbedding(hidden: tf.Tensor3D, {batch, length, lengths}: TokenBatch): tf.Tensor2D {
  return tf.tidy(() => {
    const share = new Float32Array(batch * length)
    lengths.forEach((tokens, row) => {
      share.fill(1 / tokens, row * length, row * length + tokens)
    })
    const mean: tf.Tensor2D = tf.reshape(
      tf.matMul(tf.tensor3d(share, [batch, 1, length]), hidden),
      [batch, -1],
    )
    // as Transformers' users do: no embedding is divided by zero
    const norm = tf.maximum(tf.sqrt(tf.sum(tf.square(mean), -1, true)), 1e-12)
    return tf.div(mean, norm)
  })
}
