/** Queries, keys and values of the layers of a pretrained model, written into files that other commands read. */
import {availableParallelism} from 'node:os'
import {join} from 'node:path'
import {hostData} from '../attention/internal.js'
import {useBackend} from '../backends/index.js'
import {expected} from '../errors.js'
import {computedBy as backendFacts} from '../experiments/computed-by.js'
import {writeArrays} from '../inputs/files/index.js'
import {checkOutput} from '../inputs/files/output.js'
import type {LayerChoice} from '../inputs/layers.js'
import {readTexts} from '../inputs/texts.js'
import {type Opened, openByEngine} from '../model/engines.js'
import {
  exactLayerAttention,
  type LayerAttention,
  type Model,
  type ModelFacts,
  type ModelLayer,
  type TokenBatch,
  type TransformersModel,
} from '../model/index.js'
import {makeFolder} from '../results/files.js'
import {takeLock} from '../results/lock/lock.js'
import {tf} from '../tf.js'
import {CapturedLayer, type TextSizes} from './captured-layer.js'
import {fileOf, recordOf, requireFinite, sizesOf, textsOf, writeLayer} from './layer-file.js'
import type {ExportedLayer, ExportRecord, ExportRequest} from './record.js'
import {exportedByTransformers} from './transformers.js'

/** Name of the file that keeps a folder from two exports at once. */
const LOCK_FILE = 'export.lock'

/** Listeners for progress, and what else is done on the way. */
export interface ExportOptions {
  /** Why `auto` passed over a backend. */
  note?(text: string): void
  /** Called when the file of a layer is written. */
  onLayer?(layer: ExportedLayer): void
  /** Exchanges the attention of each layer in copies of the model before the next one is written. Default: there are none. */
  inTurn?: InTurn
  /** The model, where Transformers runs it and it is open: it stays so. */
  opened?: TransformersModel | undefined
}

/** Layers with other attention, made one after the other. */
export interface InTurn {
  /** How many models have that attention next to the original, each another one. */
  copies: number
  /**
   * Makes the attention of a layer that is written.
   *
   * @param inputs - file of what that layer of the copies reads: texts of the layer's file for each copy, one copy after the other
   */
  exchange(layer: ExportedLayer, inputs: string): Promise<CopyAttention>
}

/** What takes the place of attention. @param batch - which one of the texts */
type CopyAttention = (copy: number, batch: number) => LayerAttention

/** A batch on its way through the layers. */
interface RunningBatch {
  tokens: TokenBatch
  /** Which of all texts its rows are. */
  texts: readonly number[]
  /** `[B, L, W]`, input of the next layer. */
  hidden: tf.Tensor3D
  /** The same in each copy. */
  copies: tf.Tensor3D[]
}

/**
 * Runs the model on the texts, layer by layer, and writes `layerN.safetensors` for each layer that is asked for: `q`
 * `[B, H, L, D]`, `k` and `v` `[B, Hkv, L, D]` as attention reads them, positions included, `key_mask` `[B, L]` where texts are
 * padded, the output matrix `o` `[H D, W]`, and `residual_norm`. The texts of the file say `causal`, `scale`, `layer` and
 * where they come from.
 *
 * @throws {WOULD_OVERWRITE} where a file exists and is not to be replaced
 * @throws {NOT_WRITABLE} where another export writes into the folder
 * @throws {BAD_RANGE} for a layer that the model does not have
 * @throws {TOO_LARGE} where a layer does not fit into memory
 */
export async function exportLayers(
  request: ExportRequest,
  options: ExportOptions = {},
): Promise<ExportRecord> {
  const {model: folder, output, engine = 'native', device, threads} = request
  const {native, transformers}: Opened = options.opened
    ? {transformers: options.opened}
    : await openByEngine(folder, {engine, device, threads: threads ?? availableParallelism()})
  try {
    const layers = chosenLayers(request.layers, (native ?? transformers).facts, folder)
    await requireNew(request, layers)
    const {texts} = await readTexts(request.texts)
    await makeFolder(output)
    const lock = await takeLock(join(output, LOCK_FILE))
    try {
      await requireNew(request, layers) // another export may have ended meanwhile
      const own = texts.slice(0, request.maxTexts)
      if (native) return await exported(native, layers, own, request, options)
      if (!options.inTurn) {
        return await exportedByTransformers(transformers, layers, own, request, options.onLayer)
      }
      const what = 'a model that this program runs, for layers in turn'
      throw expected('UNSUPPORTED', folder, what, 'one that Transformers runs')
    } finally {
      await lock.release()
    }
  } finally {
    await native?.close()
    if (!options.opened) transformers?.close()
  }
}

async function requireNew(request: ExportRequest, layers: readonly number[]): Promise<void> {
  for (const layer of layers) {
    await checkOutput(fileOf(request, layer), {inputs: [], force: request.force})
  }
}

