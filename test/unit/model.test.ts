import {execFileSync} from 'node:child_process'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import type {RfaError, RfaErrorCode} from '../../src/errors.js'
import type {NdArray} from '../../src/inputs/nd-array.js'
import {hubFolder, modelName} from '../../src/model/hub.js'
import {openModel} from '../../src/model/index.js'
import {newFolder} from '../helpers/folders.js'
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
  message: RegExp
  remedy?: RegExp
}

const scaled = (fields: object) => ({config: {rope_parameters: fields}})

const QUERY = 'encoder.layer.1.attention.self.query.weight'
const weights = (folder: string) => join(folder, 'model.safetensors')
const change = (change: (query: NdArray) => NdArray | undefined): FolderChanges => ({
  arrays: arrays => {
    const changed = change(arrays[QUERY]!)
    if (changed) arrays[QUERY] = changed
    else delete arrays[QUERY]
  },
})

/** Weights with one more array. */
const extra = (name: string, length: number): FolderChanges => ({
  arrays: arrays => {
    arrays[name] = {shape: [length], dtype: 'float32', data: new Float32Array(length)}
  },
})

const tokenizer = (folder: string, fields: object) =>
  writeJson(folder, 'tokenizer.json', {...tokenizerJson('bert'), ...fields})

const vocabulary = (vocab: object) => (folder: string) =>
  tokenizer(folder, {model: {type: 'WordPiece', unk_token: 'a', vocab}})

