/** The files of an input while they are open: which array is which, and what all bytes hash to. */
import {createHash} from 'node:crypto'
import {describe, expected, shownName} from '../errors.js'
import {type Arrangement, arrangementOf, wrongFiles} from './arrangement.js'
import {type ArrayReader, missingArray, openArrays} from './files/index.js'
import {KEY_MASK, OTHER_MASKS} from './key-mask.js'
import {layerName, layerOfFile, layersWith} from './layers.js'
import {DEFAULT_LAYOUT, type Layout, shapesOf} from './layout.js'
import {
  type StatedFacts,
  type StatedOverrides,
  type StatedTexts,
  statedFacts,
  statedTexts,
} from './metadata.js'
import type {Dtype} from './nd-array.js'
import type {InputSpec} from './spec.js'

export type FileSpec = Extract<InputSpec, {kind: 'file'}>

/** What each array is for, in the order of files and stacks. */
export const ROLES = ['query', 'key', 'value'] as const

/** Open files; close them. */
export interface InputFiles {
  arrangement: Arrangement
  /** In the order of the paths. */
  readers: readonly ArrayReader[]
}

/**
 * Opens the files of an input and checks what their headers say; `read` is done with them before they are closed again.
 *
 * @param layer - its arrays; `undefined`: arrays without a layer
 * @throws {BAD_OPTION} when the number of paths fits no arrangement
 * @throws {FILE_MISSING | BAD_FILE} see {@link openArrays}
 * @throws {ARRAY_MISSING} when a name is not in the file; lists what is
 */
export function withInput<Result>(
  spec: FileSpec,
  layer: number | undefined,
  read: (files: InputFiles) => Promise<Result>,
): Promise<Result> {
  return withFiles(spec, files => {
    if (files.arrangement === 'named') {
      for (const reader of files.readers) checkNames(reader, spec, layer)
    }
    return read(files)
  })
}

/** The same whatever arrays they hold. @throws {BAD_OPTION | FILE_MISSING | BAD_FILE} */
export async function withFiles<Result>(
  {paths}: FileSpec,
  read: (files: InputFiles) => Promise<Result>,
): Promise<Result> {
  const arrangement = arrangementOf(paths)
  if (!arrangement) throw wrongFiles('BAD_OPTION', '`input`', paths)
  const readers: ArrayReader[] = []
  try {
    for (const path of paths) readers.push(await openArrays(path))
    return await read({arrangement, readers})
  } finally {
    for (const reader of readers) await reader.close()
  }
}

/** Whether the model ran with a causal mask, by what a file says; `undefined`: it does not say. */
export function statedCausal({metadata, path}: ArrayReader, layer: number | undefined) {
  const {causal} = statedTexts(metadata, layer)
  return statedFacts({causal}, path).ranCausal
}

/** A file of an input, or what is read as one. */
export interface OneFile {
  files: InputFiles
  spec: FileSpec
}

/** Each of several files of named arrays by itself; others together. */
export function filesOf(files: InputFiles, spec: FileSpec): OneFile[] {
  const {arrangement, readers} = files
  if (arrangement !== 'named' || readers.length === 1) return [{files, spec}]
  return readers.map((reader, at) => ({
    files: {arrangement, readers: [reader]},
    spec: {...spec, paths: [spec.paths[at]!]},
  }))
}

/** The layout that an input is read in. @throws as {@link withInput} and {@link layoutIn} */
export function layoutOf(spec: InputSpec): Promise<Layout> {
  if (spec.kind !== 'file') return Promise.resolve(DEFAULT_LAYOUT)
  return withFiles(spec, async files => layoutIn(files, spec, undefined))
}

/**
 * What the texts of a file say, as far as the input does not say otherwise.
 *
 * @param overrides - settings that replace them, in addition to a layout of the input
 * @throws {BAD_FILE} see {@link statedFacts}
 */
export function factsOf(
  files: InputFiles,
  {layout}: FileSpec,
  layer: number | undefined,
  overrides: StatedOverrides = {},
): StatedFacts {
  return statedFacts(textsOf(files, layer), files.readers[0]!.path, {layout, ...overrides})
}

/** The layout that arrays are read in. @throws {BAD_FILE} for a text of the file that is none */
export function layoutIn(files: InputFiles, spec: FileSpec, layer: number | undefined): Layout {
  // a scale that is not a number does not matter here
  const {layout} = factsOf(files, spec, layer, {logitScale: 0})
  return spec.layout ?? layout ?? DEFAULT_LAYOUT
}

/** The same as it stands there; several files say nothing. */
export function textsOf({readers}: InputFiles, layer: number | undefined): StatedTexts {
  return statedTexts(readers[0]!.metadata, layer)
}

/** What an input says of one of its three arrays, without reading it. */
export interface Place {
  /** What messages call it. */
  where: string
  /** As stored; of a stack, without its leading axis. */
  shape: readonly number[]
  dtype: Dtype
  /** The array of the file that it is, or is a part of. */
  reader: ArrayReader
  name: string
}

/**
 * Queries, keys and values in this order.
 *
 * @param how.layer - its arrays; `undefined`: arrays without a layer
 * @param how.layout - in messages
 * @throws {SHAPE_MISMATCH} for a stack of anything but three
 * @throws {BAD_FILE} for elements of a type that cannot be read
 */
