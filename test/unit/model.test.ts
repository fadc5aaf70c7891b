import {readFileSync, renameSync, rmSync, truncateSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import type {RfaErrorCode} from '../../src/errors.js'
import type {NdArray} from '../../src/inputs/nd-array.js'
import {openModel} from '../../src/model/index.js'
import {
  type FolderChanges,
  modelFolder,
  type TinyModel,
  tokenizerJson,
  writeJson,
} from '../helpers/model-folders.js'

/** What a folder has, what is done to it then, and what its refusal says. */
interface Case {
  title: string
  kind?: TinyModel
  changes?: FolderChanges
  harm?: (folder: string) => void
  code: RfaErrorCode
  message: RegExp
  remedy?: RegExp
}

const scaled = (fields: object) => ({config: {rope_parameters: fields}})

const CONFIGURATIONS: Case[] = [
  {
    title: 'another architecture',
    changes: {config: {model_type: 't5'}},
    code: 'UNSUPPORTED',
    message: /config\.json: expected a model_type of bert, gpt2, llama, mistral, got "t5"$/,
    remedy: /rfa_export\.py/,
  },
  {
    title: 'position biases, as mpnet has them',
    changes: {config: {model_type: 'mpnet', relative_attention_num_buckets: 32}},
    code: 'UNSUPPORTED',
    message: /got "mpnet", which adds position biases to the logits of attention$/,
  },
  {
    title: 'relative positions',
    changes: {config: {position_embedding_type: 'relative_key'}},
    code: 'UNSUPPORTED',
    message: /expected absolute positions, got position_embedding_type "relative_key"/,
  },
  {
    title: 'a BERT that decodes',
    changes: {config: {is_decoder: true}},
    code: 'UNSUPPORTED',
    message: /expected an encoder, got is_decoder true/,
  },
  {
    title: 'another activation',
    changes: {config: {hidden_act: 'quick_gelu'}},
    code: 'UNSUPPORTED',
    message: /hidden_act of gelu, gelu_new, .*relu, got "quick_gelu"/,
  },
  {
    title: 'quantised weights',
    changes: {config: {quantization_config: {quant_method: 'bitsandbytes'}}},
    code: 'UNSUPPORTED',
    message: /weights of type F32, F16 or BF16, got quantization_config of "bitsandbytes"/,
    remedy: /without quantisation/,
  },
  {
    title: 'heads that do not divide the width',
    changes: {config: {num_attention_heads: 3}},
    code: 'BAD_FILE',
    message: /hidden_size that 3 heads divide evenly, got 10/,
  },
  {
    title: 'a configuration without a size',
    changes: {config: {hidden_size: null}},
    code: 'BAD_FILE',
    message: /the configuration of a BERT-like model, got one in which hidden_size is null/,
  },
  {
    title: 'a configuration that is no object',
    harm: folder => writeFileSync(join(folder, 'config.json'), '[]'),
    code: 'BAD_FILE',
    message: /config\.json: expected a JSON object, got \[\]/,
  },
  {
    title: 'a configuration that is no JSON',
    harm: folder => writeFileSync(join(folder, 'config.json'), '{"model_type": '),
    code: 'BAD_FILE',
    message: /config\.json: expected JSON, got /,
  },
  {
    title: 'scales that differ from layer to layer',
    kind: 'gpt2',
    changes: {config: {scale_attn_by_inverse_layer_idx: true}},
    code: 'UNSUPPORTED',
    message: /the same scale of attention in all layers/,
  },
  {
    title: 'cross attention',
    kind: 'gpt2',
    changes: {config: {add_cross_attention: true}},
    code: 'UNSUPPORTED',
    message: /a decoder by itself, got add_cross_attention true/,
  },
  {
    title: 'a sliding window',
    kind: 'llama',
    changes: {config: {model_type: 'mistral', sliding_window: 4096}},
    code: 'UNSUPPORTED',
    message: /queries that see all tokens before them, got sliding_window 4096/,
  },
  {
    title: 'heads that are rotated in part',
    kind: 'llama',
    changes: {config: {partial_rotary_factor: 0.5}},
    code: 'UNSUPPORTED',
    message: /heads that are rotated as a whole, got partial_rotary_factor 0.5/,
  },
  {
    title: 'another kind of rotary scaling',
    kind: 'llama',
    changes: scaled({rope_type: 'yarn', factor: 2}),
    code: 'UNSUPPORTED',
    message: /a rope_type of default, linear, llama3, got "yarn"/,
  },
  {
    title: 'rotary scaling without its numbers',
    kind: 'llama',
    changes: scaled({rope_type: 'llama3', factor: 8}),
    code: 'BAD_FILE',
    message: /rope_parameters with factor, low_freq_factor, high_freq_factor, .*, got .*"factor":8/,
  },
  {
    title: 'heads of keys that do not divide those of queries',
    kind: 'llama',
    changes: {config: {num_key_value_heads: 4}},
    code: 'BAD_FILE',
    message: /num_attention_heads that 4 heads divide evenly, got 6/,
  },
]

const QUERY = 'encoder.layer.1.attention.self.query.weight'
const weights = (folder: string) => join(folder, 'model.safetensors')
const change = (change: (query: NdArray) => NdArray | undefined): FolderChanges => ({
  arrays: arrays => {
    const changed = change(arrays[QUERY]!)
    if (changed) arrays[QUERY] = changed
    else delete arrays[QUERY]
  },
})

const WEIGHTS: Case[] = [
  {
    title: 'no weights',
    harm: folder => rmSync(weights(folder)),
    code: 'FILE_MISSING',
    message: /expected model\.safetensors or model\.safetensors\.index\.json, got neither/,
    remedy: /save_pretrained/,
  },
  {
    title: 'weights in another format',
    harm: folder => renameSync(weights(folder), join(folder, 'pytorch_model.bin')),
    code: 'FILE_MISSING',
    message: /expected model\.safetensors or .*, got pytorch_model\.bin/,
  },
  {
    title: 'a cut file',
    harm: folder => truncateSync(weights(folder), 2000),
    code: 'BAD_FILE',
    message: /model\.safetensors: expected at least \d+ bytes, got 2000 bytes/,
    remedy: /cut off/,
  },
  {
    title: 'a missing file of several',
    changes: {shards: 3},
    harm: folder => rmSync(join(folder, 'model-2-of-3.safetensors')),
    code: 'FILE_MISSING',
    message:
      /index\.json: expected 3 files of weights beside it, got none called model-2-of-3\.safetensors/,
    remedy: /whole folder/,
  },
  {
    title: 'an index that names files elsewhere',
    changes: {shards: 1},
    harm: folder =>
      writeJson(folder, 'model.safetensors.index.json', {
        weight_map: {[QUERY]: '../a.safetensors'},
      }),
    code: 'BAD_FILE',
    message: /names of files in its folder, got "\.\.\/a\.safetensors"/,
  },
  {
    title: 'an index that names what its files do not hold',
    changes: {shards: 1},
    harm: folder => {
      const file = 'model.safetensors.index.json'
      const {weight_map: map} = JSON.parse(readFileSync(join(folder, file), 'utf8'))
      writeJson(folder, file, {weight_map: {...map, more: 'model-1-of-1.safetensors'}})
    },
    code: 'ARRAY_MISSING',
    message:
      /expected weights "more", as model\.safetensors\.index\.json says, got a file without them/,
  },
  {
    title: 'weights that are not there',
    changes: change(() => undefined),
    code: 'ARRAY_MISSING',
    message:
      /expected weights "encoder\.layer\.1\.attention\.self\.query\.weight", got a model without them/,
    remedy: /another model than config\.json/,
  },
  {
    title: 'weights of another shape',
    changes: change(query => ({...query, shape: [5, 20]})),
    code: 'SHAPE_MISMATCH',
    message: /query\.weight\]: expected \[10, 10\], got \[5, 20\]/,
  },
  {
    title: 'weights of integers',
    changes: change(({shape}) => ({shape, dtype: 'int8', data: new Int8Array(100)})),
    code: 'UNSUPPORTED',
    message: /query\.weight\]: expected weights of type F32, F16 or BF16, got I8/,
    remedy: /without quantisation/,
  },
]

