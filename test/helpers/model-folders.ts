/** Folders of tiny models with made-up weights, as Hugging Face writes them. */
import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {writeArrays} from '../../src/inputs/files/index.js'
import {type Dtype, elementCount, type NdArray} from '../../src/inputs/nd-array.js'
import type {Kind} from '../../src/model/architectures/index.js'
import {readConfig} from '../../src/model/config.js'
import type {WeightSpec, Weights} from '../../src/model/weights.js'
import {newFolder} from './folders.js'

export const CONFIGS = {
  bert: {
    model_type: 'bert',
    ...{hidden_size: 10, num_hidden_layers: 2, num_attention_heads: 2, intermediate_size: 14},
    ...{vocab_size: 13, max_position_embeddings: 11, type_vocab_size: 2, hidden_act: 'gelu'},
  },
  gpt2: {
    model_type: 'gpt2',
    ...{n_embd: 10, n_layer: 2, n_head: 2, vocab_size: 13, n_positions: 11},
  },
  llama: {
    model_type: 'llama',
    ...{hidden_size: 12, num_hidden_layers: 2, num_attention_heads: 6, num_key_value_heads: 3},
    ...{head_dim: 4, intermediate_size: 14, vocab_size: 13, max_position_embeddings: 11},
    ...{rope_theta: 100, tie_word_embeddings: false},
  },
  roberta: {
    model_type: 'roberta',
    ...{hidden_size: 10, num_hidden_layers: 2, num_attention_heads: 2, intermediate_size: 14},
    ...{vocab_size: 13, max_position_embeddings: 14, type_vocab_size: 1, pad_token_id: 2},
  },
  distilbert: {
    model_type: 'distilbert',
    ...{dim: 10, n_layers: 2, n_heads: 2, hidden_dim: 14, vocab_size: 13},
    ...{max_position_embeddings: 11, activation: 'relu'},
  },
  mistral: {
    model_type: 'mistral',
    ...{hidden_size: 12, num_hidden_layers: 2, num_attention_heads: 6, num_key_value_heads: 2},
    ...{intermediate_size: 14, vocab_size: 13, max_position_embeddings: 11},
    ...{sliding_window: null, tie_word_embeddings: false},
  },
  qwen2: {
    model_type: 'qwen2',
    ...{hidden_size: 12, num_hidden_layers: 2, num_attention_heads: 6, num_key_value_heads: 3},
    ...{intermediate_size: 14, vocab_size: 13, max_position_embeddings: 11},
    ...{tie_word_embeddings: true},
  },
  qwen3: {
    model_type: 'qwen3',
    ...{hidden_size: 12, num_hidden_layers: 2, num_attention_heads: 6, num_key_value_heads: 3},
    ...{head_dim: 4, intermediate_size: 14, vocab_size: 13, max_position_embeddings: 11},
    ...{attention_bias: true, tie_word_embeddings: false},
  },
} as const satisfies Record<Kind, object>
export type TinyModel = Kind

/** Kinds that have embeddings in place of logits. */
export const ENCODERS: readonly Kind[] = ['bert', 'roberta', 'distilbert']

/** Without it Transformers does not read a file. */
const PYTORCH = {format: 'pt'}

/** Words of the tokenizers, in the order of their numbers. */
export const WORDS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', ...'a b c d e f g h i'.split(' ')]

/** Words between spaces; that of encoders has [CLS] and [SEP] around a text. */
export function tokenizerJson(kind: TinyModel): object {
  const special = (id: string) => ({SpecialToken: {id, type_id: 0}})
  const template = {
    type: 'TemplateProcessing',
    single: [special('[CLS]'), {Sequence: {id: 'A', type_id: 0}}, special('[SEP]')],
    pair: [],
    special_tokens: Object.fromEntries(
      ['[CLS]', '[SEP]'].map(id => [id, {id, ids: [WORDS.indexOf(id)], tokens: [id]}]),
    ),
  }
  return {
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: {type: 'WhitespaceSplit'},
    post_processor: ENCODERS.includes(kind) ? template : null,
    decoder: null,
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    },
  }
}

/** What a folder has other than the tiny model of its kind. */
export interface FolderChanges {
  config?: object
  dtype?: Dtype
  prefix?: string
  /** Changes the arrays before they are written. */
  arrays?: (arrays: Record<string, NdArray>) => void
  /** Writes the weights as so many files with an index. */
  shards?: number
}

/** A folder of a tiny model, removed after the test unless a place is given. */
export async function modelFolder(
  kind: TinyModel,
  changes: FolderChanges = {},
  place?: string,
): Promise<string> {
  const folder = place ?? (await newFolder())
  writeJson(folder, 'tokenizer.json', tokenizerJson(kind))
  writeJson(folder, 'config.json', CONFIGS[kind])
  const arrays = await weightsOf(folder, changes)
  changes.arrays?.(arrays)
  if (changes.shards) await writeShards(folder, arrays, changes.shards)
  else await writeArrays(join(folder, 'model.safetensors'), arrays, PYTORCH)
  writeJson(folder, 'config.json', {...CONFIGS[kind], ...changes.config})
  return folder
}

export function writeJson(folder: string, name: string, value: object): void {
  writeFileSync(join(folder, name), JSON.stringify(value))
}

/** Numbers between -1 and 1 that bfloat16 holds exactly. */
async function weightsOf(folder: string, {dtype = 'float32', prefix = ''}: FolderChanges) {
  const {specs: every} = (await readConfig(folder)).parts(NONE)
  const specs = every.flatMap(part => Object.values(part))
  const arrays: Record<string, NdArray> = {}
  for (const spec of specs) {
    if (spec) arrays[prefix + spec.name] = {...filled(spec, Object.keys(arrays).length), dtype}
  }
  return arrays
}

function filled({shape}: WeightSpec, number: number) {
  const data = new Float32Array(elementCount(shape))
  for (let i = 0; i < data.length; i++) {
    data[i] = Math.round(64 * Math.sin(1 + 12.9898 * i + 78.233 * number)) / 64
  }
  return {shape: [...shape], data}
}

async function writeShards(folder: string, arrays: Record<string, NdArray>, shards: number) {
  const names = Object.keys(arrays)
  const map: Record<string, string> = {}
  for (let shard = 0; shard < shards; shard++) {
    const file = `model-${shard + 1}-of-${shards}.safetensors`
    const own = names.filter((_, at) => at % shards === shard)
    for (const name of own) map[name] = file
    await writeArrays(
      join(folder, file),
      Object.fromEntries(own.map(name => [name, arrays[name]!])),
    )
  }
  writeJson(folder, 'model.safetensors.index.json', {metadata: {}, weight_map: map})
}

/** No weights, but all there: names and shapes of those that a model needs follow from its configuration. */
const NONE: Weights = {
  has: () => true,
  names: () => [],
  check: () => [],
  read: () => Promise.reject(new Error('none')),
  readData: () => Promise.reject(new Error('none')),
  readRows: () => Promise.reject(new Error('none')),
}