export async function placesOf(
  {arrangement, readers}: InputFiles,
  {paths, names}: FileSpec,
  {layer, layout}: {layer: number | undefined; layout: Layout},
): Promise<Place[]> {
  const places = ROLES.map((role, i) => {
    const reader = readers[i] ?? readers[0]!
    const only = [...reader.entries.keys()][0]!
    const name = arrangement === 'named' ? nameIn(reader, {names}, layer, names[role]) : only
    const where = {
      named: `${reader.path}[${shownName(name)}]`,
      three: `${paths[i]} (${role})`,
      stacked: `${reader.path}[${i}] (${role})`,
    }[arrangement]
    const {shape, dtype} = reader.entries.get(name)!
    return {where, shape, dtype, reader, name}
  })
  for (const {reader, name, dtype} of places) {
    if (dtype === null) await reader.read(name) // which says what is wrong
  }
  const readable = places as Place[]
  if (arrangement !== 'stacked') return readable
  return readable.map(place => ({
    ...place,
    shape: stackedShape(place.shape, place.reader.path, layout),
  }))
}

/** Of one of the three arrays that a .npy file stacks. */
function stackedShape(shape: readonly number[], path: string, layout: Layout): readonly number[] {
  const inner = shape.slice(1)
  if (shape[0] === 3 && inner.length >= 2 && inner.length <= 4) return inner
  const what = `query, key and value stacked as ${shapesOf(layout).replaceAll('[', '[3, ')}`
  const remedy = 'or give three .npy files: `input: q.npy,k.npy,v.npy`'
  throw expected('SHAPE_MISMATCH', path, what, describe(shape), remedy)
}

/** An array that an input need not have, without reading it. */
export interface OptionalPlace {
  where: string
  shape: readonly number[]
  dtype: Dtype | null
  reader: ArrayReader
  name: string
}

export interface MaskPlace extends OptionalPlace {
  /** Whether nonzero hides a key. */
  hides: boolean
}

/**
 * The mask of the layer, or the one for all layers, under one of the names of {@link KEY_MASK} and {@link OTHER_MASKS}.
 *
 * @throws {ARRAY_MISSING} when one is named that is not there
 */
export function maskPlaceOf(
  files: InputFiles,
  {names}: FileSpec,
  layer: number | undefined,
): MaskPlace | undefined {
  const place = optionalPlaceOf(files, layer, names.key_mask ?? KEY_MASK)
  if (place) return {...place, hides: false}
  if (names.key_mask === undefined) return otherMaskOf(files, layer)
  const [reader] = files.readers as [ArrayReader]
  throw missingArray(reader.path, names.key_mask, reader.entries, {
    suggestions: ['leave out `keyMaskName`'],
  })
}

function otherMaskOf(files: InputFiles, layer: number | undefined): MaskPlace | undefined {
  for (const [name, {hides}] of OTHER_MASKS) {
    const place = optionalPlaceOf(files, layer, name)
    if (place) return {...place, hides}
  }
  return undefined
}

/** An array of the layer, or the one of that name for all layers; `undefined`: there is none. */
export function optionalPlaceOf(
  {arrangement, readers}: InputFiles,
  layer: number | undefined,
  wanted: string,
): OptionalPlace | undefined {
  const [reader] = readers as [ArrayReader]
  const own = layer === undefined ? wanted : layerName(layer, wanted)
  const name = [own, wanted].find(known => reader.entries.has(known))
  if (arrangement !== 'named' || name === undefined) return undefined
  const {shape, dtype} = reader.entries.get(name)!
  return {where: `${reader.path}[${shownName(name)}]`, shape, dtype, reader, name}
}

/** The name of an array of a layer in a file; the plain one where the file is that layer as a whole. */
function nameIn(
  reader: ArrayReader,
  {names}: Pick<FileSpec, 'names'>,
  layer: number | undefined,
  name: string,
): string {
  if (layer === undefined) return name
  const isNumbered = reader.entries.has(layerName(layer, names.query))
  const isWhole = reader.entries.has(names.query) && layerOfFile(reader) === layer
  return isWhole && !isNumbered ? name : layerName(layer, name)
}

/**
 * SHA-256 of all files' bytes in order, in hex; covers what was read from them before.
 *
 * @throws {FILE_CHANGED} when a file was changed since
 */
export async function digestOf({readers}: Pick<InputFiles, 'readers'>): Promise<string> {
  const hash = createHash('sha256')
  for (const reader of readers) await reader.hashInto(hash)
  return hash.digest('hex')
}

function checkNames(reader: ArrayReader, {names}: FileSpec, layer: number | undefined): void {
  const {path, entries} = reader
  const nameOf = (role: (typeof ROLES)[number]) => nameIn(reader, {names}, layer, names[role])
  const missing = ROLES.find(role => !entries.has(nameOf(role)))
  if (missing === undefined) return
  const layers = layer === undefined ? layersWith(entries, names.query) : []
  const hint =
    layers.length > 0
      ? `say which layers with \`layer\`: there are ${layers.join(', ')}`
      : 'name the arrays with `queryName`, `keyName` and `valueName`'
  const taken = ROLES.filter(role => role !== missing).map(nameOf)
  throw missingArray(path, nameOf(missing), entries, {suggestions: [hint], taken})
}
