/**
 * How an encoder makes one vector of the hidden states of a text: as `modules.json` of Sentence Transformers says, or else the mean over
 * tokens.
 */
import {join} from 'node:path'
import {z} from 'zod'
import {dense} from '../attention/internal.js'
import {describe, expected, type RfaError} from '../errors.js'
import {parseWith} from '../results/journal/parse-record.js'
import {tf} from '../tf.js'
import {readAnyJson, readJson, readOptionalJson} from './json.js'
import type {TokenBatch} from './types.js'
import {matrix, openWeights, vector, weightFiles} from './weights.js'

/** What becomes of the hidden states of a text. */
export interface Pooling {
  /** In words: what is pooled, and what comes after. */
  text: string
  /** Vectors of the texts of a batch, `[B, W]`. */
  embed(hidden: tf.Tensor3D, batch: TokenBatch): tf.Tensor2D
  /** Files in the folder that say so. */
  files: string[]
}

const MODULES = 'modules.json'
const PROMPTS = 'config_sentence_transformers.json'
const REMEDY = 'save the model with `SentenceTransformer.save(FOLDER)`, or take modules.json away'

/** What a mode is called, and the share that each token of a text has in it; `undefined`: the largest entries. */
interface Mode {
  name: string
  field: string
  share?: (token: number, tokens: number) => number
}

/** In the order in which Sentence Transformers puts them side by side. */
const MODES: readonly Mode[] = [
  {name: 'cls', field: 'pooling_mode_cls_token', share: token => (token === 0 ? 1 : 0)},
  {name: 'max', field: 'pooling_mode_max_tokens'},
  {name: 'mean', field: 'pooling_mode_mean_tokens', share: (_, tokens) => 1 / tokens},
  {
    name: 'mean_sqrt_len_tokens',
    field: 'pooling_mode_mean_sqrt_len_tokens',
    share: (_, tokens) => tokens ** -0.5,
  },
  {
    name: 'weightedmean',
    field: 'pooling_mode_weightedmean_tokens',
    share: (token, tokens) => (2 * (token + 1)) / (tokens * (tokens + 1)),
  },
  {
    name: 'lasttoken',
    field: 'pooling_mode_lasttoken',
    share: (token, tokens) => (token === tokens - 1 ? 1 : 0),
  },
]
const MEAN = MODES.filter(({name}) => name === 'mean')

const moduleList = z.array(z.looseObject({path: z.string(), type: z.string()}))
const width = z.int().positive()
const denseConfig = z.looseObject({
  in_features: width,
  out_features: width,
  bias: z.boolean().default(true),
  activation_function: z.string().default('torch.nn.modules.activation.Tanh'),
  module_input_name: z.string().nullish(),
  module_output_name: z.string().nullish(),
})

/** Functions after a Dense, by their classes. */
const ACTIVATIONS: Readonly<Record<string, (x: tf.Tensor2D) => tf.Tensor2D>> = {
  Identity: x => x,
  // not every backend has its tanh
  Tanh: x => tf.sub(tf.mul(tf.sigmoid(tf.mul(x, 2)), 2), 1),
  ReLU: x => tf.relu(x),
  Sigmoid: x => tf.sigmoid(x),
}

/** A step from vectors to vectors. */
interface Step {
  text: string
  files?: string[]
  apply(x: tf.Tensor2D): tf.Tensor2D
}

/**
 * Reads how a folder pools.
 *
 * @param size - W, entries of a hidden state
 * @throws {FILE_MISSING | BAD_FILE | ARRAY_MISSING | SHAPE_MISMATCH | NOT_FINITE} for damaged files of modules
 * @throws {UNSUPPORTED} for modules and modes that are not computed here, by their names
 */
