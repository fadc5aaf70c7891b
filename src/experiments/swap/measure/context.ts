/** The original model on the texts of a plan: what all cells are held against, computed once in each process. */
import type {tf} from '../../../attention/index.js'
import {fileChanged} from '../../../inputs/files/recorded-source.js'
import {readTexts} from '../../../inputs/texts.js'
import {exactLayerAttention, type Model, openModel, type TokenBatch} from '../../../model/index.js'
import {modelDigest} from '../../model-digest.js'
import {assertSameShape, assertSameTokens} from '../changed-weights.js'
import {leastTokens} from '../least-tokens.js'
import type {SwapCell} from '../schema.js'
import type {MeasuredBatch, MeasuredTexts, OnPass} from './engine.js'
import {overTokens, requireFinite, tokenSquares} from './token-squares.js'

/** A batch with the hidden states of the original: `[B, L, width]` before the first layer and after each. */
export interface OriginalBatch extends MeasuredBatch {
  tokens: TokenBatch
  hidden: tf.Tensor3D[]
}

/** The original on all texts. */
export interface Original extends MeasuredTexts {
  model: Model
  batches: readonly OriginalBatch[]
  /** What is exchanged, where it has other weights, with its embeddings of the batches, `[B, L, width]`. */
  changed?: {model: Model; embedded: readonly tf.Tensor3D[]}
}

type Read = Pick<SwapCell, 'model' | 'original' | 'texts' | 'max_tokens' | 'backend'>

let kept: {key: string; made: Promise<Original>} | undefined

/** The original of a cell, kept for the next cells. @param onPass - not called for one that is kept */
export function originalOf(
  {model, original, texts, max_tokens, backend}: Read,
  onPass?: OnPass,
): Promise<Original> {
  const key = JSON.stringify([model, original, texts, max_tokens, backend])
  if (kept?.key === key) return kept.made
  const before = kept?.made
  const made = (async () => {
    await before?.then(dispose, () => undefined)
    return runOriginal({model, original, texts, max_tokens}, onPass)
  })()
  kept = {key, made}
  made.catch(() => {
    if (kept?.made === made) kept = undefined
  })
  return made
}

/**
 * @throws {SHAPE_MISMATCH} for an original with other sizes or other tokens than the exchanged model
 * @throws {FILE_CHANGED} for another model or other texts than the plan was made of
 * @throws {BAD_FILE} where no text has a second token, which a causal model would predict
 * @throws {NOT_FINITE} where the original itself leaves what float32 can hold
 */
async function runOriginal(
  {model: exchanged, original, texts: spec, max_tokens: maxTokens}: Omit<Read, 'backend'>,
  onPass?: OnPass,
): Promise<Original> {
  const read = await readTexts(spec.path)
  if (read.digest !== spec.digest) throw fileChanged(spec.path)
  const model = await openPinned(original ?? exchanged)
  const texts = read.texts.slice(0, spec.count)
  const least = leastTokens(model.facts)
  const {batches, order, leftOut} = await model.tokenize(texts, {maxTokens, least})
  const own: OriginalBatch[] = []
  for (const [at, tokens] of batches.entries()) {
    const embedded = await model.embed(tokens)
    const squares = [tokenSquares(embedded)]
    own.push({tokens, texts: order[at]!, hidden: [embedded], squares})
  }
  for (let index = 0; index < model.facts.layers; index++) {
    const layer = await model.layer(index)
    for (const {tokens, hidden, squares} of own) {
      const next = layer.forward(hidden[index]!, tokens, exactLayerAttention)
      hidden.push(next)
      squares.push(tokenSquares(next))
      requireFinite(overTokens(squares.at(-1)!, tokens), `the original, after layer ${index}`)
      onPass?.(model.facts.layers * own.length)
    }
    layer.dispose()
  }
  const lengths = own.flatMap(({tokens}) => tokens.lengths)
  return {
    model,
    ...(original && {changed: await changedModel(exchanged, model, {batches, texts, maxTokens})}),
    batches: own,
    texts: lengths.length,
    tokens: lengths.reduce((sum, length) => sum + length, 0),
    leftOut,
  }
}

async function openPinned({folder, digest}: SwapCell['model']): Promise<Model> {
  if ((await modelDigest(folder)) !== digest) throw fileChanged(folder)
  return openModel(folder)
}

/** What is exchanged, where it has other weights than the original. */
async function changedModel(
  pinned: SwapCell['model'],
  {facts}: Model,
  read: {batches: readonly TokenBatch[]; texts: readonly string[]; maxTokens: number},
): Promise<NonNullable<Original['changed']>> {
  const model = await openPinned(pinned)
  assertSameShape(model.facts, facts)
  const {texts, maxTokens, batches} = read
  const own = await model.tokenize(texts, {maxTokens, least: leastTokens(facts)})
  assertSameTokens(own.batches, batches)
  const embedded: tf.Tensor3D[] = []
  for (const tokens of batches) embedded.push(await model.embed(tokens))
  return {model, embedded}
}

async function dispose({model, changed, batches}: Original): Promise<void> {
  for (const {hidden} of batches) for (const tensor of hidden) tensor.dispose()
  for (const tensor of changed?.embedded ?? []) tensor.dispose()
  await model.close()
  await changed?.model.close()
}
