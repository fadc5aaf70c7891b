import {basename} from 'node:path'
import {describe, expected, shownName} from '../errors.js'
import type {InputSpec} from '../results/schemas/common.js'
import {
  type AttentionInput,
  checkAttentionShapes,
  firstRows,
  toAttentionArray,
} from './attention-input.js'
import {
  type ArrayReader,
  arrayExtension,
  missingArray,
  openArrays,
  readArrays,
} from './files/index.js'
import {generate} from './generators/index.js'
import {elementCount, type NdArray} from './nd-array.js'

type FileSpec = Extract<InputSpec, {kind: 'file'}>
type Parts = Pick<AttentionInput, 'query' | 'key' | 'value'>
type Beside = Pick<AttentionInput, 'extras' | 'unreadExtras' | 'metadata'>

/**
 * Extras beyond this, taken smallest first, stay unread: what goes with Q/K/V (gates, masks,
 * expected outputs) is small, while a file may also hold all other layers of a model.
 */
export const MAX_EXTRA_BYTES = 2 ** 28

const ROLES = ['query', 'key', 'value'] as const

/**
 * Reads or makes the queries, keys and values that a plan asks for.
 *
 * From a file: the three arrays named in the plan; or a single .npy whose leading axis of 3 stacks
 * them (`[3, L, D]` to `[3, B, H, L, D]`); or three .npy files in the order query, key, value.
 *
 * @param spec - where they come from
 * @param options.seqLen - query length. File: the first that many queries, and keys and values too
 *   when they are as many as the queries; `null` takes all. Generator: required
 * @param options.seed - for generators; files do not use it
 * @throws {FILE_MISSING | BAD_FILE | TOO_LARGE} see {@link openArrays}
 * @throws {ARRAY_MISSING} when a name is not in the file; lists what is
 * @throws {SHAPE_MISMATCH | NOT_FINITE} see {@link toAttentionArray} and
 *   {@link checkAttentionShapes}
 * @throws {BAD_OPTION} when `seqLen` is longer than the file, or missing for a generator, or the
 *   number of paths fits no layout
 * @throws {UNKNOWN_NAME} for an unknown generator
 */
export async function loadInput(
  spec: InputSpec,
  options: {seqLen: number | null; seed: number},
): Promise<AttentionInput> {
  if (spec.kind === 'file') return cut(await loadFile(spec), options.seqLen)
  const {seqLen, seed} = options
  if (seqLen === null) {
    throw expected('BAD_OPTION', '--seq-len', `a length for the generator ${spec.name}`, 'none')
  }
  return generate(spec.name, {
    batch: spec.batch,
    heads: spec.heads,
    queryLen: seqLen,
    keyLen: spec.key_len ?? seqLen,
    headDim: spec.head_dim,
    valueDim: spec.value_dim,
    seed,
  })
}

/** Reads, brings to four axes and checks; the label is the file name without folders. */
async function loadFile(spec: FileSpec): Promise<AttentionInput> {
  const label = spec.paths.map(path => basename(path)).join(', ')
  const {arrays, where, ...beside} = await readParts(spec)
  const [query, key, value] = arrays.map((array, i) => toAttentionArray(array, where[i]!))
  const parts = {query: query!, key: key!, value: value!}
  checkAttentionShapes(label, parts)
  return {label, ...parts, ...beside}
}

/**
 * Query, key and value in this order, and what messages call them. Extras and metadata come from
 * named arrays only: .npy files have neither.
 */
async function readParts(spec: FileSpec): Promise<Beside & {arrays: NdArray[]; where: string[]}> {
  const extensions = spec.paths.map(arrayExtension)
  const [path] = spec.paths
  if (spec.paths.length === 1 && extensions[0] !== '.npy') return readNamed(path!, spec.names)
  const none: Beside = {extras: new Map(), metadata: {}}
  if (spec.paths.length === 1) {
    const [stacked] = (await readArrays(path!)).arrays.values()
    const where = ROLES.map((role, i) => `${path}[${i}] (${role})`)
    return {...none, arrays: unstack(stacked!, path!), where}
  }
  if (spec.paths.length !== 3 || extensions.some(extension => extension !== '.npy')) {
    const what = 'one file, or three .npy files in the order query, key, value'
    throw expected('BAD_OPTION', '--input', what, describe(spec.paths))
  }
  const files: NdArray[] = []
  for (const file of spec.paths) files.push(...(await readArrays(file)).arrays.values())
  return {...none, arrays: files, where: spec.paths.map((file, i) => `${file} (${ROLES[i]})`)}
}

/** Three arrays of one file by name, and what else it holds. */
async function readNamed(path: string, names: FileSpec['names']) {
  const reader = await openArrays(path)
  try {
    const arrays: NdArray[] = []
    for (const role of ROLES) {
      const name = names[role]
      if (!reader.entries.has(name)) {
        const hint = 'name the arrays with --query-name, --key-name and --value-name'
        throw missingArray(path, name, reader.entries, [hint])
      }
      arrays.push(await reader.read(name))
    }
    const where = ROLES.map(role => `${path}[${shownName(names[role])}]`)
    const extras = await readExtras(reader, new Set(Object.values(names)))
    return {arrays, where, ...extras, metadata: reader.metadata}
  } finally {
    await reader.close()
  }
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
function unstack({shape, dtype, data}: NdArray, path: string): NdArray[] {
  const inner = shape.slice(1)
  if (shape[0] !== 3 || inner.length < 2 || inner.length > 4) {
    throw expected(
      'SHAPE_MISMATCH',
      path,
      'query, key and value stacked as [3, L, D], [3, H, L, D] or [3, B, H, L, D]',
      describe(shape),
      'or give three .npy files: --input q.npy,k.npy,v.npy',
    )
  }
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
  const length = query.shape[2]
  if (seqLen === null) return input
  if (!Number.isInteger(seqLen) || seqLen < 1 || seqLen > length) {
    const what = `1 to ${length}, the number of queries in ${input.label}`
    throw expected('BAD_OPTION', '--seq-len', what, describe(seqLen))
  }
  const parts: Parts = {query: firstRows(query, seqLen), key, value}
  if (key.shape[2] !== length) return {...input, ...parts}
  return {...input, ...parts, key: firstRows(key, seqLen), value: firstRows(value, seqLen)}
}
