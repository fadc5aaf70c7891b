/** The files of an input while they are open: which array is which, and what all bytes hash to. */
import {createHash} from 'node:crypto'
import {describe, expected, shownName} from '../errors.js'
import {formatOf} from './files/formats.js'
import {type ArrayReader, missingArray, openArrays} from './files/index.js'
import {DEFAULT_LAYOUT, type Layout, shapesOf} from './layout.js'
import type {Dtype} from './nd-array.js'
import type {InputSpec} from './spec.js'

/** An input that comes from files. */
export type FileSpec = Extract<InputSpec, {kind: 'file'}>

/** What each array is for, in the order of files and stacks. */
export const ROLES = ['query', 'key', 'value'] as const

/** Open files; close them. */
export interface InputFiles {
  /** `named`: three arrays of one file. `stacked`: one array of all three. `three`: a file for each. */
  arrangement: 'named' | 'stacked' | 'three'
  /** In the order of the paths. */
  readers: readonly ArrayReader[]
}

/**
 * Opens the files of an input and checks what their headers say.
 *
 * @throws {BAD_OPTION} when the number of paths fits no arrangement
 * @throws {FILE_MISSING | BAD_FILE} see {@link openArrays}
 * @throws {ARRAY_MISSING} when a name is not in the file; lists what is
 */
export async function openInput({paths, names}: FileSpec): Promise<InputFiles> {
  const arrangement = arrangementOf(paths)
  const readers: ArrayReader[] = []
  try {
    for (const path of paths) readers.push(await openArrays(path))
    if (arrangement === 'named') checkNames(readers[0]!, names)
    return {arrangement, readers}
  } catch (error) {
    await closeInput({readers})
    throw error
  }
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
 * @throws {SHAPE_MISMATCH} for a stack of anything but three
 * @throws {BAD_FILE} for elements of a type that cannot be read
 */
export async function placesOf(
  {arrangement, readers}: InputFiles,
  {paths, names, layout}: FileSpec,
): Promise<Place[]> {
  const places = ROLES.map((role, i) => {
    const reader = readers[i] ?? readers[0]!
    const name = arrangement === 'named' ? names[role] : [...reader.entries.keys()][0]!
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
function stackedShape(shape: readonly number[], path: string, layout?: Layout): readonly number[] {
  const inner = shape.slice(1)
  if (shape[0] === 3 && inner.length >= 2 && inner.length <= 4) return inner
  throw expected(
    'SHAPE_MISMATCH',
    path,
    `query, key and value stacked as ${shapesOf(layout ?? DEFAULT_LAYOUT).replaceAll('[', '[3, ')}`,
    describe(shape),
    'or give three .npy files: `input: q.npy,k.npy,v.npy`',
  )
}

/** Closes all files. */
export async function closeInput({readers}: Pick<InputFiles, 'readers'>): Promise<void> {
  for (const reader of readers) await reader.close()
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

function arrangementOf(paths: readonly string[]): InputFiles['arrangement'] {
  const npy = paths.map(path => formatOf(path) === '.npy')
  if (paths.length === 1) return npy[0] ? 'stacked' : 'named'
  if (paths.length === 3 && npy.every(Boolean)) return 'three'
  const what = 'one file, or three .npy files in the order query, key, value'
  throw expected('BAD_OPTION', '`input`', what, describe(paths))
}

function checkNames({path, entries}: ArrayReader, names: FileSpec['names']): void {
  const missing = ROLES.find(role => !entries.has(names[role]))
  if (missing === undefined) return
  const hint = 'name the arrays with `queryName`, `keyName` and `valueName`'
  throw missingArray(path, names[missing], entries, [hint])
}
