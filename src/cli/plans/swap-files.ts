/** What a swap reads, looked at while its plan is made. */
import {modelDigest} from '../../experiments/model-digest.js'
import type {PretrainedModel} from '../../experiments/pretrained.js'
import {packagedFile} from '../../inputs/packaged.js'
import {readTexts} from '../../inputs/texts.js'
import {hubFolder} from '../../model/hub.js'
import {type ModelFacts, openModel} from '../../model/index.js'
import type {SwapFiles, SwapFlags} from './swap.js'

/** Model and texts that are used where none are named, in the folder of packaged files. */
export const [PACKAGED_MODEL, PACKAGED_TEXTS] = ['charlm', 'charlm/texts.txt']

/** The folder of the model that flags name. @throws what looking for it throws */
export async function namedModel({model}: {model?: string | undefined}): Promise<string> {
  return model === undefined ? packagedFile(PACKAGED_MODEL) : hubFolder(model)
}

/** A model with what its folder says. */
export interface PretrainedFacts {
  facts: ModelFacts
  pinned: PretrainedModel
}

/**
 * A pretrained model.
 *
 * @param flags - name it. Default: the character model of the package
 * @throws what looking for it and opening it throw
 */
export async function pretrained(flags: {model?: string | undefined}): Promise<PretrainedFacts> {
  const folder = await namedModel(flags)
  const model = await openModel(folder)
  // a decoder is judged by its predictions
  if (model.facts.causal && !model.hasHead) await model.head()
  await model.close()
  return {facts: model.facts, pinned: {folder, digest: await modelDigest(folder)}}
}

/**
 * Facts and digests of the model and the texts that flags name.
 *
 * @throws what opening the model and reading the texts throw
 */
export async function swapFiles(flags: Pick<SwapFlags, 'model' | 'texts'>): Promise<SwapFiles> {
  const path = flags.texts ?? packagedFile(PACKAGED_TEXTS)
  const {facts, pinned} = await pretrained(flags)
  const {texts, digest} = await readTexts(path)
  return {facts, model: pinned, texts: {path, digest, lines: texts.length}}
}
