/** The file of a layer, whatever ran the model. */
import {basename, join} from 'node:path'
import {expected} from '../errors.js'
import {writeArrays} from '../inputs/files/index.js'
import {DEFAULT_LAYOUT} from '../inputs/layout.js'
import {assertMemory} from '../inputs/memory.js'
import type {NdArray} from '../inputs/nd-array.js'
import {modelName} from '../model/hub.js'
import type {ModelFacts} from '../model/index.js'
import type {CapturedLayer, TextSizes} from './captured-layer.js'
import type {ExportedLayer, ExportRecord, ExportRequest} from './record.js'

/** What files and records say of a model. */
export type WrittenFacts = Omit<ModelFacts, 'kind' | 'window'>

export function fileOf({output}: Pick<ExportRequest, 'output'>, layer: number): string {
  return join(output, `layer${layer}.safetensors`)
}

export interface RunLayer {
  index: number
  captured: CapturedLayer
  /** Root mean square length of the hidden states that it reads. */
  norm: number
  /** Matrix `[H D, W]` that outputs of attention are multiplied by; empty: there is none. */
  matrix: Float32Array<ArrayBuffer>
}

export async function writeLayer(
  request: ExportRequest,
  facts: WrittenFacts,
  {index, captured, norm, matrix}: RunLayer,
): Promise<ExportedLayer> {
  const o: NdArray = {
    shape: [facts.heads * facts.headDim, facts.width],
    dtype: 'float32',
    data: matrix,
  }
  const arrays: Record<string, NdArray> = {
    ...captured.written(),
    ...(matrix.length > 0 && {o}),
    residual_norm: {shape: [1], dtype: 'float32', data: Float32Array.of(norm)},
  }
  const path = fileOf(request, index)
  await writeArrays(path, arrays, textsOf(request, facts, index))
  return {layer: index, path, residual_norm: norm}
}

/** What the file of a layer says in words. */
export function textsOf(
  {model, texts}: Pick<ExportRequest, 'model' | 'texts'>,
  {causal, scale}: Pick<WrittenFacts, 'causal' | 'scale'>,
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

/** Room for a layer on texts of these lengths. @throws {TOO_LARGE} where there is none */
export function sizesOf(
  lengths: readonly number[],
  {texts}: Pick<ExportRequest, 'texts'>,
  {heads, keyHeads, headDim}: WrittenFacts,
  copies = 0,
): TextSizes {
  const sizes = {texts: lengths.length, length: Math.max(...lengths)}
  const entries = (1 + copies) * sizes.texts * sizes.length * headDim
  const fewer = 'read fewer texts with `maxTexts`, or cut them with `maxTokens`'
  assertMemory(texts, 4 * entries * (heads + 2 * keyHeads), fewer)
  return sizes
}

/** @throws {NOT_FINITE} for hidden states that are not numbers, or too large for their squares */
export function requireFinite(norm: number, layer: number): void {
  if (Number.isFinite(norm)) return
  const what = 'hidden states with squares that float32 can hold'
  throw expected('NOT_FINITE', `input of layer ${layer}`, what, `a norm of ${norm}`)
}

/** What was read and written. */
export function recordOf(
  {model, texts}: Pick<ExportRequest, 'model' | 'texts'>,
  {heads, keyHeads, headDim, causal, scale}: WrittenFacts,
  {lengths, leftOut, layers}: {lengths: number[]; leftOut: number; layers: ExportedLayer[]},
): Omit<ExportRecord, 'backend' | 'instruction_set' | 'threads' | 'processes'> {
  return {
    schema: 'rfa.export/1',
    ...{model, texts, texts_read: lengths.length},
    texts_left_out: leftOut,
    tokens_read: lengths.reduce((sum, length) => sum + length, 0),
    seq_len: Math.max(...lengths),
    ...{heads, key_heads: keyHeads, head_dim: headDim},
    ...{causal, logit_scale: scale},
    layers,
  }
}
