/** Queries, keys and values of models that Transformers runs. */
import {availableParallelism} from 'node:os'
import {expected} from '../errors.js'
import {transformersFacts} from '../experiments/pretrained.js'
import type {TransformersModel} from '../model/index.js'
import {CapturedLayer} from './captured-layer.js'
import {recordOf, requireFinite, sizesOf, writeLayer} from './layer-file.js'
import type {ExportedLayer, ExportRecord, ExportRequest} from './record.js'

/**
 * Runs the original on the texts and writes the files of layers, one after the other in memory.
 *
 * @throws {UNSUPPORTED} for texts that the model does not see whole, and for values of another length than keys
 */
export async function exportedByTransformers(
  model: TransformersModel,
  layers: readonly number[],
  texts: readonly string[],
  request: ExportRequest,
  onLayer?: (layer: ExportedLayer) => void,
): Promise<ExportRecord> {
  const {facts, engine} = model
  const maxTokens = Math.min(request.maxTokens, facts.maxTokens)
  const {batches, order, leftOut} = await model.tokenize(texts, {maxTokens, least: 1})
  const lengths = batches.flatMap(tokens => tokens.lengths)
  const sizes = sizesOf(lengths, request, facts)
  await model.check(sizes.length)
  const squares = Array<number>(facts.layers).fill(0)
  for (const [at, tokens] of batches.entries()) {
    const found = await model.original(at, tokens, order[at]!)
    squares.forEach((_, layer) => {
      tokens.lengths.forEach((length, row) => {
        const start = (layer * tokens.batch + row) * tokens.length
        for (const square of found.subarray(start, start + length)) squares[layer]! += square
      })
    })
  }
  const count = lengths.reduce((sum, length) => sum + length, 0)
  const written: ExportedLayer[] = []
  for (const index of layers) {
    const norm = Math.sqrt(squares[index]! / count)
    requireFinite(norm, index)
    const captured = new CapturedLayer(facts, sizes)
    for (const [at, tokens] of batches.entries()) {
      const arrays = split(await model.captured(at, index), tokens, facts)
      captured.note(arrays, tokens.length, order[at]!, tokens.lengths)
    }
    const matrix = Float32Array.from(await model.output(index))
    const saved = await writeLayer(request, facts, {index, captured, norm, matrix})
    written.push(saved)
    onLayer?.(saved)
  }
  return {
    ...recordOf(request, facts, {lengths, leftOut, layers: written}),
    ...transformersFacts(engine, request.threads ?? availableParallelism()),
    processes: 1,
  }
}

/** @throws {UNSUPPORTED} for values of another length than keys */
function split(
  data: Float64Array,
  {batch, length}: {batch: number; length: number},
  {kind, heads, keyHeads, headDim}: TransformersModel['facts'],
) {
  const each = batch * length * headDim
  const [q, k] = [heads * each, (heads + keyHeads) * each]
  if (data.length !== k + keyHeads * each) {
    const what = `values of ${headDim} numbers, as keys have`
    throw expected('UNSUPPORTED', kind, what, 'others')
  }
  return {q: data.subarray(0, q), k: data.subarray(q, k), v: data.subarray(k)}
}