export async function openPooling(folder: string, size: number): Promise<Pooling> {
  const modules = await modulesOf(folder)
  if (modules === undefined) return poolingOf(MEAN, [], [])
  const [transformer, pool, ...others] = modules
  if (transformer?.name !== 'Transformer' || transformer.path !== '' || pool?.name !== 'Pooling') {
    const what = 'a Transformer in the folder itself, and a Pooling after it'
    const got = describe(modules.slice(0, 2).map(({name, path}) => `${name} in "${path}"`))
    throw expected('UNSUPPORTED', join(folder, MODULES), what, got, REMEDY)
  }
  const file = join(pool.path, 'config.json')
  const modes = await modesOf(join(folder, file))
  const steps: Step[] = []
  let width = modes.length * size
  for (const own of others) {
    const step = await stepOf(folder, own, width)
    width = step.width
    steps.push(step)
  }
  const prompt = await promptOf(folder)
  const files = [MODULES, file, ...steps.flatMap(step => step.files ?? [])]
  return poolingOf(modes, [...steps, ...prompt], files)
}

/** At unit length: no embedding is divided by zero, as Transformers' users do. */
function unit(x: tf.Tensor2D): tf.Tensor2D {
  return tf.div(x, tf.maximum(tf.sqrt(tf.sum(tf.square(x), -1, true)), 1e-12))
}

function same(x: tf.Tensor2D): tf.Tensor2D {
  return x
}

function poolingOf(modes: readonly Mode[], steps: readonly Step[], files: string[]): Pooling {
  return {
    text: [modes.map(({name}) => name).join(' + '), ...steps.map(step => step.text)].join(', '),
    files,
    embed: (hidden, batch) =>
      tf.tidy(() => {
        const parts = modes.map(mode => pooled(mode, hidden, batch))
        const [first] = parts
        const vectors = parts.length === 1 ? first! : (tf.concat(parts, 1) as tf.Tensor2D)
        const own = steps.reduce((x, step) => step.apply(x), vectors)
        // once more would round once more
        return steps.findLast(step => step.apply !== same)?.apply === unit ? own : unit(own)
      }),
  }
}

function pooled({share}: Mode, hidden: tf.Tensor3D, {batch, length, lengths}: TokenBatch) {
  const shares = new Float32Array(batch * length)
  lengths.forEach((tokens, row) => {
    for (let at = 0; at < tokens; at++) shares[row * length + at] = share?.(at, tokens) ?? 1
  })
  const rows = tf.tensor3d(shares, [batch, 1, length])
  if (share) return tf.reshape(tf.matMul(rows, hidden), [batch, -1]) as tf.Tensor2D
  // tokens that are not there are below all others
  const present = tf.reshape(rows, [batch, length, 1])
  const low = tf.mul(tf.sub(present, 1), 1e9)
  return tf.max(tf.add(tf.mul(hidden, present), low), 1) as tf.Tensor2D
}

/** A module by the last part of its type. */
interface Module {
  name: string
  path: string
}

/** Modules in their order; `undefined` where none are named. */
async function modulesOf(folder: string): Promise<Module[] | undefined> {
  const file = join(folder, MODULES)
  const json = await readAnyJson(file, '').catch((error: RfaError) => {
    if (error.code === 'FILE_MISSING') return undefined
    throw error
  })
  if (json === undefined) return undefined
  return parseWith(moduleList, json, file, 'a list of modules', REMEDY).map(({type, path}) => {
    if (path !== '' && !/^\w[\w.-]*$/.test(path)) {
      throw expected('BAD_FILE', file, 'names of folders in its own', describe(path), REMEDY)
    }
    const name = type.split('.').at(-1)!
    const known = ['Transformer', 'Pooling', 'Dense', 'Normalize', 'Dropout']
    if (type.startsWith('sentence_transformers.') && known.includes(name)) return {name, path}
    throw expected('UNSUPPORTED', file, `modules ${known.join(', ')}`, describe(type), REMEDY)
  })
}

const poolingConfig = z.looseObject({
  pooling_mode: z.union([z.string(), z.array(z.string())]).nullish(),
})

