/** Queries, keys and values of the layers of a pretrained model, written into files that other commands read. */
import {basename, join} from 'node:path'
import {hostData} from '../attention/internal.js'
import {useBackend} from '../backends/index.js'
import {expected} from '../errors.js'
import {computedBy as backendFacts} from '../experiments/computed-by.js'
import {writeArrays} from '../inputs/files/index.js'
import {checkOutput} from '../inputs/files/output.js'
import type {LayerChoice} from '../inputs/layers.js'
import {DEFAULT_LAYOUT} from '../inputs/layout.js'
import {assertMemory} from '../inputs/memory.js'
import type {NdArray} from '../inputs/nd-array.js'
import {readTexts} from '../inputs/texts.js'
import {modelName} from '../model/hub.js'
import {
  exactLayerAttention,
  type LayerAttention,
  type Model,
  type ModelFacts,
  type ModelLayer,
  openModel,
  type TokenBatch,
} from '../model/index.js'
import {makeFolder} from '../results/files.js'
import {takeLock} from '../results/lock/lock.js'
import {tf} from '../tf.js'
import {CapturedLayer, type TextSizes} from './captured-layer.js'
import type {ExportedLayer, ExportRecord, ExportRequest} from './record.js'

/** Name of the file that keeps a folder from two exports at once. */
const LOCK_FILE = 'export.lock'

/** Listeners for progress. */
export interface ExportListeners {
  /** Why `auto` passed over a backend. */
  note?(text: string): void
  /** Called when the file of a layer is written. */
  onLayer?(layer: ExportedLayer): void
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
 * @param inTurn - exchanges the attention of each layer in copies of the model before the next one is written. Default: there are none
 * @throws {WOULD_OVERWRITE} where a file exists and is not to be replaced
 * @throws {NOT_WRITABLE} where another export writes into the folder
 * @throws {BAD_RANGE} for a layer that the model does not have
 * @throws {TOO_LARGE} where a layer does not fit into memory
 * @throws what opening the model, reading the texts and writing throw
 */
export async function exportLayers(
  request: ExportRequest,
  listeners: ExportListeners = {},
  inTurn?: InTurn,
): Promise<ExportRecord> {
  const {model: folder, output} = request
  const model = await openModel(folder)
  try {
    const layers = chosenLayers(request.layers, model.facts, folder)
    await requireNew(request, layers)
    const {texts} = await readTexts(request.texts)
    await makeFolder(output)
    const lock = await takeLock(join(output, LOCK_FILE))
    try {
      await requireNew(request, layers) // another export may have ended meanwhile
      const own = texts.slice(0, request.maxTexts)
      return await exported(model, layers, own, request, listeners, inTurn)
    } finally {
      await lock.release()
    }
  } finally {
    await model.close()
  }
}

function fileOf({output}: ExportRequest, layer: number): string {
  return join(output, `layer${layer}.safetensors`)
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
  {note, onLayer}: ExportListeners,
  inTurn?: InTurn,
): Promise<ExportRecord> {
  const {facts} = model
  const {copies = 0} = inTurn ?? {}
  const backend = await useBackend(request.backend, {threads: request.threads, note})
  const {running, leftOut} = await embedded(model, texts, request, copies)
  const lengths = running.flatMap(({tokens}) => tokens.lengths)
  const sizes = {texts: lengths.length, length: Math.max(...lengths)}
  const entries = (1 + copies) * sizes.texts * sizes.length * facts.headDim
  const fewer = 'read fewer texts with `maxTexts`, or cut them with `maxTokens`'
  assertMemory(request.texts, 4 * entries * (facts.heads + 2 * facts.keyHeads), fewer)
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
      const saved = {layer: index, path: fileOf(request, index), residual_norm: norm}
      const arrays = {...captured.written(), ...outputOf(layer, facts, norm)}
      await writeArrays(saved.path, arrays, textsOf(request, facts, index))
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
    schema: 'rfa.export/1',
    ...{model: request.model, texts: request.texts, texts_read: sizes.texts},
    texts_left_out: leftOut,
    tokens_read: lengths.reduce((sum, length) => sum + length, 0),
    seq_len: sizes.length,
    ...{heads: facts.heads, key_heads: facts.keyHeads, head_dim: facts.headDim},
    ...{causal: facts.causal, logit_scale: facts.scale},
    ...backendFacts(backend),
    layers: written,
  }
}

/** @throws {BAD_RANGE} for a layer that the model does not have */
function chosenLayers(choice: LayerChoice, {layers}: ModelFacts, folder: string): number[] {
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

/** @throws {NOT_FINITE} for hidden states that are not numbers, or too large for their squares */
function requireFinite(norm: number, layer: number): void {
  if (Number.isFinite(norm)) return
  const what = 'hidden states with squares that float32 can hold'
  throw expected('NOT_FINITE', `input of layer ${layer}`, what, `a norm of ${norm}`)
}

/** What becomes of outputs: the matrix that those of all heads are multiplied by, from what it makes of unit vectors, and the stream. */
function outputOf(
  layer: ModelLayer,
  {heads, headDim, width}: ModelFacts,
  norm: number,
): Record<string, NdArray> {
  const size = heads * headDim
  const {matrix} = hostData(() => {
    const units: tf.Tensor4D = tf.reshape(tf.eye(size), [1, size, heads, headDim])
    return {matrix: layer.project(tf.transpose(units, [0, 2, 1, 3]))}
  })
  return {
    o: {shape: [size, width], dtype: 'float32', data: Float32Array.from(matrix)},
    residual_norm: {shape: [1], dtype: 'float32', data: Float32Array.of(norm)},
  }
}

function textsOf(
  {model, texts}: ExportRequest,
  {causal, scale}: ModelFacts,
  layer: number,
): Record<string, string> {
  const name = modelName(model)
  return {
    ...{
      model: name,
      model_folder: model,
      origin: `layer ${layer} of ${name} on ${basename(texts)}`,
    },
    ...{layers: String(layer), layout: DEFAULT_LAYOUT},
    ...{causal: String(causal), scale: String(scale)},
  }
}
