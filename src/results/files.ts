import {randomBytes} from 'node:crypto'
import type {Stats} from 'node:fs'
import {type FileHandle, mkdir, open, rename, rm, stat} from 'node:fs/promises'
import {dirname} from 'node:path'
import {describe, expected, messageOf, RfaError} from '../errors.js'

/** Remedies by what the system said. */
const REMEDIES: Record<string, string> = {
  EACCES: 'choose another folder, or change the permissions of this one',
  EPERM: 'choose another folder, or change the permissions of this one',
  EROFS: 'choose a folder on a file system that can be written',
  ENOSPC: 'free some space, or choose a folder on another disk',
  EFBIG: 'raise the limit of file sizes (ulimit -f), or choose a folder on another disk',
  EDQUOT: 'free some of your quota, or choose a folder on another disk',
  ENOENT: 'choose another folder: this one is not there, and the system makes none of that name',
  ENOTDIR: 'a file stands where a folder is needed: choose another folder',
  EEXIST: 'a file stands where a folder is needed: choose another folder',
}

/**
 * Error of a path that cannot be written.
 *
 * @param path - what was to be written
 * @param cause - what the system said
 */
export function notWritable(path: string, cause: unknown): RfaError {
  const remedy = REMEDIES[errorCode(cause) ?? '']
  return new RfaError(
    'NOT_WRITABLE',
    `${path}: expected a place to write results, got ${messageOf(cause)}`,
    {cause, suggestions: remedy ? [remedy] : []},
  )
}

/** Error of a file that is there but cannot be read. */
export function unreadable(path: string, cause: unknown): RfaError {
  return expected('BAD_FILE', path, 'a file that can be read', messageOf(cause))
}

/** Code of a system error, e.g. `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
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
 * What the system cannot tell now counts as in place.
 */
export async function isInPlace(file: FileHandle, path: string): Promise<boolean> {
  try {
    const [held, named] = await Promise.all([file.stat(), stat(path)])
    return held.ino === named.ino && held.dev === named.dev
  } catch (error) {
    return !isGone(error)
  }
}

/** Whether the system says that a file or its folder is not there, or not any more. */
export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ESTALE'].includes(errorCode(error) ?? '')
}

/**
 * A name for a file beside `path` that is not finished: `<path>.<number of the process>-<random>.tmp`.
 * Processes of two containers may have one number.
 */
function temporaryOf(path: string): string {
  return `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`
}

/**
 * Now, in ms, by the clock that stamps files beside `path`: that of a file server may differ from ours.
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
    throw notWritable(path, error)
  })
}

async function makeWithParents(path: string, parentsThere = false): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const found = await stat(path).catch(() => undefined)
    if (found?.isDirectory()) return
    if (errorCode(error) !== 'ENOENT' || parentsThere || dirname(path) === path) throw error
    await makeWithParents(dirname(path))
    await makeWithParents(path, true)
  }
}

/**
 * Writes a whole file so that a reader sees either the old or the new text, even after a power cut:
 * a temporary file beside it, flushed, takes its name.
 *
 * @throws {NOT_WRITABLE} when the file cannot be written; the old one is then still there
 */
export async function writeAtomic(path: string, text: string): Promise<void> {
  const temporary = temporaryOf(path)
  try {
    await writeFlushed(temporary, text)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, {force: true}).catch(() => {})
    throw notWritable(path, error)
  }
  await flushFolder(dirname(path))
}

/** Parses the JSON of a file. @throws {BAD_FILE} naming the file and the fault */
export function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw expected('BAD_FILE', path, 'JSON', `${describe(text.slice(0, 40))} (${messageOf(error)})`)
  }
}

async function writeFlushed(path: string, text: string): Promise<void> {
  const file = await open(path, 'w')
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes a rename durable; folders cannot be opened on every system, and then nothing is lost but time. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