/** A configuration with other fields before its own. */
const beginning = (fields: string) => (folder: string) => {
  const file = join(folder, 'config.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('{', `{${fields}`))
}

const UNSUPPORTED: Case[] = [
  {
    title: 'another architecture',
    changes: {config: {model_type: 't5'}},
    message: /a model_type of bert, roberta, xlm-roberta, distilbert, .*, qwen2, qwen3, got "t5"$/,
    remedy: /rfa_export\.py/,
  },
  {
    title: 'position biases, as mpnet has them',
    changes: {config: {model_type: 'mpnet', relative_attention_num_buckets: 32}},
    message: /got "mpnet", which adds position biases to the logits of attention$/,
  },
  {
    title: 'relative positions',
    changes: {config: {position_embedding_type: 'relative_key'}},
    message: /expected absolute positions, got position_embedding_type "relative_key"/,
  },
  {
    title: 'relative positions in RoBERTa',
    kind: 'roberta',
    changes: {config: {position_embedding_type: 'relative_key_query'}},
    message: /expected absolute positions, got position_embedding_type "relative_key_query"/,
  },
  ...(['gpt2', 'llama', 'qwen3'] as const).map(kind => ({
    title: `a ${kind} that is not causal`,
    kind,
    changes: {config: {is_causal: false}},
    message: /expected a causal model, got is_causal false$/,
  })),
  {
    title: 'layers of another kind',
    kind: 'qwen3',
    changes: {config: {layer_types: ['full_attention', 'linear_attention']}},
    message: /expected layer_types of full_attention, sliding_attention, got "linear_attention"/,
    remedy: /rfa_export\.py/,
  },
  {
    title: 'layers with a window that is not given',
    kind: 'qwen2',
    changes: {config: {layer_types: ['full_attention', 'sliding_attention']}},
    message: /use_sliding_window and sliding_window for layers of sliding_attention, got none/,
  },
  {
    title: 'a BERT that decodes',
    changes: {config: {is_decoder: true}},
    message: /expected an encoder, got is_decoder true/,
  },
  {
    title: 'another activation',
    changes: {config: {hidden_act: 'quick_gelu'}},
    message: /hidden_act of gelu, gelu_new, .*relu, got "quick_gelu"/,
  },
  {
    title: 'quantised weights',
    changes: {config: {quantization_config: {quant_method: 'bitsandbytes'}}},
    message: /weights of type F32, F16 or BF16, got quantization_config of "bitsandbytes"/,
    remedy: /without quantisation/,
  },
  {
    title: 'scales that differ from layer to layer',
    kind: 'gpt2',
    changes: {config: {scale_attn_by_inverse_layer_idx: true}},
    message: /the same scale of attention in all layers/,
  },
  {
    title: 'cross attention',
    kind: 'gpt2',
    changes: {config: {add_cross_attention: true}},
    message: /a decoder by itself, got add_cross_attention true/,
  },
  {
    title: 'no model_type, and classes that are not known',
    changes: {
      config: {model_type: undefined, architectures: ['BertweetModel', 'Qwen3MoeForCausalLM']},
    },
    message:
      /a model_type of bert, .*, got none, and architectures \[BertweetModel, Qwen3MoeForCausalLM\]/,
    remedy: /"model_type": "llama"/,
  },
  {
    title: 'heads that are rotated in part',
    kind: 'llama',
    changes: {config: {partial_rotary_factor: 0.5}},
    message: /heads that are rotated as a whole, got partial_rotary_factor 0.5/,
  },
  {
    title: 'another kind of rotary scaling',
    kind: 'llama',
    changes: scaled({rope_type: 'yarn', factor: 2}),
    message: /a rope_type of default, linear, llama3, got "yarn"/,
  },
  {
    title: 'another kind of rotary scaling under its older name',
    kind: 'qwen2',
    changes: {config: {rope_scaling: {type: 'mrope', mrope_section: [16, 24, 24]}}},
    message: /a rope_type of default, linear, llama3, got "mrope"/,
  },
  {
    title: 'biases that its configuration does not speak of',
    kind: 'llama',
    changes: extra('layers.1.self_attn.q_proj.bias', 24),
    message: /got "layers\.1\.self_attn\.q_proj\.bias", which a model of this kind does not have/,
    remedy: /attention_bias/,
  },
  ...(
    [
      ['llama', 'layers.0.self_attn.q_norm.weight'],
      ['llama', 'model.layers.0.self_attn.k_norm.weight'],
      ['llama', 'layers.2.input_layernorm.weight'],
      ['llama', 'norm.bias'],
      ['llama', 'lm_head.bias'],
      ['gpt2', 'h.0.attn.q_norm.weight'],
      ['gpt2', 'transformer.h.1.crossattention.c_attn.weight'],
      ['gpt2', 'h.2.ln_1.weight'],
      ['bert', 'encoder.layer.0.attention.self.distance_embedding.weight'],
      ['bert', 'bert.encoder.layer.1.adapter.weight'],
      ['bert', 'embeddings.projection.weight'],
      ['roberta', 'roberta.encoder.layer.0.attention.self.distance_embedding.weight'],
      ['distilbert', 'embeddings.token_type_embeddings.weight'],
      ['mistral', 'layers.0.self_attn.q_proj.bias'],
      ['qwen2', 'layers.1.self_attn.o_proj.bias'],
      ['qwen2', 'layers.0.self_attn.q_norm.weight'],
      ['qwen3', 'layers.0.mlp.up_proj.weight_scale'],
    ] as const
  ).map(([kind, name]) => ({
    title: `${name}, which ${kind} does not read`,
    kind,
    changes: extra(name, 4),
    message: new RegExp(`got "${name.replaceAll('.', '\\.')}", which a model of this kind`),
    remedy: /rfa_export\.py/,
  })),
  {
    title: 'weights of integers',
    changes: change(({shape}) => ({shape, dtype: 'int8', data: new Int8Array(100)})),
    message: /query\.weight\]: expected weights of type F32, F16 or BF16, got I8/,
    remedy: /without quantisation/,
  },
]

const BAD_FILES: Case[] = [
  {
    title: 'no position behind that of padding',
    kind: 'roberta',
    changes: {config: {pad_token_id: 13}},
    message: /expected max_position_embeddings above 14, pad_token_id and one more, got 14/,
  },
  {
    title: 'no token of padding to count positions from',
    kind: 'roberta',
    changes: {config: {pad_token_id: null}},
    message: /the configuration of a RoBERTa-like model, got one in which pad_token_id is null/,
  },
  {
    title: 'a width that the heads of DistilBERT do not divide',
    kind: 'distilbert',
    changes: {config: {n_heads: 3}},
    message: /expected dim that 3 heads divide evenly, got 10/,
  },
  {
    title: 'heads that do not divide the width',
    changes: {config: {num_attention_heads: 3}},
    message: /hidden_size that 3 heads divide evenly, got 10/,
  },
  {
    title: 'a configuration without a size',
    changes: {config: {hidden_size: null}},
    message: /the configuration of a BERT-like model, got one in which hidden_size is null/,
  },
  {
    title: 'a configuration that is no object',
    harm: folder => writeFileSync(join(folder, 'config.json'), '[]'),
    message: /config\.json: expected a JSON object, got \[\]/,
  },
  {
    title: 'a configuration that is no JSON',
    harm: folder => writeFileSync(join(folder, 'config.json'), '{"model_type": '),
    message: /config\.json: expected JSON, got other text \(Unexpected end/,
  },
  {
    title: 'a number that is none',
    harm: beginning('"layer_norm_eps": NaN, "other": -Infinity, '),
    message: /one in which layer_norm_eps is "NaN" \(expected a number\)/,
  },
  {
    title: 'a number without an end',
    harm: beginning('"layer_norm_eps": Infinity, '),
    message: /one in which layer_norm_eps is Infinity/,
  },
  {
    title: 'a key twice',
    harm: beginning('"model_type": "gpt2", '),
    message: /config\.json: expected the key "model_type" once, got it twice/,
  },
  {
    title: 'heads that cannot be rotated',
    kind: 'llama',
    changes: {config: {head_dim: 3}},
    message: /heads of an even size, to be rotated, got 3/,
  },
  {
    title: 'a pipe in place of its configuration',
    harm: folder => {
      rmSync(join(folder, 'config.json'))
      execFileSync('mkfifo', [join(folder, 'config.json')])
    },
    message: /config\.json: expected a file, got a pipe/,
  },
  {
    title: 'a folder in place of its tokenizer',
    harm: folder => {
      rmSync(join(folder, 'tokenizer.json'))
      mkdirSync(join(folder, 'tokenizer.json'))
    },
    message: /tokenizer\.json: expected a file, got a directory/,
  },
  {
    title: 'rotary positions of each kind of layer',
    kind: 'qwen3',
    changes: scaled({full_attention: {rope_theta: 1e6}}),
    message: /one in which rope_parameters\.full_attention is /,
  },
  {
    title: 'rotary scaling without its numbers',
    kind: 'llama',
    changes: scaled({rope_type: 'llama3', factor: 8}),
    message: /rope_parameters with factor, low_freq_factor, high_freq_factor, .*, got .*"factor":8/,
  },
  {
    title: 'heads of keys that do not divide those of queries',
    kind: 'llama',
    changes: {config: {num_key_value_heads: 4}},
    message: /num_attention_heads that 4 heads divide evenly, got 6/,
  },
  {
    title: 'a cut file',
    harm: folder => truncateSync(weights(folder), 2000),
    message: /model\.safetensors: expected at least \d+ bytes, got 2000 bytes/,
    remedy: /cut off/,
  },
  {
    title: 'an index that names files elsewhere',
    changes: {shards: 1},
    harm: folder =>
      writeJson(folder, 'model.safetensors.index.json', {
        weight_map: {[QUERY]: '../a.safetensors'},
      }),
    message: /names of files in its folder, got "\.\.\/a\.safetensors"/,
  },
  {
    title: 'a tokenizer of another vocabulary',
    harm: vocabulary({a: 0, z: 13}),
    message:
      /a tokenizer for a vocabulary of 13 tokens, 0 to 12, got one with token 13: it belongs to another model/,
  },
  {
    title: 'a tokenizer without a model',
    harm: folder => tokenizer(folder, {model: undefined}),
    message: /tokenizer\.json: expected a tokenizer, got one without a model/,
  },
  ...(
    [
      ['an id beyond all memory', {a: 0, z: 1e9}, /got one with token 1000000000/],
      ['an id that is no integer', {a: 0.5}, /token "a": expected an id .* from 0, got 0\.5/],
      ['an id that is a text', {a: '0'}, /token "a": expected an id .* from 0, got "0"/],
      ['an id below 0', {a: -1}, /token "a": expected an id .* from 0, got -1/],
      [
        'one id for two tokens',
        {a: 1, z: 1},
        /token "z": expected an id that no other token has, got 1, as "a"/,
      ],
    ] as const
  ).map(([title, vocab, message]) => ({
    title: `a tokenizer with ${title}`,
    harm: vocabulary(vocab),
    message,
  })),
  {
    title: 'an added token with an id beyond all memory',
    harm: folder => tokenizer(folder, {added_tokens: [{id: 1e9, content: '<new>'}]}),
    message: /got one with token 1000000000/,
  },
  {
    title: 'an added token with another id than it has',
    harm: folder => tokenizer(folder, {added_tokens: [{id: 3, content: 'a'}]}),
    message: /token "a": expected an id that no other token has, got 3, as "\[SEP\]" has/,
  },
  {
    title: 'a damaged tokenizer_config.json',
    harm: folder => writeFileSync(join(folder, 'tokenizer_config.json'), '{'),
    message: /tokenizer_config\.json: expected JSON/,
  },
]

const MISSING_ARRAYS: Case[] = [
  {
    title: 'more layers than weights',
    changes: {config: {num_hidden_layers: 1_000_000_000}},
    message: /expected weights of 1000000000 layers, as config\.json says, got those of 2/,
  },
  {
    title: 'an index that names what its files do not hold',
    changes: {shards: 1},
    harm: folder => {
      const file = 'model.safetensors.index.json'
      const {weight_map: map} = JSON.parse(readFileSync(join(folder, file), 'utf8'))
      writeJson(folder, file, {weight_map: {...map, more: 'model-1-of-1.safetensors'}})
    },
    message:
      /expected weights "more", as model\.safetensors\.index\.json says, got a file without them/,
  },
  {
    title: 'weights that are not there',
    changes: change(() => undefined),
    message:
      /expected weights "encoder\.layer\.1\.attention\.self\.query\.weight", got a model without them/,
    remedy: /another model than config\.json/,
  },
]

const MISSING_FILES: Case[] = [
  {
    title: 'no weights',
    harm: folder => rmSync(weights(folder)),
    message: /expected model\.safetensors or model\.safetensors\.index\.json, got neither/,
    remedy: /save_pretrained/,
  },
  {
    title: 'weights in another format',
    harm: folder => renameSync(weights(folder), join(folder, 'pytorch_model.bin')),
    message: /expected model\.safetensors or .*, got pytorch_model\.bin/,
  },
  {
    title: 'a missing file of several',
    changes: {shards: 3},
    harm: folder => rmSync(join(folder, 'model-2-of-3.safetensors')),
    message:
      /index\.json: expected 3 files of weights beside it, got none called model-2-of-3\.safetensors/,
    remedy: /whole folder/,
  },
  {
    title: 'no tokenizer',
    harm: folder => rmSync(join(folder, 'tokenizer.json')),
    message: /tokenizer\.json: expected a file, got none/,
    remedy: /tokenizer\.save_pretrained/,
  },
]

const SHAPES: Case[] = [
  {
    title: 'weights of another shape',
    changes: change(query => ({...query, shape: [5, 20]})),
    message: /query\.weight\]: expected \[10, 10\], got \[5, 20\]/,
  },
]

/** What is refused, by the code of the error. */
const REFUSED: Partial<Record<RfaErrorCode, readonly Case[]>> = {
  UNSUPPORTED: UNSUPPORTED,
  BAD_FILE: BAD_FILES,
  ARRAY_MISSING: MISSING_ARRAYS,
  FILE_MISSING: MISSING_FILES,
  SHAPE_MISMATCH: SHAPES,
}

describe('a folder is refused that has', () => {
  const cases = Object.entries(REFUSED).flatMap(([code, own]) => own.map(one => ({...one, code})))
  it.each(cases)('$title', async ({kind = 'bert', changes = {}, harm, code, message, remedy}) => {
    const folder = await modelFolder(kind, changes)
    harm?.(folder)
    const refused = await openModel(folder).catch((error: unknown) => error)
    expect(refused).toMatchObject({code, message: expect.stringMatching(message)})
    if (remedy) {
      const {suggestions} = refused as RfaError
      expect(suggestions[0]).toMatch(remedy)
    }
  })

  it('a text with an added token that the model does not know', async () => {
    const folder = await modelFolder('bert')
    const added = {id: 13, content: '<new>', special: true, normalized: false}
    const flags = {single_word: false, lstrip: false, rstrip: false}
    tokenizer(folder, {added_tokens: [{...added, ...flags}]})
    const model = await openModel(folder)
    expect((await model.tokenize(['a b'])).batches).toHaveLength(1)
    const message = expect.stringMatching(/got one with token 13/)
    await expect(model.tokenize(['a <new>'])).rejects.toMatchObject({code: 'BAD_FILE', message})
  })
})

describe('a folder is taken that has', () => {
  const open = async (kind: TinyModel, changes: FolderChanges) =>
    openModel(await modelFolder(kind, changes))

  it.each([
    ['bert', 'pooler.dense.weight'],
    ['bert', 'embeddings.position_ids'],
    ['bert', 'cls.predictions.bias'],
    ['gpt2', 'h.0.attn.bias'],
    ['gpt2', 'transformer.h.1.attn.masked_bias'],
    ['gpt2', 'lm_head.weight'],
    ['gpt2', 'score.weight'],
    ['llama', 'layers.0.self_attn.rotary_emb.inv_freq'],
    ['roberta', 'lm_head.dense.weight'],
    ['distilbert', 'vocab_transform.weight'],
    ['qwen2', 'lm_head.weight'],
  ] as const)('%s with %s, which changes nothing', async (kind, name) => {
    expect((await open(kind, extra(name, 4))).facts.kind).toBe(kind)
  })

  it.each([
    ['bert', 'BertForMaskedLM'],
    ['gpt2', 'GPT2LMHeadModel'],
    ['llama', 'LlamaForCausalLM'],
    ['roberta', 'XLMRobertaForMaskedLM'],
    ['distilbert', 'DistilBertModel'],
    ['qwen2', 'Qwen2ForCausalLM'],
    ['qwen3', 'Qwen3Model'],
  ] as const)('%s by its class, without model_type', async (kind, name) => {
    const model = await open(kind, {config: {model_type: undefined, architectures: [name]}})
    expect(model.facts.kind).toBe(kind)
  })

  it.each([
    ['a window of another architecture', 'llama', {sliding_window: 2}],
    ['biases of another architecture', 'mistral', {attention_bias: true}],
    ['XLM-RoBERTa as RoBERTa', 'roberta', {model_type: 'xlm-roberta'}],
    ['a window that is not in use', 'qwen2', {use_sliding_window: false, sliding_window: 2}],
    ['kinds of layers that all see all', 'qwen3', {layer_types: ['full_attention']}],
    ['a null where nothing is tied', 'gpt2', {tie_word_embeddings: null}],
    ['fields of odd kinds', 'bert', {architectures: 'BertModel', sliding_window: 'none'}],
  ] as const)('%s', async (_, kind, config) => {
    expect((await open(kind, {config})).facts.layers).toBe(2)
  })

  it.each([
    ['mistral', {sliding_window: 4}],
    ['qwen2', {use_sliding_window: true, sliding_window: 4, max_window_layers: 1}],
    ['qwen3', {use_sliding_window: true, sliding_window: 4, layer_types: ['sliding_attention']}],
  ] as const)('a window, for texts that are no longer: %s', async (kind, config) => {
    const model = await open(kind, {config})
    expect((await model.tokenize(['a b c d'])).batches[0]!.lengths).toEqual([4])
    await expect(model.tokenize(['a b c d e'])).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: 'texts: expected at most 4 tokens in a text, the sliding window of the model, got 5',
      suggestions: ['cut the texts: `maxTokens: 4`'],
    })
    expect((await model.tokenize(['a b c d e'], {maxTokens: 4})).batches[0]!.lengths).toEqual([4])
  })

  it('no output matrix, until predictions are wanted', async () => {
    const changes: FolderChanges = {
      arrays: arrays => {
        delete arrays['lm_head.weight']
      },
    }
    for (const kind of ['gpt2', 'llama'] as const) {
      const model = await open(kind, {...changes, config: {tie_word_embeddings: false}})
      expect(model.hasHead).toBe(false)
      await expect(model.head()).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        message: expect.stringMatching(/got one without lm_head\.weight/),
      })
      const tied = await open(kind, {...changes, config: {tie_word_embeddings: true}})
      expect(tied.hasHead).toBe(true)
    }
  })

  it('biases of queries, keys and values alone', async () => {
    const model = await open('llama', {
      config: {attention_bias: true},
      arrays: arrays => {
        for (const layer of [0, 1]) {
          for (const [name, length] of Object.entries({q: 24, k: 12, v: 12})) {
            extra(`layers.${layer}.self_attn.${name}_proj.bias`, length).arrays!(arrays)
          }
        }
      },
    })
    expect(model.facts.layers).toBe(2)
  })
})

