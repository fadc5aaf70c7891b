/** Several layers of a model in one file: `layers.N.q`, `layers.N.k`, `layers.N.v` and what belongs to them; or in separate files. */
import {basename} from 'node:path'
import {describe, expected} from '../errors.js'
import type {Dtype} from './nd-array.js'
import {isPackaged} from './packaged.js'

/** Which layers are asked for: by the model's own numbers, or all that a file holds. */
export type LayerChoice = 'all' | readonly number[]

const NUMBERED = /^layers\.(0|[1-9]\d*)\.(.+)$/s

/** The name that an array or a text of a layer has in its file. */
export function layerName(layer: number, name: string): string {
  return `layers.${layer}.${name}`
}

/** The layer that an array belongs to, and what it is called there; `undefined` for an array of no layer. */
export function layerOf(name: string): {layer: number; name: string} | undefined {
  const [, digits, inner] = NUMBERED.exec(name) ?? []
  const layer = Number(digits)
  return inner !== undefined && Number.isSafeInteger(layer) ? {layer, name: inner} : undefined
}

/** The layers that hold an array of this name, in ascending order. */
export function layersWith(entries: ReadonlyMap<string, unknown>, name: string): number[] {
  const layers = [...entries.keys()].flatMap(full => {
    const own = layerOf(full)
    return own?.name === name ? [own.layer] : []
  })
  return layers.sort((a, b) => a - b)
}

const IN_NAME = /layers?[-_. ]?(\d+)/gi

/**
 * The layer that a file without numbered arrays is: by its metadata `layers`, else by its name, such as `layer3.npz` or
 * `minilm-layer5.safetensors`; `undefined`: neither says.
 */
export function layerOfFile({
  path,
  metadata,
}: {
  path: string
  metadata: Readonly<Record<string, string>>
}): number | undefined {
  const {layers = ''} = metadata
  const said = /^\s*\d+\s*$/.test(layers)
    ? layers
    : [...basename(path).matchAll(IN_NAME)].at(-1)?.[1]
  const layer = Number(said)
  return said !== undefined && Number.isSafeInteger(layer) ? layer : undefined
}

/** What a file says of its arrays, as far as it matters here. */
type Entries = ReadonlyMap<string, {shape: readonly number[]; dtype: Dtype | null}>

/**
 * The layers to read from a file of named arrays.
 *
 * @param asked - those that were asked for; `undefined`: the arrays without a layer, or all layers where there are none
 * @param file.path - in messages
 * @param file.query - name of the array of queries within a layer
 * @param file.whole - the layer that the file is where its arrays have no numbers, see {@link layerOfFile}
 * @returns each once, as asked; `undefined`: the arrays that belong to no layer
 * @throws {ARRAY_MISSING} for a layer that the file does not hold, or any where it holds none; lists those that it holds
 */
export function chosenLayers(
  asked: LayerChoice | undefined,
  file: {path: string; query: string; entries: Entries; whole?: number | undefined},
): number[] | undefined {
  const {path, query, entries, whole} = file
  const inside = layersWith(entries, query)
  const isWhole = inside.length === 0 && entries.has(query) && whole !== undefined
  const present = isWhole && asked !== undefined ? [whole] : inside
  if (asked === undefined) return entries.has(query) || present.length === 0 ? undefined : present
  if (present.length === 0) throw noLayers(path, query)
  if (asked === 'all') return present
  const missing = asked.filter(layer => !present.includes(layer))
  if (missing.length === 0) return [...new Set(asked)]
  if (isPackaged(path)) {
    const only = `${numbered(present)}, all that the packaged file has`
    const remedy = 'name your own file with `input`, or leave `layer` out'
    throw expected('ARRAY_MISSING', '`layer`', only, numbered(missing), remedy)
  }
  const remedy = `take ${numbered(present)}`
  throw expected('ARRAY_MISSING', path, numbered(missing), numbered(present), remedy)
}

/** `layer 3`, `layers 0, 3`. */
export function numbered(layers: readonly number[]): string {
  return `${layers.length > 1 ? 'layers' : 'layer'} ${layers.join(', ')}`
}

function noLayers(path: string, query: string) {
  const named = describe(layerName(0, query))
  const hint = `leave out \`layer\`, or name the arrays of a layer ${named} and so on`
  return expected('ARRAY_MISSING', path, `arrays of layers, such as ${named}`, 'none', hint)
}
