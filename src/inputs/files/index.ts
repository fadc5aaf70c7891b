import {extname} from 'node:path'
import {describe, expected} from '../../errors.js'
import {writeAtomic} from '../../files.js'
import {assertMemory} from '../memory.js'
import {checkNdArray, type NdArray} from '../nd-array.js'
import {unknownFormat} from './content.js'
import {ARRAY_EXTENSIONS, type ArrayExtension, arrayExtension, formatOf} from './formats.js'
import {npyParts, openNpy} from './npy.js'
import type {ArrayReader} from './reader.js'
import {openSafetensors, safetensorsParts} from './safetensors.js'
import {openFile} from './source.js'

export {ARRAY_EXTENSIONS, arrayExtension} from './formats.js'
export {type ArrayEntry, type ArrayReader, missingArray} from './reader.js'

/** The arrays of a file, all in memory. */
export interface ArrayFile {
  path: string
  /** In file order; the one array of a .npy file is named after the file. */
  arrays: Map<string, NdArray>
  /** Text in addition to the arrays; empty for .npy and .npz. */
  metadata: Record<string, string>
}

/** Archives take packages that no other format does. */
const archives = () => import('./npz.js')

/** How each format is opened. */
const OPENERS: Record<ArrayExtension, (path: string) => Promise<ArrayReader>> = {
  '.npy': openNpy,
  '.npz': async path => (await archives()).openNpz(path),
  '.safetensors': openSafetensors,
}

/**
 * Opens a file of arrays: names, types and shapes are known, elements are read on demand. Close it.
 *
 * @param path - .npy, .npz or .safetensors
 * @throws {FILE_MISSING} when there is no such file
 * @throws {BAD_FILE} when its extension is another or its content does not fit the format; says what it is and what
 * to do about it, if known
 */
export async function openArrays(path: string): Promise<ArrayReader> {
  const format = formatOf(path)
  if (format !== undefined) return OPENERS[format](path)
  const file = await openFile(path)
  try {
    throw await unknownFormat(file, extname(path).toLowerCase(), ARRAY_EXTENSIONS)
  } finally {
    await file.close()
  }
}

/**
 * Reads a file of arrays.
 *
 * @param path - .npy, .npz or .safetensors
 * @param names - which arrays to read; default all
 * @throws {ARRAY_MISSING} when a name is not in the file
 * @throws {TOO_LARGE} when the arrays together do not fit in memory
 * @throws {FILE_MISSING | BAD_FILE} see {@link openArrays} and {@link ArrayReader.read}
 */
export async function readArrays(path: string, names?: readonly string[]): Promise<ArrayFile> {
  const reader = await openArrays(path)
  try {
    const wanted = names ?? [...reader.entries.keys()]
    const bytes = wanted.reduce((sum, name) => sum + (reader.entries.get(name)?.bytes ?? 0), 0)
    assertMemory(path, bytes)
    const arrays = new Map<string, NdArray>()
    for (const name of wanted) arrays.set(name, await reader.read(name))
    return {path, arrays, metadata: reader.metadata}
  } finally {
    await reader.close()
  }
}

/**
 * Writes arrays to a file, atomically; equal arrays give equal bytes.
 *
 * @param path - .npy (exactly one array, its name is not stored), .npz (deflated) or .safetensors;
 *   replaced when it exists
 * @param arrays - by name
 * @param metadata - kept by .safetensors only: the other two formats have no place for it
 * @throws {BAD_FILE} for another extension, or when a .npy file gets none or several arrays
 * @throws {SHAPE_MISMATCH} when an array does not agree with itself, see {@link checkNdArray}
 * @throws {NOT_WRITABLE} when the place refuses the file
 */
export async function writeArrays(
  path: string,
  arrays: Readonly<Record<string, NdArray>>,
  metadata: Readonly<Record<string, string>> = {},
): Promise<void> {
  const extension = arrayExtension(path)
  const names = Object.keys(arrays)
  for (const [name, array] of Object.entries(arrays)) checkNdArray(array, name)
  if (extension === '.npy' && names.length !== 1) {
    const hint = 'write a .npz or .safetensors file'
    throw expected('BAD_FILE', path, 'exactly one array for .npy', describe(names), hint)
  }
  await writeAtomic(path, async append => {
    if (extension === '.npz') return append((await archives()).npzBytes(path, arrays))
    const parts =
      extension === '.npy' ? npyParts(arrays[names[0]!]!) : safetensorsParts(path, arrays, metadata)
    for (const part of parts) await append(part)
  })
}
