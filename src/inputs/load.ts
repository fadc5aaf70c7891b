import {createHash} from 'node:crypto'
import {basename} from 'node:path'
import {describe, expected} from '../errors.js'
import {
  type AttentionInput,
  type AttentionShapes,
  checkAttentionShapes,
  firstRows,
  fourAxes,
  layoutWarning,
  sizesOf,
  toAttentionArray,
} from './attention-input.js'
import type {ArrayReader} from './files/index.js'
import {fileChanged} from './files/recorded-source.js'
import {type GeneratorShape, generate} from './generators/index.js'
import {
  closeInput,
  digestOf,
  type FileSpec,
  type InputFiles,
  openInput,
  type Place,
  placesOf,
  ROLES,
} from './input-files.js'
import {DEFAULT_LAYOUT, type Layout} from './layout.js'
import {DTYPES, elementCount, type NdArray} from './nd-array.js'
import type {InputSpec} from './spec.js'

type GeneratorSpec = Extract<InputSpec, {kind: 'generator'}>
type Beside = Pick<AttentionInput, 'extras' | 'unreadExtras' | 'metadata'>

/**
 * Extras beyond this, taken smallest first, stay unread: what goes with Q/K/V (gates, masks,
 * expected outputs) is small, while a file may also hold all other layers of a model.
 */
export const MAX_EXTRA_BYTES = 2 ** 28

const FLOAT = 4

/**
 * Reads or makes the queries, keys and values that a plan asks for.
 *
 * From a file: the three arrays named in the plan; or a single .npy whose leading axis of 3 stacks
 * them (`[3, L, D]` to `[3, B, H, L, D]`); or three .npy files in the order query, key, value. Whatever the layout of
 * the file, arrays come as `[B, H, L, D]`; extras stay as they stand there.
 *
 * @param spec - where they come from; what is read from files with a digest is verified to be of it
 * @param options.seqLen - query length. File: the first that many queries, and keys and values too
 *   when they are as many as the queries; `null` takes all. Generator: required
 * @param options.seed - for generators; files do not use it
 * @param options.extras - whether the other arrays of a file are read too. Default: true
 * @throws {FILE_MISSING | BAD_FILE | ARRAY_MISSING} see {@link openInput}
 * @throws {TOO_LARGE} when the arrays do not fit in memory
 * @throws {FILE_CHANGED} when the files are others than those of the digest
 * @throws {SHAPE_MISMATCH | NOT_FINITE} see {@link toAttentionArray} and
 *   {@link checkAttentionShapes}
 * @throws {BAD_OPTION} when `seqLen` is longer than the file, or missing for a generator, or the
 *   number of paths fits no arrangement
 * @throws {UNKNOWN_NAME} for an unknown generator
 */
export async function loadInput(
  spec: InputSpec,
  options: {seqLen: number | null; seed: number; extras?: boolean},
): Promise<AttentionInput> {
  const {seqLen, seed, extras = true} = options
  if (spec.kind === 'file') return cut(await loadFile(spec, extras), seqLen)
  return generate(spec.name, {...generatedSizes(spec, seqLen), seed})
}

/** Sizes of an input at one length. */
export type InputSizes = Omit<GeneratorShape, 'seed'>

/** What is known of an input before any of it is read or made. */
export interface InputFacts {
  /** What {@link loadInput} gives at each of the lengths asked for. */
  sizes: InputSizes[]
  /** Bytes that loading takes at its peak, whatever the length: files are read whole. */
  loadingBytes: number
}

/**
 * The sizes of an input at these lengths and the memory that loading takes, from the header of a file alone.
 *
 * @throws what {@link loadInput} throws before it reads or makes arrays
 */
export async function inputFacts(
  spec: InputSpec,
  seqLens: readonly (number | null)[],
): Promise<InputFacts> {
  if (spec.kind === 'generator') {
    return {sizes: seqLens.map(seqLen => generatedSizes(spec, seqLen)), loadingBytes: 0}
  }
  const {places, ...shapes} = await readHeaders(spec)
  const {batch, heads, headDim, valueDim} = sizesOf(shapes)
  const sizes = seqLens.map(seqLen => {
    const [queryLen, keyLen] = cutLengths({label: labelOf(spec), ...shapes}, seqLen)
    return {batch, heads, queryLen, keyLen, headDim, valueDim}
  })
  return {sizes, loadingBytes: loadingBytes(places, spec.layout)}
}

