/** `config.json` of a folder: what the model is, and whether it can be run here. */
import {join} from 'node:path'
import {z} from 'zod'
import type {DenseActivation} from '../attention/internal.js'
import {describe, expected, type RfaError} from '../errors.js'
import {parseWith} from '../results/journal/parse-record.js'
import {readJson} from './json.js'
import {ACTIVATION_NAMES, activationNamed} from './operations.js'
import {type Rotary, rotary, toRotary} from './rotary.js'
import type {ModelFacts} from './types.js'

/** Facts, and what forward passes need in addition. */
export interface ModelConfig {
  facts: ModelFacts
  activation: DenseActivation
  /** Width between the two matrices of the feed-forward part. */
  innerWidth: number
  /** Added to the variance by norms. */
  normEpsilon: number
  /** Rows of token types; BERT only. */
  tokenTypes: number
  /** Whether the output matrix is the table of embeddings; `undefined` where only the weights can tell. */
  tiedHead: boolean | undefined
  /** Whether matrices of attention and of the feed-forward part have biases. */
  biases: {attention: boolean; feedForward: boolean}
  /** Llama only. */
  rotary?: Rotary
}

const count = z.number().int().positive()
const epsilon = z.number().nonnegative()

const bert = z.object({
  hidden_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  intermediate_size: count,
  vocab_size: count,
  max_position_embeddings: count,
  type_vocab_size: count.default(2),
  layer_norm_eps: epsilon.default(1e-12),
  hidden_act: z.string().default('gelu'),
  position_embedding_type: z.string().nullish(),
  is_decoder: z.boolean().nullish(),
})

const gpt2 = z.object({
  n_embd: count,
  n_layer: count,
  n_head: count,
  n_inner: count.nullish(),
  vocab_size: count,
  n_positions: count,
  layer_norm_epsilon: epsilon.default(1e-5),
  activation_function: z.string().default('gelu_new'),
  scale_attn_weights: z.boolean().default(true),
  scale_attn_by_inverse_layer_idx: z.boolean().nullish(),
  add_cross_attention: z.boolean().nullish(),
  tie_word_embeddings: z.boolean().nullish(),
})

const llama = z.object({
  hidden_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  intermediate_size: count,
  vocab_size: count,
  max_position_embeddings: count,
  rms_norm_eps: epsilon.default(1e-6),
  hidden_act: z.string().default('silu'),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  tie_word_embeddings: z.boolean().nullish(),
  partial_rotary_factor: z.number().nullish(),
  ...rotary,
})

/** Mistral has no biases, and a window where its configuration does not say that it has none. */
const mistral = llama
  .omit({attention_bias: true, mlp_bias: true})
  .extend({sliding_window: count.nullable().default(4096)})

/** What to do about a model that does not run here. */
export const EXPORT =
  'export its queries, keys and values with python/rfa_export.py, and run `rfa apply`'

/** How the configuration of each `model_type` is read. */
const READERS: Readonly<Record<string, (file: string, json: object) => ModelConfig>> = {
  bert: readBert,
  gpt2: readGpt2,
  llama: readLlama,
  mistral: readMistral,
}

/** Classes of Transformers by the `model_type` of their configurations. */
const CLASSES: Readonly<Record<string, RegExp>> = {
  bert: /^Bert(Model|For)/,
  gpt2: /^GPT2(Model|LMHead|DoubleHeads|For)/,
  llama: /^Llama(Model|For)/,
  mistral: /^Mistral(Model|For)/,
}

const head = z.looseObject({
  model_type: z.string().nullish(),
  architectures: z.array(z.string()).nullish().catch(null),
  quantization_config: z.looseObject({quant_method: z.string().optional()}).nullish(),
})

/**
 * Reads `config.json`.
 *
 * @param folder - as the user wrote it
 * @throws {FILE_MISSING | BAD_FILE} when the file is not there, or is not a configuration of a model
 * @throws {UNSUPPORTED} for other architectures than BERT's, GPT-2's and Llama's, and for parts of them that are not
 *   computed here: each by its name
 */
export async function readConfig(folder: string): Promise<ModelConfig> {
  const file = join(folder, 'config.json')
  const json = await readJson(file, 'give a folder that `save_pretrained` of Transformers wrote')
  const what = 'the configuration of a model'
  const {quantization_config: quantised, ...named} = parseWith(head, json, file, what)
  const type = named.model_type ?? typeOf(file, named.architectures ?? [])
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined
  if (!read) throw otherArchitecture(file, type, json)
  if (quantised) {
    const got = `quantization_config of ${describe(quantised.quant_method ?? 'some method')}`
    const remedy = 'save the model without quantisation'
    throw expected('UNSUPPORTED', file, 'weights of type F32, F16 or BF16', got, remedy)
  }
  return read(file, json)
}

/** The `model_type` of classes. @throws {UNSUPPORTED} for others */
function typeOf(file: string, classes: readonly string[]): string {
  const named = Object.entries(CLASSES).find(([, pattern]) =>
    classes.some(name => pattern.test(name)),
  )
  if (named) return named[0]
  const what = `a model_type of ${Object.keys(READERS).join(', ')}`
  const got = classes.length > 0 ? `none, and architectures ${describe(classes)}` : 'none'
  const remedy =
    'where the model is one of these, write "model_type": "llama", say, into config.json'
  throw expected('UNSUPPORTED', file, what, got, remedy, EXPORT)
}

