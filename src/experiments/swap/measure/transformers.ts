/** Models that Transformers runs: numbers of a batch from its process. */

import {availableParallelism} from 'node:os'
import {hostData} from '../../../attention/internal.js'
import {estimatorNamed} from '../../../attention/names.js'
import {useBackend} from '../../../backends/index.js'
import {RfaError} from '../../../errors.js'
import {fileChanged} from '../../../inputs/files/recorded-source.js'
import {readTexts} from '../../../inputs/texts.js'
import {
  openPooling,
  openTransformers,
  type Pooling,
  type TokenBatch,
  type TransformersModel,
} from '../../../model/index.js'
import {tf} from '../../../tf.js'
import type {CellContext} from '../../experiment.js'
import {fileDigest, modelDigest} from '../../model-digest.js'
import {transformersFacts} from '../../pretrained.js'
import {torchMethod, whyNotInTorch} from '../../torch-methods.js'
import {leastTokens} from '../least-tokens.js'
import {ATTENTION_ERRORS, type SwapCell} from '../schema.js'
import {forEachError} from './attention-errors.js'
import type {Engine, Exchanged, MeasuredBatch, MeasuredTexts, OnPass, Run} from './engine.js'
import {ROUNDING_FACTOR} from './native.js'
import type {Embeddings} from './neighbours.js'
import {textMeans} from './next-tokens.js'
import {RelativeSquares} from './squares.js'
import {overTokens, requireFinite} from './token-squares.js'

interface Original extends MeasuredTexts {
  model: TransformersModel
  batches: readonly (MeasuredBatch & {tokens: TokenBatch})[]
  /** Of an encoder. */
  pooling: Pooling | undefined
  embeddings: Embeddings
}

let kept: {key: string; made: Promise<Original>} | undefined

/** The engine of a cell, in a process that is kept for the next cells. */
export async function transformersEngine(
  cell: SwapCell,
  how: CellContext,
  onPass: OnPass,
): Promise<Engine> {
  const threads = how.threadShare ?? availableParallelism()
  const read = [cell.model, cell.original, cell.texts, cell.max_tokens]
  const key = JSON.stringify([...read, cell.device, threads])
  if (kept?.key !== key) {
    const before = kept?.made
    kept = {key, made: runOriginal(cell, threads, onPass, before)}
  }
  const own = kept
  const original = await own.made.catch(error => {
    if (kept === own) kept = undefined
    throw error
  })
  const {model, pooling} = original
  return {
    ...original,
    facts: model.facts,
    pooledBy: pooling?.text ?? null,
    result: {...transformersFacts(model.engine, threads), processes: how.processes ?? 1},
    refuses: own => whyNotInTorch(model, own),
    embeddings: () => original.embeddings,
    exchanged: run =>
      exchanged(original, run).catch(error => {
        // what refuses a cell answers the next one
        if (error instanceof RfaError && error.code !== 'CELL_CRASHED') throw error
        if (kept === own) kept = undefined
        model.close()
        throw error
      }),
  }
}

async function runOriginal(
  cell: SwapCell,
  threads: number,
  onPass: OnPass,
  before: Promise<Original> | undefined,
): Promise<Original> {
  await before?.then(
    ({model}) => model.close(),
    () => undefined,
  )
  const {model: exchanged, original = exchanged} = cell
  for (const {folder, digest} of [exchanged, original]) {
    if ((await modelDigest(folder, cell.engine)) !== digest) throw fileChanged(folder)
  }
  const {path, format, digest: wanted} = cell.texts
  const {texts, digest: own} = format
    ? {texts: undefined, digest: await fileDigest(path)}
    : await readTexts(path)
  if (own !== wanted) throw fileChanged(path)
  const model = await openTransformers(original.folder, {
    threads,
    changed: cell.original && exchanged.folder,
    inputs: format && path,
    device: cell.device,
  })
  try {
    // of an encoder texts are pooled here
    if (!model.facts.causal) await useBackend(cell.backend, {threadShare: threads})
    return await onTexts(model, texts, cell, onPass)
  } catch (error) {
    model.close()
    throw error
  }
}

async function onTexts(
  model: TransformersModel,
  texts: readonly string[] | undefined,
  {
    model: exchanged,
    original: {folder} = exchanged,
    max_tokens: maxTokens,
    texts: {count},
  }: SwapCell,
  onPass: OnPass,
): Promise<Original> {
  const {layers, causal, width} = model.facts
  const pooling = causal ? undefined : await openPooling(folder, width)
  const least = leastTokens(model.facts)
  const {batches, order, leftOut} = texts
    ? await model.tokenize(texts.slice(0, count), {maxTokens, least})
    : await model.items(count, least)
  const own: Original['batches'][number][] = []
  const embeddings: Float32Array[] = []
  for (const [at, tokens] of batches.entries()) {
    const arrays = new Arrays(await model.original(at, tokens, order[at]!))
    const squares = Array.from({length: layers + 1}, () => arrays.floats(tokens.ids.length))
    squares.slice(1).forEach((each, layer) => {
      requireFinite(overTokens(each, tokens), `the original, after layer ${layer}`)
      onPass(layers * batches.length)
    })
    const batch = {tokens, texts: order[at]!, squares}
    own.push(batch)
    if (pooling) embed(pooling, batch, arrays.floats(tokens.ids.length * width), embeddings)
    arrays.end()
  }
  const lengths = batches.flatMap(tokens => tokens.lengths)
  return {
    ...{model, pooling, embeddings, batches: own, texts: lengths.length, leftOut},
    tokens: lengths.reduce((sum, length) => sum + length, 0),
  }
}

