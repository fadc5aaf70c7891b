/** Whether learned parameters fit what they are used with. Loads no tensors, so that plans are checked by it. */
import {describe, expected} from '../errors.js'
import {hasLearnedRows, type TunedFile, type TunedLayer, type TunedParameters} from './types.js'

/**
 * The parameters of a layer and a draw. Rows are learned for each draw; temperatures and maps serve all of them.
 *
 * @param layer - `undefined` for arrays that belong to no layer
 * @throws {ARRAY_MISSING} for a layer or a draw that the file does not have
 */
export function parametersOf(
  tuned: TunedFile,
  layer: number | undefined,
  replicate: number,
): TunedParameters {
  const {path} = tuned
  const found = layerIn(tuned, layer)
  if (!found) throw noLayer(tuned, layer)
  const set = hasLearnedRows(tuned) ? found.sets[replicate] : found.sets[0]
  if (set) return set
  const got = `${found.sets.length}, counted from 0`
  throw expected('ARRAY_MISSING', path, `draw ${replicate}`, got, 'ask for fewer replicates')
}

/** What was learned for a layer. Arrays that belong to no layer take the only one that there is. */
function layerIn({layers}: TunedFile, layer: number | undefined): TunedLayer | undefined {
  const [only, another] = layers
  if (layer === undefined && another === undefined) return only
  return layers.find(own => own.layer === layer)
}

/** Heads of queries, heads of keys, which serve several of them each, and the head dimension D. */
export interface HeadSizes {
  heads: number
  keyHeads: number
  headDim: number
}

/**
 * Refuses parameters that do not fit an input or a model.
 *
 * @throws {SHAPE_MISMATCH} for other heads or another head dimension
 * @throws {ARRAY_MISSING} for a layer that the file does not have
 */
export function assertTunedFits(
  tuned: TunedFile,
  layer: number | undefined,
  {heads, keyHeads, headDim}: HeadSizes,
): void {
  parametersOf(tuned, layer, 0)
  if (heads !== tuned.heads || (keyHeads !== tuned.keyHeads && keyHeads !== heads)) {
    throw otherShapes(tuned, `${heads} of queries and ${keyHeads} of keys`)
  }
  if (headDim !== tuned.headDim) throw otherShapes(tuned, `${headDim} entries`)
}

/**
 * Refuses queries and keys that parameters cannot be applied to.
 *
 * @param query - shape `[B, H, L, D]`: H a multiple of the heads that were learned
 * @param key - shape `[B, H or Hkv, S, D]`
 * @throws {SHAPE_MISMATCH}
 */
export function assertShapes(
  tuned: TunedFile,
  query: readonly number[],
  key: readonly number[],
): void {
  const {heads, keyHeads, headDim} = tuned
  const [queryHeads, ownHeads] = [query[1]!, key[1]!]
  const fit = queryHeads % heads === 0 && (ownHeads === keyHeads || ownHeads === queryHeads)
  if (fit && query[3] === headDim && key[3] === headDim) return
  throw otherShapes(tuned, `queries ${describe(query)} and keys ${describe(key)}`)
}

/** What attention is like where parameters are used. */
export interface TunedSetting {
  /** `undefined`: the arrays belong to no layer. */
  layer: number | undefined
  causal: boolean
  /** beta: logits are beta q.k. */
  scale: number
}

/** Relative difference up to which two scales are the same: files round them. */
const ROUNDED = 1e-6

/** What to be wary of where parameters are used with other attention than they were learned for. */
export function tunedWarnings(tuned: TunedFile, {layer, causal, scale}: TunedSetting): string[] {
  const {path} = tuned
  const warnings: string[] = []
  if (tuned.causal !== causal) {
    const [learned, here] = [tuned.causal, causal].map(is => (is ? 'causal' : 'not causal'))
    const remedy = `rfa tune ${causal ? '--causal' : '--no-causal'} learns for it`
    warnings.push(
      `${path} was learned with attention that is ${learned}, here it is ${here}: ${remedy}`,
    )
  }
  const own = layerIn(tuned, layer)?.scale
  if (own !== undefined && Math.abs(own - scale) > ROUNDED * scale) {
    const [learned, here] = [own, scale].map(beta => Number(beta.toPrecision(4)))
    const remedy = `rfa tune --scale ${here} learns for them`
    warnings.push(
      `${path} was learned with logits ${learned} q.k, here they are ${here} q.k: ${remedy}`,
    )
  }
  return warnings
}

function otherShapes({path, heads, keyHeads, headDim}: TunedFile, got: string) {
  const own = `${heads} heads of queries and ${keyHeads} of keys, of ${headDim} entries each`
  return expected('SHAPE_MISMATCH', path, own, got, 'tune on queries and keys of this model')
}

function noLayer({path, layers}: TunedFile, layer: number | undefined) {
  const own = layers.flatMap(({layer: number}) => number ?? [])
  const got = own.length === 0 ? 'those of no layer' : `those of ${own.join(', ')}`
  if (layer !== undefined) {
    const hint =
      own.length === 0
        ? 'tune again, and say which layer the arrays are with `layer`'
        : `tune layer ${layer}, too, or leave that layer out`
    return expected('ARRAY_MISSING', path, `parameters of layer ${layer}`, got, hint)
  }
  const hint = 'say which layer the arrays are with `layer`'
  return expected('ARRAY_MISSING', path, 'parameters of arrays that belong to no layer', got, hint)
}