function otherArchitecture(file: string, type: string, json: object): RfaError {
  const biased = 'relative_attention_num_buckets' in json
  const got = `${describe(type)}${biased ? ', which adds position biases to the logits of attention' : ''}`
  const what = `a model_type of ${Object.keys(READERS).join(', ')}`
  return expected('UNSUPPORTED', file, what, got, EXPORT)
}

function readBert(file: string, json: object): ModelConfig {
  const c = parseWith(bert, json, file, 'the configuration of a BERT-like model')
  const positions = c.position_embedding_type ?? 'absolute'
  if (positions !== 'absolute') {
    throw unsupported(file, 'absolute positions', `position_embedding_type ${describe(positions)}`)
  }
  if (c.is_decoder) throw unsupported(file, 'an encoder', 'is_decoder true')
  const headDim = dividedBy(file, 'hidden_size', c.hidden_size, c.num_attention_heads)
  return {
    facts: {
      kind: 'bert',
      layers: c.num_hidden_layers,
      heads: c.num_attention_heads,
      keyHeads: c.num_attention_heads,
      headDim,
      width: c.hidden_size,
      causal: false,
      vocabulary: c.vocab_size,
      maxTokens: c.max_position_embeddings,
      scale: headDim ** -0.5,
    },
    activation: activationOf(file, 'hidden_act', c.hidden_act),
    innerWidth: c.intermediate_size,
    normEpsilon: c.layer_norm_eps,
    tokenTypes: c.type_vocab_size,
    tiedHead: true,
    biases: {attention: true, feedForward: true},
  }
}

function readGpt2(file: string, json: object): ModelConfig {
  const c = parseWith(gpt2, json, file, 'the configuration of a GPT-2-like model')
  if (c.scale_attn_by_inverse_layer_idx) {
    const got = 'scale_attn_by_inverse_layer_idx true'
    throw unsupported(file, 'the same scale of attention in all layers', got)
  }
  if (c.add_cross_attention) {
    throw unsupported(file, 'a decoder by itself', 'add_cross_attention true')
  }
  const headDim = dividedBy(file, 'n_embd', c.n_embd, c.n_head)
  return {
    facts: {
      kind: 'gpt2',
      layers: c.n_layer,
      heads: c.n_head,
      keyHeads: c.n_head,
      headDim,
      width: c.n_embd,
      causal: true,
      vocabulary: c.vocab_size,
      maxTokens: c.n_positions,
      scale: c.scale_attn_weights ? headDim ** -0.5 : 1,
    },
    activation: activationOf(file, 'activation_function', c.activation_function),
    innerWidth: c.n_inner ?? 4 * c.n_embd,
    normEpsilon: c.layer_norm_epsilon,
    tokenTypes: 0,
    tiedHead: c.tie_word_embeddings ?? true,
    biases: {attention: true, feedForward: true},
  }
}

function readMistral(file: string, json: object): ModelConfig {
  const c = parseWith(mistral, json, file, 'the configuration of a Mistral-like model')
  const {facts, ...rest} = llamaConfig(file, c)
  return {...rest, facts: {...facts, ...(c.sliding_window && {window: c.sliding_window})}}
}

function readLlama(file: string, json: object): ModelConfig {
  return llamaConfig(file, parseWith(llama, json, file, 'the configuration of a Llama-like model'))
}

function llamaConfig(file: string, c: z.output<typeof llama>): ModelConfig {
  const turned = c.partial_rotary_factor ?? c.rope_parameters?.partial_rotary_factor ?? 1
  if (turned !== 1) {
    const got = `partial_rotary_factor ${turned}`
    throw unsupported(file, 'heads that are rotated as a whole', got)
  }
  const keyHeads = c.num_key_value_heads ?? c.num_attention_heads
  dividedBy(file, 'num_attention_heads', c.num_attention_heads, keyHeads)
  const headDim = c.head_dim ?? dividedBy(file, 'hidden_size', c.hidden_size, c.num_attention_heads)
  if (headDim % 2 !== 0) {
    throw expected('BAD_FILE', file, 'heads of an even size, to be rotated', String(headDim))
  }
  return {
    facts: {
      kind: 'llama',
      layers: c.num_hidden_layers,
      heads: c.num_attention_heads,
      keyHeads,
      headDim,
      width: c.hidden_size,
      causal: true,
      vocabulary: c.vocab_size,
      maxTokens: c.max_position_embeddings,
      scale: headDim ** -0.5,
    },
    activation: activationOf(file, 'hidden_act', c.hidden_act),
    innerWidth: c.intermediate_size,
    normEpsilon: c.rms_norm_eps,
    tokenTypes: 0,
    tiedHead: c.tie_word_embeddings ?? undefined,
    biases: {attention: c.attention_bias ?? false, feedForward: c.mlp_bias ?? false},
    rotary: toRotary(file, c),
  }
}

function activationOf(file: string, key: string, name: string): DenseActivation {
  const known = activationNamed(name)
  if (known) return known
  const what = `${key} of ${ACTIVATION_NAMES.join(', ')}`
  throw expected('UNSUPPORTED', file, what, describe(name))
}

function unsupported(file: string, what: string, got: string): RfaError {
  return expected('UNSUPPORTED', file, what, got, EXPORT)
}

/** @throws {BAD_FILE} for a rest */
function dividedBy(file: string, key: string, size: number, parts: number): number {
  if (size % parts === 0) return size / parts
  throw expected('BAD_FILE', file, `${key} that ${parts} heads divide evenly`, String(size))
}
