import {execFileSync} from 'node:child_process'
import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../../src/backends/index.js'
import {writeArrays} from '../../../src/inputs/files/index.js'
import {modelFiles, openModel, type TokenBatch} from '../../../src/model/index.js'
import {tf} from '../../../src/tf.js'
import {modelFolder, writeJson} from '../../helpers/model-folders.js'

beforeAll(() => useBackend('cpu'))

const WIDTH = 10
const NAMESPACE = 'sentence_transformers.models'
const BATCH: TokenBatch = {ids: new Int32Array(6), batch: 2, length: 3, lengths: [3, 2]}

type Steps = readonly {type: string; path: string; config?: object}[]

/** A folder with modules after the model itself. */
async function folderOf(steps: Steps, transformer = ''): Promise<string> {
  const folder = await modelFolder('bert')
  const all = [{type: 'Transformer', path: transformer}, ...steps]
  writeJson(
    folder,
    'modules.json',
    all.map(({type, path}, idx) => ({
      idx,
      name: `${idx}`,
      path,
      type: type.includes('.') ? type : `${NAMESPACE}.${type}`,
    })),
  )
  for (const {path, config} of steps) {
    if (!config) continue
    await mkdir(join(folder, path), {recursive: true})
    writeJson(join(folder, path), 'config.json', config)
  }
  return folder
}

/** Pooling by some modes. */
function pool(...modes: string[]): Steps {
  const off = {
    pooling_mode_mean_tokens: false,
    word_embedding_dimension: WIDTH,
    include_prompt: true,
  }
  const on = Object.fromEntries(modes.map(mode => [`pooling_mode_${mode}`, true]))
  return [{type: 'Pooling', path: '1_Pooling', config: {...off, ...on}}]
}

/** Hidden states of two texts, the second with a token of padding that would be seen everywhere. */
const STATES = Array.from({length: 2}, (_, text) =>
  Array.from({length: 3}, (_, token) =>
    Array.from({length: WIDTH}, (_, i) =>
      text === 1 && token === 2 ? 1000 : Math.sin(1 + 30 * text + 10 * token + i),
    ),
  ),
)

async function embedded(folder: string): Promise<number[][]> {
  const model = await openModel(folder)
  return tf.tidy(() => model.embedding(tf.tensor3d(STATES), BATCH).arraySync())
}

function unit(vector: number[]): number[] {
  const norm = Math.hypot(...vector)
  return vector.map(x => x / norm)
}

/** The same in plain loops. */
function pooledBy(mode: string, states: number[][]): number[] {
  const columns = states[0]!.map((_, i) => states.map(state => state[i]!))
  const n = states.length
  const sum = (own: number[]) => own.reduce((all, x) => all + x, 0)
  if (mode === 'cls_token') return states[0]!
  if (mode === 'lasttoken') return states.at(-1)!
  if (mode === 'max_tokens') return columns.map(own => Math.max(...own))
  if (mode === 'weightedmean_tokens') {
    return columns.map(
      own => sum(own.map((x, at) => (at + 1) * x)) / sum(own.map((_, at) => at + 1)),
    )
  }
  return columns.map(own => sum(own) / (mode === 'mean_tokens' ? n : Math.sqrt(n)))
}

/** float32: sums of some 30 terms, a square, a root and a division. */
const ROUNDING = 100 * 2 ** -24

function expectNear(found: number[][], wanted: number[][]): void {
  expect(found.map(row => row.length)).toEqual(wanted.map(row => row.length))
  for (const [row, own] of found.entries()) {
    own.forEach((x, i) => {
      expect(Math.abs(x - wanted[row]![i]!)).toBeLessThan(ROUNDING)
    })
  }
}

const texts = () => [STATES[0]!, STATES[1]!.slice(0, 2)]
const MODES = [
  'cls_token',
  'max_tokens',
  'mean_tokens',
  'mean_sqrt_len_tokens',
  'weightedmean_tokens',
  'lasttoken',
]

