/** Writing files whole or not at all. */
import {randomBytes} from 'node:crypto'
import {type FileHandle, open, rename, rm} from 'node:fs/promises'
import {dirname} from 'node:path'
import {messageOf, RfaError} from './errors.js'

export type Append = (bytes: Uint8Array) => Promise<void>

/** Remedies by what the system said. */
const REMEDIES: Record<string, string> = {
  EACCES: 'choose another folder, or change the permissions of this one',
  EPERM: 'choose another folder, or change the permissions of this one',
  EROFS: 'choose a folder on a file system that can be written',
  ENOSPC: 'free some space, or choose a folder on another disk',
  EFBIG: 'raise the limit of file sizes (ulimit -f), or choose a folder on another disk',
  EDQUOT: 'free some of your quota, or choose a folder on another disk',
  ENOENT: 'choose another folder, or create this one: it is not there',
  ENOTDIR: 'a file stands where a folder is needed: choose another folder',
  EEXIST: 'a file stands where a folder is needed: choose another folder',
  ENXIO: 'start what is to read the pipe first',
}

/** What the system said, in words. */
const WORDS: Record<string, string> = {
  EACCES: 'a place that must not be written',
  EPERM: 'a place that must not be written',
  EROFS: 'a file system that cannot be written',
  ENOSPC: 'a full disk',
  EFBIG: 'a limit of the sizes of files',
  EDQUOT: 'a quota that is used up',
  ENOENT: 'a folder that is not there',
  ENOTDIR: 'a file in place of a folder',
  EEXIST: 'a file in place of a folder',
  ENXIO: 'a pipe that nothing reads',
}

/**
 * Error of a path that cannot be written.
 *
 * @param path - what was to be written
 * @param cause - what the system said
 * @param what - what was expected, as a noun phrase
 */
export function notWritable(
  path: string,
  cause: unknown,
  what = 'a place to write a file',
): RfaError {
  const code = errorCode(cause) ?? ''
  const remedy = REMEDIES[code]
  const words = WORDS[code]
  const got = words === undefined ? messageOf(cause) : `${words} (${code})`
  const message = `${path}: expected ${what}, got ${got}`
  return new RfaError('NOT_WRITABLE', message, {cause, suggestions: remedy ? [remedy] : []})
}

/** Code of a system error, e.g. `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/**
 * A temporary name next to `path`: `<path>.<number of the process>-<random>.tmp`. Processes of two containers may
 * have the same number.
 */
export function temporaryOf(path: string): string {
  return `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`
}

/**
 * Writes a whole file so that a reader sees either the old or the new one, even after a power cut: a temporary file
 * next to it is flushed and takes its name.
 *
 * @param path - the file; replaced when it exists
 * @param content - its text, its bytes, or what appends them; when that throws, the error is passed on
 * @throws {NOT_WRITABLE} when the file cannot be written; the old one is then still there
 */
export async function writeAtomic(
  path: string,
  content: string | Uint8Array | ((append: Append) => Promise<void>),
): Promise<void> {
  const fill =
    typeof content === 'function' ? content : (append: Append) => append(Buffer.from(content))
  const temporary = temporaryOf(path)
  const file = await attempt(path, () => open(temporary, 'wx'))
  try {
    await fillAndClose(path, file, fill)
    await attempt(path, () => rename(temporary, path))
  } catch (error) {
    await rm(temporary, {force: true}).catch(() => {})
    throw error
  }
  await flushFolder(dirname(path))
}

/** The file is closed whatever happens: Windows renames no open file. */
async function fillAndClose(
  path: string,
  file: FileHandle,
  fill: (append: Append) => Promise<void>,
): Promise<void> {
  try {
    await fill(bytes => attempt(path, () => appendAll(file, bytes)))
    await attempt(path, () => file.sync())
  } finally {
    await file.close()
  }
}

/** Writes all bytes: one call may take fewer than it is given. */
async function appendAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const {bytesWritten} = await file.write(bytes, done, Math.min(2 ** 30, bytes.length - done))
    done += bytesWritten
  }
}

/** Runs a file operation; its failure becomes NOT_WRITABLE. */
async function attempt<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (cause) {
    throw notWritable(path, cause)
  }
}

/** Makes a rename durable; folders cannot be opened on every system, and then nothing is lost but time. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
