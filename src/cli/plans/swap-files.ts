/** What a swap reads, looked at while its plan is made. */
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {expected} from '../../errors.js'
import {fileDigest, modelDigest} from '../../experiments/model-digest.js'
import type {PretrainedModel} from '../../experiments/pretrained.js'
import {assertSameShape} from '../../experiments/swap/changed-weights.js'
import {leastTokens} from '../../experiments/swap/least-tokens.js'
import {packagedFile} from '../../inputs/packaged.js'
import {readTexts} from '../../inputs/texts.js'
import {type Opened, openByEngine} from '../../model/engines.js'
import {hubFolder} from '../../model/hub.js'
import {
  type Model,
  type ModelFacts,
  openTransformers,
  type TransformersModel,
} from '../../model/index.js'
import {readOf, type SwapFiles, type SwapFlags, type TokenFlags} from './swap.js'

/** Model and texts that are used where none are named, in the folder of packaged files. */
export const [PACKAGED_MODEL, PACKAGED_TEXTS] = ['charlm', 'charlm/texts.txt']
/** What that model learned on other texts, which `--quick` alone shows. */
export const PACKAGED_TUNED = 'charlm-tuned.safetensors'

type Named = Pick<SwapFlags, 'model' | 'texts'> &
  Partial<Pick<SwapFlags, 'original' | 'engine' | 'inputs' | 'device'>> &
  TokenFlags

/** The folder of the model that flags name: by its path, the name of the packaged one, or a name on the Hub. */
export async function namedModel({model}: {model?: string | undefined}): Promise<string> {
  if (model === undefined) return packagedFile(PACKAGED_MODEL)
  // a folder of that name may be the one of a run
  const isPackaged = model === PACKAGED_MODEL && !existsSync(join(model, 'config.json'))
  return isPackaged ? packagedFile(PACKAGED_MODEL) : hubFolder(model)
}

/** A model with what its folder says, and what runs it, if that is not the program. */
export interface PretrainedFacts extends Pick<SwapFiles, 'engine' | 'device'> {
  facts: Omit<ModelFacts, 'kind'>
  pinned: PretrainedModel
}

/**
 * A pretrained model.
 *
 * @param flags - name it. Default: the character model of the package, and this program as its engine
 */
export async function pretrained({
  engine = 'native',
  ...flags
}: Pick<Partial<SwapFlags>, 'model' | 'engine' | 'device'>): Promise<PretrainedFacts> {
  const folder = await namedModel(flags)
  const asked = engineFor({engine, device: flags.device})
  const {native, transformers} = await openByEngine(folder, {...asked, look: requireHead})
  await native?.close()
  transformers?.close()
  if (native) return {facts: native.facts, pinned: {folder, digest: await modelDigest(folder)}}
  const digest = await modelDigest(folder, 'transformers')
  return {facts: transformers.facts, pinned: {folder, digest}, ...engineOf(transformers)}
}

/** A model of Transformers that stays open for what comes next, in the process that started it. */
export interface KeptModel {
  transformers?: TransformersModel | undefined
}

/**
 * Facts and digests of the model and the texts that flags name.
 *
 * @param kept - takes the model, where Transformers runs it, and has it for the next call. Default: it is closed
 * @throws {USAGE} for arrays and devices that the native engine does not have
 * @throws {SHAPE_MISMATCH} for an original with other sizes
 */
export async function swapFiles(flags: Named, kept?: KeptModel): Promise<SwapFiles> {
  const {original, ...own} = flags
  const files = await ownFiles(own, kept)
  if (original === undefined) return files
  const other = await ownFiles({...own, model: original, engine: files.engine?.name ?? 'native'})
  assertSameShape(files.facts, other.facts)
  // with the same weights there is one model
  if (other.model.digest === files.model.digest) return files
  return {...files, original: other.model}
}