/** Modes of a configuration: names, or a field for each that is true or false. */
async function modesOf(file: string): Promise<Mode[]> {
  const json = await readJson(file, REMEDY)
  const config = parseWith(poolingConfig, json, file, 'a way of pooling', REMEDY)
  const asked = config.pooling_mode
  const fields = {pooling_mode_mean_tokens: true, ...config}
  const names = asked
    ? [asked].flat()
    : Object.entries(fields).flatMap(([field, on]) =>
        field.startsWith('pooling_mode_') && on === true ? [field] : [],
      )
  const modes = MODES.filter(({name, field}) => names.includes(name) || names.includes(field))
  const other = names.find(name => modes.every(mode => ![mode.name, mode.field].includes(name)))
  if (modes.length > 0 && other === undefined) return modes
  const what = `pooling by ${MODES.map(({name}) => name).join(', ')}`
  throw expected('UNSUPPORTED', file, what, describe(other ?? 'none of them'), REMEDY)
}

/** What follows the pooling. */
async function stepOf(
  folder: string,
  {name, path}: Module,
  width: number,
): Promise<Step & {width: number}> {
  if (name === 'Normalize') return {text: name, width, apply: unit}
  if (name === 'Dropout') return {text: name, width, apply: same}
  if (name === 'Dense') return denseStep(folder, path, width)
  const got = `${name} after the pooling`
  throw expected('UNSUPPORTED', join(folder, MODULES), 'Dense or Normalize there', got, REMEDY)
}

async function denseStep(folder: string, path: string, width: number) {
  const file = join(folder, path, 'config.json')
  const json = await readJson(file, REMEDY)
  const config = parseWith(denseConfig, json, file, 'the configuration of a Dense', REMEDY)
  const {in_features, out_features, bias} = config
  const name = config.activation_function.split('.').at(-1)!
  const activation = Object.hasOwn(ACTIVATIONS, name) ? ACTIVATIONS[name] : undefined
  if (!activation) {
    const what = `a Dense with ${Object.keys(ACTIVATIONS).join(', ')}`
    throw expected('UNSUPPORTED', file, what, describe(config.activation_function), REMEDY)
  }
  const places = [config.module_input_name, config.module_output_name]
  if (places.some(place => place != null && place !== 'sentence_embedding')) {
    const what = 'a Dense of the vectors of texts'
    throw expected('UNSUPPORTED', file, what, `one of ${describe(places)}`, REMEDY)
  }
  if (in_features !== width) {
    throw expected('BAD_FILE', file, `in_features ${width}`, String(in_features), REMEDY)
  }
  const weights = await openWeights(join(folder, path), '', REMEDY)
  const matrixData = await weights.readData(matrix('linear.weight', out_features, in_features))
  const biasData = bias ? await weights.readData(vector('linear.bias', out_features)) : undefined
  const known = ['linear.weight', ...(bias ? ['linear.bias'] : [])]
  const unread = weights.names().find(own => !known.includes(own))
  if (unread !== undefined) {
    const what = `no weights but ${known.join(' and ')}, as its config.json says`
    throw expected('UNSUPPORTED', join(folder, path), what, describe(unread), REMEDY)
  }
  const apply = (x: tf.Tensor2D) => {
    const own = tf.tensor2d(matrixData, [out_features, in_features])
    const shift = biasData && tf.tensor1d(biasData)
    return activation(dense(x, own, {bias: shift, transposed: true}))
  }
  const files = [
    join(path, 'config.json'),
    ...(await weightFiles(join(folder, path))).map(own => join(path, own)),
  ]
  return {text: `Dense (${name})`, width: out_features, files, apply}
}

const promptConfig = z.looseObject({
  prompts: z.record(z.string(), z.string()).nullish().catch(null),
  default_prompt_name: z.string().nullish().catch(null),
})

/** A prompt that Sentence Transformers would put before every text, and that is left out here. */
async function promptOf(folder: string): Promise<Step[]> {
  const {prompts, default_prompt_name: name} = promptConfig.parse(
    await readOptionalJson(join(folder, PROMPTS)),
  )
  const prompt = name && prompts && Object.hasOwn(prompts, name) ? prompts[name] : ''
  return prompt ? [{text: `without its prompt ${describe(prompt)}`, apply: same}] : []
}
