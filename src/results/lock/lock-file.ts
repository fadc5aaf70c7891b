/** The file of a lock: made, found, refreshed and removed. Who may hold it, `lock.ts` decides. */
import {randomUUID} from 'node:crypto'
import {type FileHandle, lstat, open, readFile, rm} from 'node:fs/promises'
import {hostname} from 'node:os'
import {expected, RfaError} from '../../errors.js'
import {errorCode, notWritable} from '../../files.js'
import {isGone, isInPlace, kindOf} from '../files.js'
import {processSpace, startOf} from './processes.js'

/** Who writes into a folder. */
interface Owner {
  pid: number
  host: string
  /** Where that number means something; see {@link processSpace}. */
  space: string | null
  /** When the process began, in clock ticks since boot; `null` where the system does not say. */
  started: string | null
}

export interface FoundLock {
  /** `null` in a file without readable content: one that is being written, or was left half-written. */
  owner: Owner | null
  /** The whole content; that of each lock is another. */
  text: string
  /** When its owner last gave a sign of life, by the clock of the file system. */
  beatMs: number
}

/** A lock file that this process has made. */
export interface OwnLock {
  path: string
  file: FileHandle
  text: string
}

/** The text of a new lock of this process. */
function newText(): string {
  const owner: Owner = {
    pid: process.pid,
    host: hostname(),
    space: processSpace(),
    started: startOf(process.pid),
  }
  return JSON.stringify({...owner, token: randomUUID()})
}

/**
 * Makes the file unless there is one.
 *
 * @returns `undefined` where there is one
 * @throws {NOT_WRITABLE} when it cannot be made
 */
export async function createLock(path: string): Promise<OwnLock | undefined> {
  const file = await open(path, 'wx').catch(error => {
    if (errorCode(error) === 'EEXIST') return undefined
    throw notWritable(path, error)
  })
  if (!file) return undefined
  const lock = {path, file, text: newText()}
  try {
    await refresh(lock)
    return lock
  } catch (error) {
    const ours = await isInPlace(file, path)
    await file.close().catch(() => {})
    if (ours) await rm(path, {force: true}).catch(() => {})
    throw notWritable(path, error)
  }
}

/** A sign of life, sent as far as the file server, where other hosts see it. */
export async function refresh({file, text}: OwnLock): Promise<void> {
  await file.write(text, 0)
  await file.datasync()
}

/** Whether the file of that name is still this lock. If the system cannot say, it counts as yes. */
export async function isStillThere({path, file, text}: OwnLock): Promise<boolean> {
  if (!(await isInPlace(file, path))) return false
  const there = await readFile(path, 'utf8').catch(error => (isGone(error) ? undefined : text))
  return there === text
}

/** Removes the file unless it belongs to another process by now. Never fails: a remaining file is found stale later. */
export async function dropLock(lock: OwnLock): Promise<void> {
  const ours = await isStillThere(lock)
  await lock.file.close().catch(() => {})
  if (ours) await rm(lock.path, {force: true}).catch(() => {})
}

/**
 * The lock that is there; `undefined` when it has gone. Opening it also asks a file server for its
 * newest state.
 *
 * @throws {NOT_WRITABLE} for a link to nowhere, which can neither be made nor opened, for a pipe, which
 *   is never read to its end, and for what cannot be read
 */
export async function findLock(path: string): Promise<FoundLock | undefined> {
  try {
    const entry = await lstat(path)
    if (!entry.isFile())
      throw expected('NOT_WRITABLE', path, 'a lock file', kindOf(entry), 'delete it')
    const file = await open(path, 'r')
    try {
      const {mtimeMs} = await file.stat()
      const text = await file.readFile('utf8')
      return {owner: parseOwner(text), text, beatMs: mtimeMs}
    } finally {
      await file.close()
    }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error instanceof RfaError ? error : notWritable(path, error)
  }
}

function parseOwner(text: string): Owner | null {
  try {
    const {pid, host, space, started} = JSON.parse(text)
    const whole = Number.isInteger(pid) && typeof host === 'string'
    return whole ? {pid, host, space: space ?? null, started: started ?? null} : null
  } catch {
    return null
  }
}
