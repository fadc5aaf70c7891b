/** The original model on the texts of a plan: what all cells are held against, computed once in each process. */
import {readFile} from 'node:fs/promises'
import {tf} from '../../../attention/index.js'
import {useBackend} from '../../../backends/index.js'
import {expected} from '../../../errors.js'
import {exactLayerAttention, type Model, openModel, type TokenBatch} from '../../../model/index.js'
import type {SwapCell, SwapPlan} from '../schema.js'

/** A batch with the hidden states of the original: `[B, L, width]` before the first layer and after each. */
export interface OriginalBatch {
  tokens: TokenBatch
  /** Which of the texts they are. */
  texts: readonly number[]
  hidden: tf.Tensor3D[]
}

/** The original on all texts. */
export interface Original {
  model: Model
  batches: readonly OriginalBatch[]
  /** Texts of two tokens or more, and their tokens. */
  texts: number
  tokens: number
}

type Read = Pick<SwapCell, 'model' | 'texts' | 'max_tokens' | 'backend'>

let kept: {key: string; made: Promise<Original>} | undefined

/** The original of a cell, kept for the next cells. */
export function originalOf({model, texts, max_tokens, backend}: Read): Promise<Original> {
  const key = JSON.stringify([model, texts, max_tokens, backend])
  if (kept?.key === key) return kept.made
  const before = kept?.made
  const made = (async () => {
    await before?.then(dispose, () => undefined)
    return runOriginal({model, texts, max_tokens, backend})
  })()
  kept = {key, made}
  made.catch(() => {
    if (kept?.made === made) kept = undefined
  })
  return made
}

async function runOriginal({model: {folder}, texts: spec, max_tokens}: Read): Promise<Original> {
  const model = await openModel(folder)
  const read = await readTexts(spec)
  const {batches, order} = model.tokenize(read, {maxTokens: max_tokens})
  const own = await Promise.all(
    batches.map(async (tokens, at) => ({
      tokens,
      texts: order[at]!,
      hidden: [await model.embed(tokens)],
    })),
  )
  for (let index = 0; index < model.facts.layers; index++) {
    const layer = await model.layer(index)
    for (const {tokens, hidden} of own) {
      hidden.push(tf.tidy(() => layer.forward(hidden[index]!, tokens, exactLayerAttention)))
    }
    layer.dispose()
  }
  const lengths = own.flatMap(({tokens}) => tokens.lengths)
  return {
    model,
    batches: own,
    texts: lengths.length,
    tokens: lengths.reduce((sum, length) => sum + length, 0),
  }
}

async function dispose({model, batches}: Original): Promise<void> {
  for (const {hidden} of batches) for (const tensor of hidden) tensor.dispose()
  await model.close()
}

/** The first lines of a file that hold anything. @throws {BAD_FILE} where there are fewer */
export async function readTexts({
  path,
  count,
}: Pick<SwapPlan['texts'], 'path' | 'count'>): Promise<string[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter(line => line.trim() !== '')
  if (lines.length >= count) return lines.slice(0, count)
  throw expected('BAD_FILE', path, `${count} lines of text`, String(lines.length))
}

/** Opens the model and reads the texts, so that what is wrong with them is said before anything runs. */
export async function checkSwap({model, texts, backend}: SwapPlan): Promise<void> {
  await useBackend(backend)
  await readTexts(texts)
  await (await openModel(model.folder)).close()
}