/**
 * What to be wary of in an input, from the header of a file alone: axes that look as if they were in another order.
 *
 * @throws what {@link loadInput} throws before it reads arrays
 */
export async function inputWarnings(spec: InputSpec): Promise<string[]> {
  if (spec.kind === 'generator') return []
  const warning = layoutWarning(sizesOf(await readHeaders(spec)), spec.layout)
  return warning === undefined ? [] : [`${labelOf(spec)}: ${warning}`]
}

/** The shapes of queries, keys and values, which belong together. */
async function readHeaders(spec: FileSpec): Promise<AttentionShapes & {places: Place[]}> {
  const files = await openInput(spec)
  try {
    const places = await placesOf(files, spec)
    const [query, key, value] = places.map(({shape, where}) => ({
      shape: fourAxes(shape, where, spec.layout),
    }))
    const shapes = {query: query!, key: key!, value: value!}
    checkAttentionShapes(labelOf(spec), shapes, spec.layout ?? DEFAULT_LAYOUT)
    return {...shapes, places}
  } finally {
    await closeInput(files)
  }
}

/**
 * Bytes of the arrays as they are read, and of those that are made of them: float32 that stays in its order is not
 * copied, numbers of 16 bits are widened beside their bytes.
 */
function loadingBytes(places: readonly Place[], layout: Layout | undefined): number {
  return places.reduce((sum, {shape, dtype}) => {
    const count = elementCount(shape)
    const held = DTYPES[dtype].storage === Float32Array
    const widened = held && dtype !== 'float32' ? FLOAT : 0
    const made = held && layout === undefined ? 0 : FLOAT
    return sum + count * (DTYPES[dtype].bytes + widened + made)
  }, 0)
}

/** @throws {BAD_OPTION} without a length */
function generatedSizes(
  {name, batch, heads, head_dim, value_dim, key_len}: GeneratorSpec,
  seqLen: number | null,
): InputSizes {
  if (seqLen === null) {
    throw expected('BAD_OPTION', '`seqLen`', `a length for the generator ${name}`, 'none')
  }
  const lengths = {queryLen: seqLen, keyLen: key_len ?? seqLen}
  return {batch, heads, ...lengths, headDim: head_dim, valueDim: value_dim}
}

/** File names without folders. */
function labelOf({paths}: FileSpec): string {
  return paths.map(path => basename(path)).join(', ')
}

/** Reads, brings to four axes and checks; the label is the file name without folders. */
async function loadFile(spec: FileSpec, extras: boolean): Promise<AttentionInput> {
  const label = labelOf(spec)
  const files = await openInput(spec)
  try {
    const places = await placesOf(files, spec)
    const {arrays, ...beside} = await readParts(files, spec, extras)
    await verify(spec, label, files, [...arrays, ...beside.extras.values()])
    const [query, key, value] = arrays.map((array, i) =>
      toAttentionArray(array, places[i]!.where, spec.layout),
    )
    const parts = {query: query!, key: key!, value: value!}
    checkAttentionShapes(label, parts, spec.layout ?? DEFAULT_LAYOUT)
    return {label, ...parts, ...beside}
  } finally {
    await closeInput(files)
  }
}

/** Most bytes of one hash update: Node takes less than 2^31. */
const HASHED_BYTES = 2 ** 28

/** Hash of the arrays by the input they were verified to belong to; see {@link verify}. */
const verified = new Map<string, string>()

/**
 * Makes sure that arrays come from the bytes that the input is pinned to. All bytes are hashed once per
 * process; afterwards it is enough that the arrays are the same as then.
 *
 * @throws {FILE_CHANGED} when they do not
 */
