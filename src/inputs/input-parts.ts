/** What an input is made of: the layers of one file, layers in separate files, or several files that one layer read. */
import {basename} from 'node:path'
import {describe, expected} from '../errors.js'
import {filesText} from './arrangement.js'
import type {ArrayReader} from './files/index.js'
import {type FileSpec, type InputFiles, statedCausal, withFiles} from './input-files.js'
import {chosenLayers, type LayerChoice, layerOfFile, layersWith, numbered} from './layers.js'
import {causalByArray} from './other-arrays.js'
import type {InputSpec} from './spec.js'

export interface InputPart {
  /** The files that are read together; several of named arrays: sequences of one batch. */
  input: InputSpec
  /** The layer that they hold; `undefined`: arrays without a number. */
  layer: number | undefined
}

/**
 * The parts of an input, layers in the order in which they were asked for.
 *
 * @param asked - layers that were asked for. Default: all that there are
 * @throws {BAD_OPTION} when layers are asked for of files that can hold none, when some of several files say their layer and
 *   others do not, or when they are of different models
 * @throws {ARRAY_MISSING} for a layer that no file holds
 * @throws {FILE_MISSING | BAD_FILE} where files cannot be opened
 */
export async function partsOf(spec: InputSpec, asked?: LayerChoice): Promise<InputPart[]> {
  if (spec.kind !== 'file') return [{input: spec, layer: undefined}]
  return withFiles(spec, async files => partsIn(files, spec, asked))
}

/** The layers that are read of an input; `undefined`: arrays that belong to no layer. @throws as {@link partsOf} */
export async function layersOf(
  spec: InputSpec,
  asked?: LayerChoice,
): Promise<number[] | undefined> {
  const layers = (await partsOf(spec, asked)).flatMap(({layer}) => layer ?? [])
  return layers.length > 0 ? layers : undefined
}

function partsIn(
  {arrangement, readers}: InputFiles,
  spec: FileSpec,
  asked: LayerChoice | undefined,
): InputPart[] {
  const [first, ...others] = readers as readonly [ArrayReader, ...ArrayReader[]]
  if (arrangement !== 'named') {
    if (asked === undefined) return [{input: spec, layer: undefined}]
    const what = 'a .safetensors or .npz file, with named arrays'
    throw expected('BAD_OPTION', '`layer`', what, describe(spec.paths))
  }
  if (others.length > 0) return partsOfFiles(readers, spec, asked)
  const {path, entries} = first
  const file = {path, query: spec.names.query, entries, whole: layerOfFile(first)}
  const layers = chosenLayers(asked, file) ?? [undefined]
  return layers.map(layer => ({input: spec, layer}))
}

function partsOfFiles(
  readers: readonly ArrayReader[],
  spec: FileSpec,
  asked: LayerChoice | undefined,
): InputPart[] {
  requireOneModel(readers)
  const files = filesByLayer(readers, spec)
  if (files === undefined) {
    if (asked === undefined) return [{input: spec, layer: undefined}]
    const what = 'files that say which layer they hold'
    throw expected('BAD_OPTION', '`layer`', what, 'none that does', SAY_LAYERS)
  }
  const present = [...files.keys()].sort((a, b) => a - b)
  const wanted = asked === undefined || asked === 'all' ? present : [...new Set(asked)]
  const missing = wanted.filter(layer => !files.has(layer))
  if (missing.length > 0) {
    const remedy = `take ${numbered(present)}`
    const where = filesText(spec.paths)
    throw expected('ARRAY_MISSING', where, numbered(missing), numbered(present), remedy)
  }
  const {digest: _, ...rest} = spec
  return wanted.map(layer => ({input: {...rest, paths: files.get(layer)!}, layer}))
}

const SAY_LAYERS =
  'a file says its layer by its name, such as layer3.npz, or by its metadata `layers`'

/** The files of each layer; `undefined` where none says which layer it holds. */
function filesByLayer(
  readers: readonly ArrayReader[],
  {names, paths}: FileSpec,
): Map<number, string[]> | undefined {
  const each = readers.map(reader => layersOfFile(reader, names.query))
  if (each.every(layers => layers.length === 0)) return undefined
  const silent = each.findIndex(layers => layers.length === 0)
  if (silent >= 0) {
    const what = 'a layer in the name or metadata of all files, or of none'
    throw expected('BAD_OPTION', '`input`', what, `none in ${paths[silent]}`, SAY_LAYERS)
  }
  const files = new Map<number, string[]>()
  each.forEach((layers, at) => {
    for (const layer of layers) files.set(layer, [...(files.get(layer) ?? []), paths[at]!])
  })
  return files
}

