import {constants, type Stats} from 'node:fs'
import {type FileHandle, open} from 'node:fs/promises'
import {expected, messageOf, RfaError} from '../../errors.js'
import {errorCode} from '../../files.js'
import {assertMemory} from '../memory.js'
import type {Bytes} from './elements.js'

/** Random access to the bytes of a file, or of something unpacked from one. */
export interface ByteSource {
  /** What messages call it: the path, or `path[member]`. */
  readonly where: string
  /** Length in bytes. */
  readonly size: number
  /**
   * Reads exactly `length` bytes. Do not change them: they may be shared.
   *
   * @throws {BAD_FILE} when the source ends before
   * @throws {TOO_LARGE} when they do not fit in memory
   */
  read(offset: number, length: number): Promise<Bytes>
  close(): Promise<void>
}

/** Most bytes of one system call: Linux and Node both stop near 2^31. */
const CHUNK_BYTES = 2 ** 30

/**
 * Opens a file for reading; nothing is read yet. Pipes and devices are refused: they have no size
 * and may never end.
 *
 * @param path - as the user wrote it
 * @throws {FILE_MISSING} when there is none
 * @throws {BAD_FILE} when it is not a regular file, links followed, or cannot be opened
 */
export async function openFile(path: string): Promise<ByteSource> {
  const handle = await openHandle(path)
  try {
    const facts = await handle.stat()
    if (!facts.isFile()) throw noFile(path, facts)
    return fileSource(path, handle, facts.size)
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Reads a whole file of somebody else's. Its size is known before anything is read.
 *
 * @param path - as the user wrote it
 * @param most - bytes that it may have
 * @throws what opening it throws, and {BAD_FILE} for a larger one
 */
export async function readWhole(path: string, most: number): Promise<Bytes> {
  const source = await openFile(path)
  try {
    if (source.size <= most) return await source.read(0, source.size)
    throw expected('BAD_FILE', path, `a file of at most ${most} bytes`, `${source.size} bytes`)
  } finally {
    await source.close()
  }
}

/**
 * Bytes already in memory as a source; reads are views.
 *
 * @param where - what messages call it
 * @param bytes - not changed, and not to be changed afterwards
 */
export function memorySource(where: string, bytes: Bytes): ByteSource {
  return {
    where,
    size: bytes.length,
    async read(offset, length) {
      if (offset + length > bytes.length) throw truncated(where, offset + length, bytes.length)
      return bytes.subarray(offset, offset + length)
    },
    async close() {},
  }
}

/**
 * Error for a file that ends too early.
 *
 * @param needed - bytes it should have
 * @param size - bytes it has
 */
export function truncated(where: string, needed: number, size: number): RfaError {
  const remedy = 'the file is cut off: copy or write it again'
  return expected('BAD_FILE', where, `at least ${needed} bytes`, `${size} bytes`, remedy)
}

/** Reads at positions, so that the handle has no state; a short read is continued. */
function fileSource(path: string, handle: FileHandle, size: number): ByteSource {
  return {
    where: path,
    size,
    async read(offset, length) {
      if (offset + length > size) throw truncated(path, offset + length, size)
      const bytes = allocate(path, length)
      for (let done = 0; done < length; ) {
        const wanted = Math.min(CHUNK_BYTES, length - done)
        const {bytesRead} = await handle.read(bytes, done, wanted, offset + done)
        if (bytesRead === 0) throw truncated(path, offset + length, offset + done)
        done += bytesRead
      }
      return bytes
    },
    close: () => handle.close(),
  }
}

/**
 * Room for bytes. Memory may suffice and the engine still refuse: typed arrays have a greatest length.
 *
 * @throws {TOO_LARGE} when there is none
 */
export function allocate(where: string, length: number): Bytes {
  assertMemory(where, length)
  try {
    return new Uint8Array(length)
  } catch (cause) {
    throw new RfaError('TOO_LARGE', `${where}: no room for an array of ${length} bytes`, {cause})
  }
}

function noFile(path: string, facts: Stats): RfaError {
  const got = facts.isDirectory() ? 'a directory' : facts.isFIFO() ? 'a pipe' : 'a device'
  const remedy = facts.isDirectory()
    ? 'name a file in it'
    : 'write what it gives to a file first, and name that'
  return expected('BAD_FILE', path, 'a file', got, remedy)
}

/** Distinguishes a missing file from one that exists but does not open. A pipe must not wait for its writer. */
async function openHandle(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    throw openError(path, cause)
  }
}

/** Error of a path that does not open. @param cause - what the system said */
export function openError(path: string, cause: unknown): RfaError {
  const code = errorCode(cause) ?? ''
  // ENOTDIR: a part of the path is a file
  if (['ENOENT', 'ENOTDIR'].includes(code)) {
    const message = `${path}: no such file`
    const remedy = /^[a-z0-9]+:\/\//i.test(path)
      ? 'download it first, and name the file'
      : 'check the path'
    return new RfaError('FILE_MISSING', message, {suggestions: [remedy], cause})
  }
  const message = `${path}: expected a readable file, got ${messageOf(cause)}`
  const forbidden = ['EACCES', 'EPERM'].includes(code)
  const suggestions = forbidden ? ['change its permissions, and those of its folders'] : []
  return new RfaError('BAD_FILE', message, {suggestions, cause})
}
