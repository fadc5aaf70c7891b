/** The files of an input while they are open: which array is which, and what all bytes hash to. */
import {createHash} from 'node:crypto'
import {describe, expected, shownName} from '../errors.js'
import {type ArrayReader, arrayExtension, missingArray, openArrays} from './files/index.js'
import type {InputSpec} from './spec.js'

/** An input that comes from files. */
export type FileSpec = Extract<InputSpec, {kind: 'file'}>

/** What each array is for, in the order of files and stacks. */
export const ROLES = ['query', 'key', 'value'] as const

/** Open files; close them. */
export interface InputFiles {
  /** `named`: three arrays of one file. `stacked`: one array of all three. `three`: a file for each. */
  layout: 'named' | 'stacked' | 'three'
  /** In the order of the paths. */
  readers: readonly ArrayReader[]
}

/**
 * Opens the files of an input and checks what their headers say.
 *
 * @throws {BAD_OPTION} when the number of paths fits no layout
 * @throws {FILE_MISSING | BAD_FILE} see {@link openArrays}
 * @throws {ARRAY_MISSING} when a name is not in the file; lists what is
 */
export async function openInput({paths, names}: FileSpec): Promise<InputFiles> {
  const layout = layoutOf(paths)
  const readers: ArrayReader[] = []
  try {
    for (const path of paths) readers.push(await openArrays(path))
    if (layout === 'named') checkNames(readers[0]!, names)
    return {layout, readers}
  } catch (error) {
    await closeInput({readers})
    throw error
  }
}

/** What an input says of one of its three arrays, without reading it. */
interface Place {
  /** What messages call it. */
  where: string
  /** As stored; of a stack, without its leading axis. */
  shape: readonly number[]
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
  {layout, readers}: InputFiles,
  {paths, names}: FileSpec,
): Promise<Place[]> {
  const places = ROLES.map((role, i) => {
    const reader = readers[i] ?? readers[0]!
    const name = layout === 'named' ? names[role] : [...reader.entries.keys()][0]!
    const where = {
      named: `${reader.path}[${shownName(name)}]`,
      three: `${paths[i]} (${role})`,
      stacked: `${reader.path}[${i}] (${role})`,
    }[layout]
    return {where, shape: reader.entries.get(name)!.shape, reader, name}
  })
  for (const {reader, name} of places) {
    if (reader.entries.get(name)!.dtype === null) await reader.read(name) // which says what is wrong
  }
  if (layout !== 'stacked') return places
  return places.map(place => ({...place, shape: stackedShape(place.shape, place.reader.path)}))
}

/** Of one of the three arrays that a .npy file stacks. */
function stackedShape(shape: readonly number[], path: string): readonly number[] {
  const inner = shape.slice(1)
  if (shape[0] === 3 && inner.length >= 2 && inner.length <= 4) return inner
  throw expected(
    'SHAPE_MISMATCH',
    path,
    'query, key and value stacked as [3, L, D], [3, H, L, D] or [3, B, H, L, D]',
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

function layoutOf(paths: readonly string[]): InputFiles['layout'] {
  const npy = paths.map(path => arrayExtension(path) === '.npy')
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
