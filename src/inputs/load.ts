import {createHash} from 'node:crypto'
import {
  type AttentionInput,
  checkAttentionShapes,
  cutLengths,
  firstRows,
  fourAxes,
  sizesOf,
  toAttentionArray,
} from './attention-input.js'
import type {ArrayReader} from './files/index.js'
import {fileChanged} from './files/recorded-source.js'
import {generate} from './generators/index.js'
import {repeatHeads} from './grouped-heads.js'
import {generatedSizes, labelOf, type PartOfInput, partIn} from './input-facts.js'
import {
  digestOf,
  type FileSpec,
  filesOf,
  type InputFiles,
  type OneFile,
  type Place,
  ROLES,
  withInput,
} from './input-files.js'
import {joinInputs} from './joined.js'
import {cutKeyMask, toKeyMask} from './key-mask.js'
import {layerName, layerOf} from './layers.js'
import type {Layout} from './layout.js'
import {elementCount, type NdArray} from './nd-array.js'
import {readOutputs} from './output-projection.js'
import type {InputSpec} from './spec.js'

type Others = Pick<AttentionInput, 'extras' | 'unreadExtras' | 'metadata'>

/**
 * Extras beyond this, taken smallest first, stay unread: what goes with Q/K/V (gates, masks,
 * expected outputs) is small, while a file may also hold all other layers of a model.
 */
export const MAX_EXTRA_BYTES = 2 ** 28

/**
 * Reads or makes the queries, keys and values that a plan asks for.
 *
 * From a file: the three arrays named in the plan; or a single .npy that stacks them in a leading axis of 3 (`[3,
 * L, D]` to `[3, B, H, L, D]`); or three .npy files in the order query, key, value. Whatever the layout of the
 * file, arrays come as `[B, H, L, D]`, with a copy of keys and values for each head of queries; extras stay as in
 * the file. Extras do not include a matrix `o` and a number `residual_norm`. Several files of named arrays are sequences of
 * one batch, see {@link joinInputs}.
 *
 * @param spec - where they come from; what is read from files with a digest is verified to be of it
 * @param options.seqLen - query length. File: that many queries from the first, and also keys and values if they
 * have the same number; `null` takes all. Generator: required
 * @param options.seed - for generators; files do not use it
 * @param options.extras - whether the other arrays of a file are read too. Default: true
 * @param options.layer - which of several layers in a file (`layers.N.q` ...). Default: the arrays of no layer
 * @param options.logitScale - goes before the scale that a file states, which is not read then. Default: it is
 * @throws {FILE_MISSING | BAD_FILE | ARRAY_MISSING} see {@link withInput}
 * @throws {TOO_LARGE} when the arrays do not fit in memory
 * @throws {FILE_CHANGED} when the files are others than those of the digest
 * @throws {SHAPE_MISMATCH | NOT_FINITE} see {@link toAttentionArray}, {@link readOutputs} and
 *   {@link checkAttentionShapes}
 * @throws {BAD_OPTION} when the key mask leaves a sequence no key, or `seqLen` is longer than the file, or missing for a generator, or the
 *   number of paths fits no arrangement
 * @throws {UNKNOWN_NAME} for an unknown generator
 */
export async function loadInput(
  spec: InputSpec,
  options: {seqLen: number | null; seed: number; extras?: boolean} & PartOfInput,
): Promise<AttentionInput> {
  const {seqLen, seed, extras = true, ...part} = options
  if (spec.kind === 'file') return cut(await loadFile(spec, part, extras), seqLen)
  return generate(spec.name, {...generatedSizes(spec, seqLen), seed})
}

/** Reads, brings to four axes and checks. */
function loadFile(spec: FileSpec, part: PartOfInput, extras: boolean): Promise<AttentionInput> {
  const {layer} = part
  const label = labelOf(spec, part)
  return withInput(spec, layer, async files => {
    const read: ReadFile[] = []
    for (const one of filesOf(files, spec)) read.push(await readFile(one, part, extras))
    await verify(
      {...spec, layer},
      label,
      files,
      read.flatMap(({arrays}) => arrays),
    )
    const inputs = read.map(({checked}) => checked())
    return joinInputs(label, inputs)
  })
}

interface ReadFile {
  arrays: NdArray[]
  /** Brings them to four axes. @throws {SHAPE_MISMATCH | NOT_FINITE | BAD_FILE} */
  checked(): AttentionInput
}

