/** The file of learned parameters, from the records of a run. */
import {
  hasLearnedRows,
  type Tuned,
  type TunedLayer,
  type TunedParameters,
  writeTuned,
} from '../../tuned/index.js'
import {relL2} from './report/rows.js'
import type {CompletedTune, LearnedArray, TuneRecord} from './schema.js'

/** Where the learned parameters of a run are: next to its folder. */
export function tunedFileOf(directory: string): string {
  return `${directory.replace(/[/\\]+$/, '')}.safetensors`
}

/**
 * Writes what was learned. Layers without any record are left out, and so are draws after the first that is missing in a layer.
 *
 * @param directory - folder of the run
 * @throws {NOT_WRITABLE} where the place refuses the file
 */
export async function saveTuned(records: readonly TuneRecord[], directory: string): Promise<void> {
  const tuned = tunedOf(records)
  if (tuned) await writeTuned(tunedFileOf(directory), tuned)
}

/** What records hold as a file; `undefined` where nothing was learned. */
export function tunedOf(records: readonly TuneRecord[]): Tuned | undefined {
  const rows = records.filter(record => record.status === 'completed')
  const [first] = rows
  if (!first) return undefined
  const {cell, result} = first
  const numbers = [...new Set(rows.map(({cell: {layer}}) => layer))]
  const layers = numbers
    .toSorted((a, b) => (a ?? 0) - (b ?? 0))
    .flatMap(
      layer =>
        layerOf(
          rows.filter(row => row.cell.layer === layer),
          layer,
        ) ?? [],
    )
  return {
    ...{method: cell.method, preset: cell.preset, options: cell.options},
    ...{projection: cell.projection, numFeatures: cell.num_features, causal: cell.causal},
    ...{heads: result.heads, keyHeads: result.key_heads, headDim: result.head_dim},
    ...{
      learned: cell.learn,
      loss: cell.loss ?? 'outputs',
      sequential: cell.original !== undefined,
      seed: cell.seed,
      model: result.input_origin?.model ?? null,
      layers,
    },
  }
}

function layerOf(
  rows: readonly CompletedTune[],
  layer: number | undefined,
): TunedLayer | undefined {
  const sets: TunedParameters[] = []
  for (;;) {
    const draw = hasLearnedRows({learned: rows[0]!.cell.learn}) ? sets.length : null
    const row = rows.find(({cell}) => cell.draw === draw)
    if (!row) break
    sets.push(parametersOf(row))
    if (draw === null) break
  }
  if (sets.length === 0) return undefined
  const [before, after] = [relL2(rows, 'untuned'), relL2(rows, 'tuned')]
  const heldOut = before === null || after === null ? null : {before, after}
  const {logit_scale: scale, input_origin: origin} = rows[0]!.result
  return {layer: layer ?? origin?.layer ?? undefined, scale, heldOut, sets}
}

function parametersOf({result: {parameters}}: CompletedTune): TunedParameters {
  const named = (name: LearnedArray['name']) => {
    const found = parameters.find(array => array.name === name)
    return found && floatsOf(found)
  }
  const projection = named('projection')
  return {queryMap: named('query_map')!, keyMap: named('key_map')!, ...(projection && {projection})}
}

function floatsOf({data}: LearnedArray): Float32Array<ArrayBuffer> {
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'))
  return new Float32Array(bytes.buffer)
}