async function exported(
  model: Model,
  layers: readonly number[],
  texts: readonly string[],
  request: ExportRequest,
  {note, onLayer, inTurn}: ExportOptions,
): Promise<ExportRecord> {
  const {facts} = model
  const {copies = 0} = inTurn ?? {}
  const backend = await useBackend(request.backend, {threads: request.threads, note})
  const {running, leftOut} = await embedded(model, texts, request, copies)
  const lengths = running.flatMap(({tokens}) => tokens.lengths)
  const sizes = sizesOf(lengths, request, facts, copies)
  const written: ExportedLayer[] = []
  for (let index = 0; index <= layers.at(-1)!; index++) {
    const layer = await model.layer(index)
    const captured = layers.includes(index) ? new CapturedLayer(facts, sizes) : undefined
    const norm = residualNorm(running)
    requireFinite(norm, index)
    const exchanged = captured && inTurn && capturedCopies(running, layer, facts, sizes)
    for (const batch of running) passLayer(batch, layer, captured)
    let attention: CopyAttention = () => exactLayerAttention
    if (captured) {
      const matrix = outputOf(layer, facts)
      const saved = await writeLayer(request, facts, {index, captured, norm, matrix})
      written.push(saved)
      onLayer?.(saved)
      if (exchanged) {
        const inputs = saved.path.replace(/(?=\.\w+$)/, '-exchanged')
        await writeArrays(inputs, exchanged.written(), textsOf(request, facts, index))
        attention = await inTurn.exchange(saved, inputs)
      }
    }
    running.forEach((batch, at) => {
      batch.copies = batch.copies.map((hidden, copy) => {
        const next = layer.forward(hidden, batch.tokens, attention(copy, at))
        hidden.dispose()
        return next
      })
    })
    layer.dispose()
  }
  tf.dispose(running.flatMap(({hidden, copies}) => [hidden, ...copies]))
  return {
    ...recordOf(request, facts, {lengths, leftOut, layers: written}),
    ...backendFacts(backend),
  }
}

/** @throws {BAD_RANGE} for a layer that the model does not have */
function chosenLayers(
  choice: LayerChoice,
  {layers}: Pick<ModelFacts, 'layers'>,
  folder: string,
): number[] {
  const all = Array.from({length: layers}, (_, layer) => layer)
  if (choice === 'all') return all
  const missing = choice.find(layer => layer >= layers)
  if (missing === undefined) return all.filter(layer => choice.includes(layer))
  const what = `layers from 0 to ${layers - 1}`
  throw expected('BAD_RANGE', '`layer`', what, `${missing}, which ${folder} does not have`)
}

async function embedded(
  model: Model,
  texts: readonly string[],
  {maxTokens}: Pick<ExportRequest, 'maxTokens'>,
  copies: number,
): Promise<{running: RunningBatch[]; leftOut: number}> {
  const most = Math.min(maxTokens, model.facts.maxTokens)
  const {batches, order, leftOut} = await model.tokenize(texts, {maxTokens: most})
  const running: RunningBatch[] = []
  for (const [at, tokens] of batches.entries()) {
    const hidden = await model.embed(tokens)
    const own = Array.from({length: copies}, () => hidden.clone())
    running.push({tokens, texts: order[at]!, hidden, copies: own})
  }
  return {running, leftOut}
}

function passLayer(
  batch: RunningBatch,
  layer: ModelLayer,
  captured: CapturedLayer | undefined,
): void {
  const {tokens, texts, hidden} = batch
  const attention = captured?.noting(texts, tokens.lengths) ?? exactLayerAttention
  batch.hidden = layer.forward(hidden, tokens, attention)
  hidden.dispose()
}

/** What a layer reads in all copies, texts of one after those of the other. */
function capturedCopies(
  running: readonly RunningBatch[],
  layer: ModelLayer,
  facts: ModelFacts,
  {texts: count, length}: TextSizes,
): CapturedLayer {
  const captured = new CapturedLayer(facts, {texts: count * running[0]!.copies.length, length})
  for (const {tokens, texts, copies} of running) {
    copies.forEach((hidden, copy) => {
      const places = texts.map(text => copy * count + text)
      layer.forward(hidden, tokens, captured.noting(places, tokens.lengths)).dispose()
    })
  }
  return captured
}

/** Root mean square length of the hidden states, padding left out. */
function residualNorm(running: readonly RunningBatch[]): number {
  let [squares, count] = [0, 0]
  for (const {hidden, tokens} of running) {
    const {norms} = hostData(() => ({norms: tf.sum(tf.square(hidden), 2)}))
    tokens.lengths.forEach((length, row) => {
      for (let at = 0; at < length; at++) squares += norms[row * tokens.length + at]!
      count += length
    })
  }
  return Math.sqrt(squares / count)
}

/** What becomes of outputs: the matrix that those of all heads are multiplied by, from what it makes of unit vectors. */
function outputOf(layer: ModelLayer, {heads, headDim}: ModelFacts): Float32Array<ArrayBuffer> {
  const size = heads * headDim
  const {matrix} = hostData(() => {
    const units: tf.Tensor4D = tf.reshape(tf.eye(size), [1, size, heads, headDim])
    return {matrix: layer.project(tf.transpose(units, [0, 2, 1, 3]))}
  })
  return Float32Array.from(matrix)
}