async function readFile(one: OneFile, part: PartOfInput, extras: boolean): Promise<ReadFile> {
  const {files, spec} = one
  const label = labelOf(spec, part)
  const {layout, places, mask, stated, ...after} = await partIn(one, part)
  const arrays = await readPlaces(files, places)
  const maskArray = await mask?.reader.read(mask.name)
  const read = [...arrays, ...(maskArray ? [maskArray] : [])]
  const outputs = await readOutputs(
    after,
    () => outputEntries(places, layout),
    array => read.push(array),
  )
  const taken = [...places, mask, ...Object.values(after)].flatMap(place => place?.name ?? [])
  const others = await readOthers(files, {taken: new Set(taken), layer: part.layer, extras})
  read.push(...others.extras.values())
  return {
    arrays: read,
    checked() {
      const [query, key, value] = arrays.map((array, i) =>
        toAttentionArray(array, places[i]!.where, layout),
      )
      const parts = {query: query!, key: key!, value: value!}
      checkAttentionShapes(label, parts, layout)
      const {batch, keyLen} = sizesOf(parts)
      const keyMask =
        maskArray && toKeyMask(maskArray, mask!.where, {batch, keyLen, hides: mask!.hides})
      return {
        label,
        ...parts,
        ...stated,
        ...(keyMask && {keyMask}),
        ...outputs,
        ...others,
      }
    },
  }
}

/** H Dv of queries, keys and values in a file. */
function outputEntries([query, , value]: readonly Place[], layout: Layout): number {
  const [, heads] = fourAxes(query!.shape, query!.where, layout)
  const [, , , valueDim] = fourAxes(value!.shape, value!.where, layout)
  return heads * valueDim
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
  spec: FileSpec & Pick<PartOfInput, 'layer'>,
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

/** Query, key and value in this order. */
async function readPlaces({arrangement}: InputFiles, places: readonly Place[]): Promise<NdArray[]> {
  const arrays: NdArray[] = []
  if (arrangement === 'stacked') return unstack(await places[0]!.reader.read(places[0]!.name))
  for (const {reader, name} of places) arrays.push(await reader.read(name))
  return arrays
}

/** What a file holds in addition to what was read. */
interface Rest {
  /** Names of arrays that were read. */
  taken: ReadonlySet<string>
  layer: number | undefined
  /** Whether arrays are wanted, too. */
  extras: boolean
}

/** Extras and metadata come from named arrays only: .npy files have neither. */
async function readOthers({arrangement, readers}: InputFiles, rest: Rest): Promise<Others> {
  const reader = readers[0]!
  if (arrangement !== 'named') return {extras: new Map(), metadata: {}}
  const {metadata} = reader
  return {...(rest.extras ? await readExtras(reader, rest) : {extras: new Map()}), metadata}
}

/**
 * Reads the other arrays, smallest first, up to {@link MAX_EXTRA_BYTES} in all: arrays of the layer, and arrays
 * without a layer that the layer does not have.
 */
async function readExtras(reader: ArrayReader, {taken, layer}: Rest) {
  const others = [...reader.entries].flatMap(([full, entry]) => {
    const own = layer === undefined ? undefined : layerOf(full)
    const replaced = layer !== undefined && !own && reader.entries.has(layerName(layer, full))
    if (taken.has(full) || replaced || (own && own.layer !== layer)) return []
    return [{full, name: own?.name ?? full, ...entry}]
  })
  const extras = new Map<string, NdArray>()
  const unreadExtras: string[] = []
  let total = 0
  for (const {full, name, dtype, bytes} of others.sort((a, b) => a.bytes - b.bytes)) {
    if (dtype !== null) total += bytes
    if (dtype === null || total > MAX_EXTRA_BYTES) unreadExtras.push(name)
    else extras.set(name, await reader.read(full))
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

/**
 * The first `seqLen` queries; keys and values follow only where they stand for the same tokens. Heads of keys and values
 * that serve several heads of queries are repeated.
 */
function cut(input: AttentionInput, seqLen: number | null): AttentionInput {
  const {query, key, value, keyMask, label, ...rest} = input
  const [queryLen, keyLen] = cutLengths(input, seqLen)
  const [, heads] = query.shape
  const own = key.shape[1]
  const left = keyMask && cutKeyMask(keyMask, key.shape[2], keyLen, label)
  return {
    label,
    ...rest,
    query: firstRows(query, queryLen),
    key: repeatHeads(firstRows(key, keyLen), heads, label),
    value: repeatHeads(firstRows(value, keyLen), heads, label),
    ...(left && {keyMask: left}),
    ...(own !== heads && {keyHeads: own}),
  }
}
