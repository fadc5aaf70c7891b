import type {Stats} from 'node:fs'
import {type FileHandle, mkdir, open, rm, stat} from 'node:fs/promises'
import {dirname} from 'node:path'
import {crc32} from 'node:zlib'
import {describe, expected, messageOf, type RfaError} from '../errors.js'
import {errorCode, notWritable, temporaryOf} from '../files.js'

/** What a run needs, as an error shows it. */
export const A_FOLDER = 'a folder to write into'

export function unreadable(path: string, cause: unknown): RfaError {
  return expected('BAD_FILE', path, 'a file that can be read', messageOf(cause))
}

/** What stands in a folder under some name, as an error shows it. */
export function kindOf(entry: Stats): string {
  if (entry.isFile()) return 'a file'
  if (entry.isDirectory()) return 'a folder'
  if (entry.isSymbolicLink()) return 'a symbolic link'
  if (entry.isFIFO()) return 'a pipe'
  return entry.isSocket() ? 'a socket' : 'a device'
}

/** Refuses what would be read without end, as a pipe is. What is not there passes. @throws {BAD_FILE} */
export async function requireRegularFile(path: string): Promise<void> {
  const entry = await stat(path).catch(() => undefined)
  if (!entry || entry.isFile()) return
  throw expected('BAD_FILE', path, 'a file that can be read', kindOf(entry))
}

/**
 * Whether an open file is still the one of that name: not deleted, moved or replaced, nor its folder.
 * If the system cannot say, it counts as in place.
 */
export async function isInPlace(file: FileHandle, path: string): Promise<boolean> {
  try {
    const [held, named] = await Promise.all([file.stat(), stat(path)])
    return held.ino === named.ino && held.dev === named.dev
  } catch (error) {
    return !isGone(error)
  }
}

/** Bytes that are read at once. */
const PIECE = 2 ** 20

/**
 * Visits pieces of an open file.
 *
 * @param start - of the first byte
 * @param end - behind the last one; a file that ends earlier has fewer
 */
export async function eachPiece(
  file: FileHandle,
  [start, end]: readonly [start: number, end: number],
  visit: (piece: Uint8Array) => unknown,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(PIECE, Math.max(0, end - start)))
  for (let at = start; at < end; ) {
    const {bytesRead} = await file.read(buffer, 0, Math.min(PIECE, end - at), at)
    if (bytesRead === 0) return
    await visit(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}

/** CRC-32 of the first bytes of an open file. */
export async function checksumOf(file: FileHandle, bytes: number): Promise<number> {
  let sum = 0
  await eachPiece(file, [0, bytes], piece => {
    sum = crc32(piece, sum)
  })
  return sum
}

/** Whether the system says that a file or its folder is not there, or not any more. */
export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ESTALE'].includes(errorCode(error) ?? '')
}

/**
 * Now, in ms, by the clock that stamps files next to `path`: the clock of a file server may differ from ours.
 *
 * @throws {NOT_WRITABLE} when no file can be made there
 */
export async function timeOfFiles(path: string): Promise<number> {
  const probe = temporaryOf(path)
  try {
    const file = await open(probe, 'wx')
    try {
      await file.write('.')
      return (await file.stat()).mtimeMs
    } finally {
      await file.close()
      await rm(probe, {force: true})
    }
  } catch (error) {
    throw notWritable(probe, error)
  }
}

/**
 * Makes a folder and its parents; one that is there is left as it is. Node's own way to make parents
 * tries for ever where the system answers ENOENT though they are there, as in /proc.
 *
 * @throws {NOT_WRITABLE} when it cannot be made
 */
export async function makeFolder(path: string): Promise<void> {
  await makeWithParents(path).catch(error => {
    throw notWritable(path, error, A_FOLDER)
  })
}

async function makeWithParents(path: string, parentsThere = false): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const entry = await stat(path).catch(() => undefined)
    if (entry?.isDirectory()) return
    if (errorCode(error) !== 'ENOENT' || parentsThere || dirname(path) === path) throw error
    await makeWithParents(dirname(path))
    await makeWithParents(path, true)
  }
}

/** What no text has: control characters, and bytes that no letter is written with. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are looked for
const BINARY = /[\u0000-\u0008\u000e-\u001a\ufffd]/

/** What stands in place of JSON. */
function unparsed(text: string, error: unknown): string {
  if (text.trim() === '') return 'an empty file'
  if (BINARY.test(text.slice(0, 40))) return 'a file that is not text'
  return `${describe(text.slice(0, 40))} (${messageOf(error).replace(/^Expected /, 'no ')})`
}

/** Parses the JSON of a file. @throws {BAD_FILE} naming the file and the fault */
export function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw expected('BAD_FILE', path, 'JSON', unparsed(text, error), 'copy or write it again')
  }
}