/** The layers that a file among others holds: those of its numbered arrays, or the one that it is. */
function layersOfFile(reader: ArrayReader, query: string): number[] {
  const inside = reader.entries.has(query) ? [] : layersWith(reader.entries, query)
  return inside.length > 0 ? inside : [layerOfFile(reader) ?? []].flat()
}

/** @throws {BAD_OPTION} where the metadata of files name different models */
function requireOneModel(readers: readonly ArrayReader[]): void {
  const models = [...new Set(readers.flatMap(({metadata}) => metadata.model ?? []))]
  if (models.length < 2) return
  const got = models.map(model => describe(model)).join(' and ')
  throw expected('BAD_OPTION', '`input`', 'files of one model', got, 'run once for each model')
}

/**
 * Whether attention on an input is causal where nothing else is asked for: as its files say, else it is not.
 *
 * @throws {BAD_OPTION} where they say one thing of some of the layers or files and another of others
 * @throws as {@link partsOf}
 */
export function causalOf(spec: InputSpec, asked?: LayerChoice): Promise<boolean> {
  if (spec.kind !== 'file') return Promise.resolve(false)
  return withFiles(spec, async files => {
    const stated: Stated[] = []
    for (const part of partsIn(files, spec, asked)) stated.push(...(await statedBy(files, part)))
    const causal = stated.filter(one => one.causal)
    const others = stated.filter(one => !one.causal)
    if (causal.length === 0 || others.length === 0) return causal.length > 0
    const bySide = [causal, others].map(side => placesText(side, stated)) as [string, string]
    const where = `${spec.paths.length === 1 ? spec.paths[0] : filesText(spec.paths)}, metadata causal`
    const what = `the same in all ${spec.paths.length === 1 ? 'layers' : 'files'}`
    const got = `causal in ${bySide[0]}, not in ${bySide[1]}`
    const other = 'or say which for all: `causal` or `noCausal`'
    throw expected('BAD_OPTION', where, what, got, 'take one kind with `layer`', other)
  })
}

/** What a file without numbered arrays says of where it comes from, as `rfa export` writes it. */
export interface Origin {
  /** The layer of the model. */
  layer: number | null
  /** The name of the model, and its folder as it was typed. */
  model: string | null
  folder: string | null
}

/** The origin of an input, as its metadata has it; of several files the first one, as they are of one layer. */
export async function originOf(spec: InputSpec): Promise<Origin> {
  if (spec.kind !== 'file') return {layer: null, model: null, folder: null}
  return withFiles(spec, async ({readers}) => {
    const {layers, model = null, model_folder = null} = readers[0]!.metadata
    const layer = /^\s*\d+\s*$/.test(layers ?? '') ? Number(layers) : null
    return {layer, model, folder: model_folder}
  })
}

/** What a file says of a causal mask. */
interface Stated {
  layer: number | undefined
  path: string
  causal: boolean
}

async function statedBy({arrangement, readers}: InputFiles, part: InputPart): Promise<Stated[]> {
  const {input: spec, layer} = part
  if (spec.kind !== 'file') return []
  const stated: Stated[] = []
  for (const reader of readers.filter(({path}) => spec.paths.includes(path))) {
    const one = {files: {arrangement, readers: [reader]}, spec}
    const causal = statedCausal(reader, layer) ?? (await causalByArray(one, layer)) ?? false
    stated.push({layer, path: reader.path, causal})
  }
  return stated
}

/** By the numbers of layers; by files where the files of one layer differ. */
function placesText(side: readonly Stated[], all: readonly Stated[]): string {
  const layers = new Set(side.map(({layer}) => layer))
  const told = all.every(one => side.includes(one) || !layers.has(one.layer))
  const numbers = [...layers].filter(layer => layer !== undefined)
  return told && numbers.length > 0
    ? numbered(numbers)
    : side.map(({path}) => basename(path)).join(', ')
}
