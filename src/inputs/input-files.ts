/** The files of an input while they are open: which array is which, and what all bytes hash to. */
import {createHash} from 'node:crypto'
import {describe, expected} from '../errors.js'
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
