/** `config.json` of a folder: what the model is, and whether it can be run here. */
import {join} from 'node:path'
import {z} from 'zod'
import {describe, expected, type RfaError} from '../errors.js'
import {parseWith} from '../results/journal/parse-record.js'
import {type Architecture, type Configured, unsupported} from './architecture.js'
import {architectures, type Kind} from './architectures/index.js'
import {readJson} from './json.js'
import type {ModelFacts} from './model.js'
import {EXPORT} from './unread.js'

/** What a folder is: facts, the names of its weights, and what is made of them. */
export interface FolderConfig extends Pick<Architecture, 'weights'>, Pick<Configured, 'parts'> {
  facts: ModelFacts
}

const head = z.looseObject({
  model_type: z.string().nullish(),
  architectures: z.array(z.string()).nullish().catch(null),
  quantization_config: z.looseObject({quant_method: z.string().optional()}).nullish(),
  is_causal: z.unknown().optional(),
})

/**
 * Reads `config.json`.
 *
 * @param folder - as the user wrote it
 * @throws {FILE_MISSING | BAD_FILE} when the file is not there, or is not a configuration of a model
 * @throws {UNSUPPORTED} for other architectures than those of the registry, and for parts of them that are not computed
 *   here: each by its name
 */
export async function readConfig(folder: string): Promise<FolderConfig> {
  const file = join(folder, 'config.json')
  const json = await readJson(file, 'give a folder that `save_pretrained` of Transformers wrote')
  const named = parseWith(head, json, file, 'the configuration of a model')
  const all = await architectures()
  const classes = named.architectures ?? []
  const found = all.find(({types, classes: own}) =>
    named.model_type == null
      ? classes.some(name => own.test(name))
      : types.includes(named.model_type),
  )
  if (!found) throw otherArchitecture(file, all, named.model_type ?? classes, json)
  const {quantization_config: quantised, is_causal: causal} = named
  if (quantised) {
    const got = `quantization_config of ${describe(quantised.quant_method ?? 'some method')}`
    const remedy = 'save the model without quantisation'
    throw expected('UNSUPPORTED', file, 'weights of type F32, F16 or BF16', got, remedy)
  }
  const {facts, parts} = found.read(file, json)
  if (facts.causal && causal !== undefined && !causal) {
    throw unsupported(file, 'a causal model', `is_causal ${describe(causal)}`)
  }
  return {facts: {kind: found.kind, ...facts}, weights: found.weights, parts}
}

/** @param given - a `model_type`, or classes where there is none */
function otherArchitecture(
  file: string,
  all: readonly (Architecture & {kind: Kind})[],
  given: string | readonly string[],
  json: object,
): RfaError {
  const what = `a model_type of ${all.flatMap(({types}) => types).join(', ')}`
  if (typeof given !== 'string') {
    const got = given.length > 0 ? `none, and architectures ${describe(given)}` : 'none'
    const remedy =
      'where the model is one of these, write "model_type": "llama", say, into config.json'
    return expected('UNSUPPORTED', file, what, got, remedy, EXPORT)
  }
  const biased = 'relative_attention_num_buckets' in json
  const got = `${describe(given)}${biased ? ', which adds position biases to the logits of attention' : ''}`
  return expected('UNSUPPORTED', file, what, got, EXPORT)
}