describe('weights that are not finite', () => {
  it.each([Number.NaN, Infinity, -Infinity])('are refused when they are read: %s', async value => {
    const model = await openModel(
      await modelFolder('bert', {
        arrays: arrays => {
          arrays[QUERY]!.data[7] = value
        },
      }),
    )
    await expect(model.layer(1)).rejects.toMatchObject({
      code: 'NOT_FINITE',
      message: expect.stringMatching(
        /layer\.1\.attention\.self\.query\.weight\]: expected finite numbers, got (NaN|-?Infinity)/,
      ),
    })
  })
})

describe('a tokenizer of strangers', () => {
  const on = async (fields: object, text: string, limitMs = 1000) => {
    const folder = await modelFolder('bert')
    tokenizer(folder, fields)
    return (await openModel(folder))
      .tokenize(['a', text], {limitMs})
      .catch((error: unknown) => error)
  }
  const ended = (message: RegExp) => ({
    code: 'UNSUPPORTED',
    message: expect.stringMatching(message),
  })

  it('that has an unknown part is refused', async () => {
    expect(await on({pre_tokenizer: {type: 'Whatever'}}, 'b')).toMatchObject(
      ended(/expected a tokenizer that can be run here, got one that cannot.*Whatever/),
    )
  })

  it('is ended where a pattern takes for ever, and the text is named', async () => {
    const pattern = {Regex: '(a+)+$'}
    const pre_tokenizer = {type: 'Split', pattern, behavior: 'Isolated', invert: false}
    const text = `${'a'.repeat(60)}!`
    expect(await on({pre_tokenizer}, text)).toMatchObject(
      ended(/got one that cannot on text 2, "aaaa.*!": nothing within 1 s/),
    )
  })

  it('is ended where replacements grow without end', async () => {
    const grow = {type: 'Replace', pattern: {String: 'a'}, content: 'a'.repeat(2 ** 15)}
    const normalizer = {type: 'Sequence', normalizers: Array(9).fill(grow)}
    expect(await on({normalizer}, 'a', 60_000)).toMatchObject(ended(/got one that cannot on text/))
  })
})