/** The same without another original. */
async function ownFiles(flags: Omit<Named, 'original'>, kept?: KeptModel): Promise<SwapFiles> {
  const {engine, device} = engineFor(flags)
  const folder = await namedModel(flags)
  if (flags.inputs !== undefined) return arrayFiles(folder, flags.inputs, flags)
  const {native, transformers}: Opened = kept?.transformers
    ? {transformers: kept.transformers}
    : await openByEngine(folder, {engine, device, look: requireHead})
  if (kept) kept.transformers = transformers
  try {
    const {texts, letters, ...read} = await namedTexts(flags)
    if (native) {
      await native.close()
      const pinned = {folder, digest: await modelDigest(folder)}
      return {facts: native.facts, model: pinned, texts: read, letters}
    }
    const facts = await looked(transformers, texts, flags)
    const pinned = {folder, digest: await modelDigest(folder, 'transformers')}
    return {facts, model: pinned, texts: read, letters, ...engineOf(transformers)}
  } finally {
    if (!kept) transformers?.close()
  }
}

/** The flags that choose the engine of a plan again: none of this program's own. */
export function engineWords({
  engine,
  device,
}: Pick<PretrainedFacts, 'engine' | 'device'>): string[] {
  return [...(engine ? ['--engine', engine.name] : []), ...(device ? ['--device', device] : [])]
}

/**
 * The engine of flags: arrays and other devices than the processor are for Transformers alone.
 *
 * @throws {USAGE} for these with the native one
 */
export function engineFor({
  engine = 'auto',
  inputs,
  device,
}: Pick<Named, 'engine' | 'inputs' | 'device'>) {
  const [flag] = [
    ...(inputs === undefined ? [] : ['--inputs']),
    ...((device ?? 'cpu') === 'cpu' ? [] : ['--device']),
  ]
  if (flag === undefined) return {engine, device}
  if (engine !== 'native') return {engine: 'transformers' as const, device}
  throw expected('USAGE', flag, '--engine transformers with it', 'native')
}

/** Facts of a model that reads arrays. */
async function arrayFiles(
  folder: string,
  path: string,
  {device}: Pick<Named, 'device'>,
): Promise<SwapFiles> {
  const digest = await fileDigest(path)
  const model = await openTransformers(folder, {inputs: path, device})
  try {
    const pinned = {folder, digest: await modelDigest(folder, 'transformers')}
    const texts = {path, digest, lines: model.count!, format: 'npz' as const}
    return {facts: model.facts, model: pinned, texts, letters: [], ...engineOf(model)}
  } finally {
    model.close()
  }
}

/** The texts that flags name, with what is known of their file. */
export async function namedTexts({
  texts: path = packagedFile(PACKAGED_TEXTS),
}: Pick<Named, 'texts'>) {
  const {texts, digest} = await readTexts(path)
  return {path, digest, texts, lines: texts.length, letters: texts.map(text => text.length)}
}

/** A decoder is judged by its predictions. @throws where it has none */
async function requireHead(model: Model): Promise<void> {
  if (model.facts.causal && !model.hasHead) await model.head()
}

/** Facts of a model that sees all tokens of these texts. */
async function looked(
  model: TransformersModel,
  texts: readonly string[],
  flags: TokenFlags,
): Promise<TransformersModel['facts']> {
  const {facts} = model
  const {count, maxTokens} = readOf(flags, texts.length, facts)
  const least = leastTokens(facts)
  const {batches} = await model.tokenize(texts.slice(0, count), {maxTokens, least})
  await model.check(Math.max(...batches.map(({length}) => length)))
  return facts
}

/** What runs a model, with sizes that the model says, and on what. */
function engineOf({facts, parameters, engine}: TransformersModel) {
  const {layers, heads, headDim: head_dim, width, vocabulary} = facts
  const kind = engine.device_kind
  return {
    engine: {
      ...{name: 'transformers' as const, layers, heads, head_dim, width, vocabulary},
      parameters,
    },
    ...(kind !== 'cpu' && {device: kind}),
  }
}