const tokenizer = (folder: string, fields: object) =>
  writeJson(folder, 'tokenizer.json', {...tokenizerJson('bert'), ...fields})

const TOKENIZERS: Case[] = [
  {
    title: 'no tokenizer',
    harm: folder => rmSync(join(folder, 'tokenizer.json')),
    code: 'FILE_MISSING',
    message: /tokenizer\.json: expected a file, got none/,
    remedy: /tokenizer\.save_pretrained/,
  },
  {
    title: 'a tokenizer of another vocabulary',
    harm: folder =>
      tokenizer(folder, {model: {type: 'WordPiece', unk_token: 'a', vocab: {a: 0, z: 13}}}),
    code: 'BAD_FILE',
    message:
      /a tokenizer for a vocabulary of 13 tokens, 0 to 12, got one with token 13: it belongs to another model/,
  },
  {
    title: 'a tokenizer without a model',
    harm: folder => tokenizer(folder, {model: undefined}),
    code: 'BAD_FILE',
    message: /tokenizer\.json: expected a tokenizer, got one without a model/,
  },
  {
    title: 'a tokenizer with an unknown part',
    harm: folder => tokenizer(folder, {pre_tokenizer: {type: 'Whatever'}}),
    code: 'UNSUPPORTED',
    message:
      /tokenizer\.json: expected a tokenizer that can be run here, got one that cannot: .*Whatever/,
  },
  {
    title: 'a damaged tokenizer_config.json',
    harm: folder => writeFileSync(join(folder, 'tokenizer_config.json'), '{'),
    code: 'BAD_FILE',
    message: /tokenizer_config\.json: expected JSON/,
  },
]

describe('a folder is refused that has', () => {
  it.each([...CONFIGURATIONS, ...WEIGHTS, ...TOKENIZERS])('$title', async refusal => {
    const {kind = 'bert', changes = {}, harm, code, message, remedy} = refusal
    const folder = await modelFolder(kind, changes)
    harm?.(folder)
    const refused = await openModel(folder).catch((error: unknown) => error)
    expect(refused).toMatchObject({code, message: expect.stringMatching(message)})
    if (remedy) expect(refused).toMatchObject({suggestions: [expect.stringMatching(remedy)]})
  })

  it('a text with an added token that the model does not know', async () => {
    const folder = await modelFolder('bert')
    const added = {id: 13, content: '<new>', special: true, normalized: false}
    const flags = {single_word: false, lstrip: false, rstrip: false}
    tokenizer(folder, {added_tokens: [{...added, ...flags}]})
    const model = await openModel(folder)
    expect(model.tokenize(['a b']).batches).toHaveLength(1)
    const message = expect.stringMatching(/got one with token 13/)
    expect(() => model.tokenize(['a <new>'])).toThrow(
      expect.objectContaining({code: 'BAD_FILE', message}),
    )
  })
})
