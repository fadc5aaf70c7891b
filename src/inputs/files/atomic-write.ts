import {randomBytes} from 'node:crypto'
import {type FileHandle, open, rename, rm} from 'node:fs/promises'
import {basename, dirname, join} from 'node:path'
import {messageOf, RfaError} from '../../errors.js'

/** Appends bytes to the file being written. */
export type Append = (bytes: Uint8Array) => Promise<void>

/**
 * Writes a file so that a reader sees the old one or the whole new one, never a part: a temporary
 * file beside it is filled, flushed to disk and renamed over it.
 *
 * @param path - the file; replaced when it exists
 * @param fill - appends the content; when it throws, nothing is left behind
 * @throws {NOT_WRITABLE} when the folder is missing or refuses the file, or the disk is full
 */
export async function atomicWrite(
  path: string,
  fill: (append: Append) => Promise<void>,
): Promise<void> {
  const name = `.${basename(path)}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`
  const temporary = join(dirname(path), name)
  const handle = await attempt(path, () => open(temporary, 'wx'))
  try {
    await fillAndClose(path, handle, fill)
    await attempt(path, () => rename(temporary, path))
  } catch (error) {
    await rm(temporary, {force: true})
    throw error
  }
}

/** The handle is closed whatever happens: Windows renames no open file. */
async function fillAndClose(
  path: string,
  handle: FileHandle,
  fill: (append: Append) => Promise<void>,
): Promise<void> {
  try {
    await fill(bytes => attempt(path, () => appendAll(handle, bytes)))
    await attempt(path, () => handle.datasync())
  } finally {
    await handle.close()
  }
}

/** Writes all bytes: one call may take fewer than it is given. */
async function appendAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const {bytesWritten} = await handle.write(bytes, done, Math.min(2 ** 30, bytes.length - done))
    done += bytesWritten
  }
}

/** Runs a file operation; its failure becomes NOT_WRITABLE. */
async function attempt<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (cause) {
    const message = `${path}: expected a place to write a file, got ${messageOf(cause)}`
    throw new RfaError('NOT_WRITABLE', message, {
      suggestions: ['create the folder, free the disk, or write somewhere else'],
      cause,
    })
  }
}