describe('an encoder pools', () => {
  it.each(MODES)('by %s', async mode => {
    const folder = await folderOf(pool(mode))
    expectNear(
      await embedded(folder),
      texts().map(states => unit(pooledBy(mode, states))),
    )
    expect((await openModel(folder)).pooledBy).toBe(mode.replace(/(?<!len)_tokens?$/, ''))
    expect(await modelFiles(folder)).toContain(join('1_Pooling', 'config.json'))
  })

  it('by several modes side by side', async () => {
    const folder = await folderOf(pool('mean_tokens', 'cls_token'))
    const wanted = texts().map(own =>
      unit([...pooledBy('cls_token', own), ...pooledBy('mean_tokens', own)]),
    )
    expectNear(await embedded(folder), wanted)
  })

  it('with a Normalize at its end to the same bits as without', async () => {
    const normalized = [...pool('mean_tokens'), {type: 'Normalize', path: '2_Normalize'}]
    // so many texts that a second division by a length would change some of them
    const states = Array.from({length: 500}, (_, text) => [
      Array.from({length: WIDTH}, (_, i) => Math.sin(1 + 10 * text + i)),
    ])
    const batch = {ids: new Int32Array(500), batch: 500, length: 1, lengths: states.map(() => 1)}
    const [found, wanted] = await Promise.all(
      [await folderOf(normalized), await modelFolder('bert')].map(async folder => {
        const model = await openModel(folder)
        return tf.tidy(() => model.embedding(tf.tensor3d(states), batch).arraySync())
      }),
    )
    expect(found).toEqual(wanted)
  })

  it('by the mean where no modules are named', async () => {
    const folder = await modelFolder('bert')
    expect((await openModel(folder)).pooledBy).toBe('mean')
    expectNear(
      await embedded(folder),
      texts().map(own => unit(pooledBy('mean_tokens', own))),
    )
  })

  it.each(['Tanh', 'Identity', 'ReLU', 'Sigmoid'])('with a Dense of %s behind it', async name => {
    const out = 4
    const weight = Float32Array.from({length: out * WIDTH}, (_, i) => Math.cos(i))
    const bias = Float32Array.from({length: out}, (_, i) => i / 8)
    const config = {
      in_features: WIDTH,
      out_features: out,
      bias: true,
      activation_function: `torch.nn.modules.activation.${name}`,
    }
    const steps = [
      ...pool('cls_token'),
      {type: 'Normalize', path: '2_Normalize'},
      {type: 'Dense', path: '3_Dense', config},
    ]
    const folder = await folderOf(steps)
    await writeArrays(join(folder, '3_Dense', 'model.safetensors'), {
      'linear.weight': {shape: [out, WIDTH], dtype: 'float32', data: weight},
      'linear.bias': {shape: [out], dtype: 'float32', data: bias},
    })
    const apply: Record<string, (x: number) => number> = {
      Tanh: Math.tanh,
      Identity: x => x,
      ReLU: x => Math.max(0, x),
      Sigmoid: x => 1 / (1 + Math.exp(-x)),
    }
    const wanted = texts().map(own => {
      const x = unit(pooledBy('cls_token', own))
      return unit(
        Array.from({length: out}, (_, j) =>
          apply[name]!(x.reduce((sum, xi, i) => sum + xi * weight[j * WIDTH + i]!, bias[j]!)),
        ),
      )
    })
    expectNear(await embedded(folder), wanted)
    expect((await openModel(folder)).pooledBy).toBe(`cls, Normalize, Dense (${name})`)
    expect(await modelFiles(folder)).toContain(join('3_Dense', 'model.safetensors'))
  })

  it('without a prompt, which is said', async () => {
    const folder = await folderOf(pool('mean_tokens'))
    writeJson(folder, 'config_sentence_transformers.json', {
      prompts: {query: 'query: '},
      default_prompt_name: 'query',
    })
    expect((await openModel(folder)).pooledBy).toBe('mean, without its prompt "query: "')
  })

  const dense = (changes: object): Steps => [
    ...pool('mean_tokens'),
    {type: 'Dense', path: '2_Dense', config: {in_features: WIDTH, out_features: 4, ...changes}},
  ]
  it.each([
    [
      'a mode that is not known',
      pool('attention_tokens'),
      /by cls, max, .*, got "pooling_mode_attention_tokens"/,
    ],
    ['no mode', pool(), /got "none of them"/],
    [
      'layers that are weighted',
      [{type: 'WeightedLayerPooling', path: '1_W'}],
      /got "sentence_transformers\.models\.WeightedLayerPooling"/,
    ],
    [
      'a module of its own',
      [...pool('cls_token'), {type: 'custom.Dense', path: '2_Dense'}],
      /got "custom\.Dense"/,
    ],
    [
      'a Dense before the pooling',
      [{type: 'Dense', path: '1_Dense'}, ...pool('cls_token')],
      /and a Pooling after it, got \[Transformer in "", Dense/,
    ],
    [
      'another function after a Dense',
      dense({activation_function: 'torch.nn.GELU'}),
      /a Dense with Identity, .*, got "torch\.nn\.GELU"/,
    ],
    [
      'a Dense of tokens',
      dense({module_input_name: 'token_embeddings'}),
      /a Dense of the vectors of texts/,
    ],
    ['a Dense of another width', dense({in_features: 3}), /expected in_features 10, got 3/],
    ['a Dense without weights', dense({}), /2_Dense: expected model\.safetensors/],
    [
      'a folder elsewhere',
      [{type: 'Pooling', path: '../1_Pooling'}],
      /names of folders in its own, got "\.\.\/1_Pooling"/,
    ],
    [
      'no configuration',
      [{type: 'Pooling', path: '1_Pooling'}],
      /1_Pooling.config\.json: expected a file, got none/,
    ],
  ] as const)('never by guessing: %s', async (_, steps, message) => {
    await expect(openModel(await folderOf(steps))).rejects.toThrow(message)
  })

  it.each([
    ['a shift that its configuration denies', {bias: false}, 'linear.bias'],
    ['other weights', {}, 'lora_A.weight'],
  ])('never without %s', async (_, changes, name) => {
    const folder = await folderOf(dense(changes))
    await writeArrays(join(folder, '2_Dense', 'model.safetensors'), {
      'linear.weight': {shape: [4, WIDTH], dtype: 'float32', data: new Float32Array(4 * WIDTH)},
      'linear.bias': {shape: [4], dtype: 'float32', data: new Float32Array(4)},
      [name]: {shape: [4], dtype: 'float32', data: new Float32Array(4)},
    })
    await expect(openModel(folder)).rejects.toThrow(
      `as its config.json says, got ${JSON.stringify(name)}`,
    )
  })

  it('never by a list that is none, or a pipe', async () => {
    const folder = await modelFolder('bert')
    await writeFile(join(folder, 'modules.json'), '{}')
    await expect(openModel(folder)).rejects.toThrow(/modules\.json: expected a list of modules/)
    const piped = await modelFolder('bert')
    execFileSync('mkfifo', [join(piped, 'modules.json')])
    await expect(openModel(piped)).rejects.toThrow(/expected a file, got a pipe/)
  })
})