async function verify(
  spec: FileSpec,
  label: string,
  files: InputFiles,
  arrays: readonly NdArray[],
): Promise<void> {
  if (spec.digest === undefined) return
  const id = JSON.stringify([spec, arrays.length])
  const hash = arraysHash(arrays)
  if (verified.get(id) === hash) return
  if ((await digestOf(files)) !== spec.digest) throw fileChanged(label)
  verified.set(id, hash)
}

function arraysHash(arrays: readonly NdArray[]): string {
  const hash = createHash('sha256')
  for (const {shape, dtype, data} of arrays) {
    hash.update(JSON.stringify([shape, dtype]))
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    for (let at = 0; at < bytes.length; at += HASHED_BYTES) {
      hash.update(bytes.subarray(at, at + HASHED_BYTES))
    }
  }
  return hash.digest('hex')
}

/** Query, key and value in this order. Extras and metadata come from named arrays only: .npy files have neither. */
async function readParts(
  {arrangement, readers}: InputFiles,
  {names}: FileSpec,
  extras: boolean,
): Promise<Beside & {arrays: NdArray[]}> {
  if (arrangement === 'named') return readNamed(readers[0]!, names, extras)
  const none: Beside = {extras: new Map(), metadata: {}}
  const arrays: NdArray[] = []
  for (const reader of readers) arrays.push(await reader.read([...reader.entries.keys()][0]!))
  return {...none, arrays: arrangement === 'three' ? arrays : unstack(arrays[0]!)}
}

/** Three arrays of one file by name, and what else it holds. */
async function readNamed(reader: ArrayReader, names: FileSpec['names'], extras: boolean) {
  const arrays: NdArray[] = []
  for (const role of ROLES) arrays.push(await reader.read(names[role]))
  const others = extras
    ? await readExtras(reader, new Set(Object.values(names)))
    : {extras: new Map<string, NdArray>()}
  return {arrays, ...others, metadata: reader.metadata}
}

/** Reads the other arrays, smallest first, up to {@link MAX_EXTRA_BYTES} in all. */
async function readExtras(reader: ArrayReader, taken: ReadonlySet<string>) {
  const others = [...reader.entries].filter(([name]) => !taken.has(name))
  const extras = new Map<string, NdArray>()
  const unreadExtras: string[] = []
  let total = 0
  for (const [name, {dtype, bytes}] of others.sort(([, a], [, b]) => a.bytes - b.bytes)) {
    if (dtype !== null) total += bytes
    if (dtype === null || total > MAX_EXTRA_BYTES) unreadExtras.push(name)
    else extras.set(name, await reader.read(name))
  }
  return {extras, unreadExtras}
}

/** Splits `[3, ...]` into three views. */
function unstack({shape, dtype, data}: NdArray): NdArray[] {
  const inner = shape.slice(1)
  const count = elementCount(inner)
  return ROLES.map((_, i) => ({
    shape: inner,
    dtype,
    data: data.subarray(i * count, (i + 1) * count),
  }))
}

/** The first `seqLen` queries; keys and values follow only where they stand for the same tokens. */
function cut(input: AttentionInput, seqLen: number | null): AttentionInput {
  const {query, key, value} = input
  const [queryLen, keyLen] = cutLengths(input, seqLen)
  return {
    ...input,
    query: firstRows(query, queryLen),
    key: firstRows(key, keyLen),
    value: firstRows(value, keyLen),
  }
}

/** Lengths of queries and keys once cut. @throws {BAD_OPTION} for more queries than there are */
function cutLengths(
  {label, query, key}: AttentionShapes & {label: string},
  seqLen: number | null,
): [queryLen: number, keyLen: number] {
  const [, , length] = query.shape
  const [, , keyLen] = key.shape
  if (seqLen === null) return [length, keyLen]
  if (!Number.isInteger(seqLen) || seqLen < 1 || seqLen > length) {
    const what = `1 to ${length}, the number of queries in ${label}`
    throw expected('BAD_OPTION', '`seqLen`', what, describe(seqLen))
  }
  return [seqLen, keyLen === length ? seqLen : keyLen]
}