/** Arrays that lie one after the other. */
class Arrays {
  #at = 0

  constructor(private readonly data: Float64Array) {}

  doubles(count: number): Float64Array {
    this.#at += count
    return this.data.subarray(this.#at - count, this.#at)
  }

  floats(count: number): Float32Array {
    return Float32Array.from(this.doubles(count))
  }

  /** @throws where they are more, or fewer, than were taken */
  end(): void {
    if (this.#at === this.data.length) return
    throw new Error(`expected ${this.#at} numbers from Python, got ${this.data.length}`)
  }
}

/** Vectors of the texts of a batch, in their places. @param hidden - `[B, L, W]` */
function embed(
  pooling: Pooling,
  {tokens, texts}: Original['batches'][number],
  hidden: Float32Array,
  found: Float32Array[],
): void {
  const {batch, length} = tokens
  const states = tf.tensor3d(hidden, [batch, length, hidden.length / (batch * length)])
  const {vectors} = hostData(() => ({vectors: pooling.embed(states, tokens)}))
  states.dispose()
  const width = vectors.length / texts.length
  texts.forEach((text, row) => {
    found[text] = Float32Array.from(vectors.slice(row * width, (row + 1) * width))
  })
}

/** All draws of each batch. */
async function exchanged(original: Original, {cell, tuned, onStep}: Run): Promise<Exchanged> {
  const {model, batches, texts, pooling} = original
  const {layers, width, classes} = model.facts
  const {replicates} = cell
  const first = cell.original ? 0 : Math.min(...cell.layers, layers)
  const sizes = {draws: replicates, texts}
  const draws = Array.from({length: replicates}, (_, draw) => draw)
  const distances: Float32Array[][] = draws.map(() => [])
  const hidden = Array.from({length: layers}, (_, layer) =>
    layer < first ? undefined : new RelativeSquares(sizes),
  )
  const attention = forEachError(() => new RelativeSquares(sizes))
  const predictions: NonNullable<Exchanged['predictions']> = draws.map(() => [])
  const embeddings: Float32Array[][] = draws.map(() => [])
  const sameClass: number[][] = draws.map(() => [])
  const exchange = exchangeOf(cell, tuned?.path)
  for (const [at, batch] of batches.entries()) {
    const {tokens, squares} = batch
    const places = tokens.ids.length
    const arrays = new Arrays(await model.exchanged(at, exchange))
    for (const draw of draws) {
      for (let layer = first; layer < layers; layer++) {
        const off = arrays.floats(places)
        distances[draw]![at] = off
        const errors = overTokens(off, tokens)
        requireFinite(errors, `the exchanged model, after layer ${layer}`)
        const whole = overTokens(squares[layer + 1]!, tokens)
        errors.forEach((error, row) => {
          hidden[layer]!.add(draw, batch.texts[row]!, error, whole[row]!)
        })
        onStep?.()
      }
      if (first === layers) distances[draw]![at] = new Float32Array(places)
      if (cell.layers.length > 0) addErrors(attention, draw, batch, arrays)
      if (pooling) {
        embed(pooling, batch, arrays.floats(places * width), embeddings[draw]!)
        const same = classes ? arrays.doubles(batch.texts.length) : []
        for (const [row, text] of batch.texts.entries()) sameClass[draw]![text] = same[row]!
      } else {
        const [before, after, kl, agreement] = Array.from({length: 4}, () => arrays.doubles(places))
        const numbers = {original: before!, exchanged: after!, kl: kl!, agreement: agreement!}
        textMeans(tokens, numbers).forEach((own, row) => {
          predictions[draw]![batch.texts[row]!] = own
        })
      }
    }
    arrays.end()
  }
  const judged = pooling ? {embeddings, ...(classes && {sameClass})} : {predictions}
  return {distances, hidden, attention, ...judged}
}

/** Which squares an error is of, and over which, in the order of the script. */
const SQUARES = {
  rel_l2: [0, 2],
  token_mean_rel_l2: [1, 3],
  residual: [4, 6],
  token_mean_residual: [5, 7],
} as const

function addErrors(
  attention: Exchanged['attention'],
  draw: number,
  {tokens, texts}: MeasuredBatch,
  arrays: Arrays,
): void {
  const sums = Array.from({length: 8}, () => arrays.doubles(tokens.batch))
  for (const name of ATTENTION_ERRORS) {
    const [error, size] = SQUARES[name]
    texts.forEach((text, row) => {
      attention[name].add(draw, text, sums[error]![row]!, sums[size]![row]!)
    })
  }
}

/** The method of a cell as Python takes it. */
function exchangeOf(cell: SwapCell, tuned: string | undefined) {
  const {layers, replicates} = cell
  const {unbiasedFor, noise} = estimatorNamed(cell.method)
  return {
    layers,
    draws: replicates,
    method: {
      ...{...torchMethod(cell), tuned},
      factor: unbiasedFor === 'exact' ? ROUNDING_FACTOR : 1,
      text_by_text: noise !== undefined,
    },
  }
}