describe('a name of the Hub', () => {
  const name = 'some-org/tiny-model'
  /** A cache with one model, whose files are links as in the cache of Hugging Face. */
  const cacheWith = async (...commits: string[]) => {
    const home = await newFolder()
    const own = join(home, 'hub', 'models--some-org--tiny-model')
    const blobs = await modelFolder('bert')
    for (const commit of commits) {
      mkdirSync(join(own, 'snapshots', commit), {recursive: true})
      for (const file of readdirSync(blobs)) {
        symlinkSync(join(blobs, file), join(own, 'snapshots', commit, file))
      }
    }
    return {home, own}
  }

  it('is the version of main in the cache, or the only one', async () => {
    const {home, own} = await cacheWith('aaa')
    const only = await hubFolder(name, {HF_HOME: home})
    expect(only).toBe(join(own, 'snapshots', 'aaa'))
    expect(modelName(only)).toBe('tiny-model')
    expect((await openModel(only)).facts.kind).toBe('bert')
    const both = await cacheWith('aaa', 'bbb')
    const cache = {HF_HUB_CACHE: join(both.home, 'hub')}
    mkdirSync(join(both.own, 'refs'))
    writeFileSync(join(both.own, 'refs', 'main'), 'bbb')
    expect(await hubFolder(name, cache)).toBe(join(both.own, 'snapshots', 'bbb'))
  })

  it('is refused with the command that downloads it where the cache lacks it', async () => {
    const home = await newFolder()
    await expect(hubFolder(name, {HF_HOME: home})).rejects.toMatchObject({
      code: 'FILE_MISSING',
      message: `\`model\`: expected a folder, or a model that is in ${join(home, 'hub')}, got ${name}`,
      suggestions: [expect.stringContaining(`snapshot_download('${name}'`)],
    })
  })

  it('gives way to a folder, and to what can only be a path', async () => {
    const {home} = await cacheWith('aaa')
    for (const path of ['test/unit', './some-org/tiny-model', '/a/b/c', 'tiny']) {
      expect(await hubFolder(path, {HF_HOME: home})).toBe(path)
    }
  })
})
