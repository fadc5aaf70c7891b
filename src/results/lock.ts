import {type FileHandle, lstat, open, rename, rm} from 'node:fs/promises'
import {hostname} from 'node:os'
import {expected, RfaError} from '../errors.js'
import {errorCode, isInPlace, kindOf, notWritable} from './files.js'
import {isRunning, processSpace, startOf} from './processes.js'

/** Who writes into a folder. */
interface Owner {
  pid: number
  host: string
  /** Where that number means something; see {@link processSpace}. */
  space: string | null
  /** When the process began, in clock ticks since boot; `null` where the system does not tell. */
  started: string | null
}

/** A lock file as it was found. */
interface Found {
  /** `null` in a file without readable content: one that is being written, or was left half-written. */
  owner: Owner | null
  /** When its owner last gave a sign of life, by the clock of the file system. */
  beatMs: number
}

/** A held lock. */
export interface Lock {
  /** Aborted, with the error as its reason, when another process took the lock or the folder has gone. */
  readonly lost: AbortSignal
  /** Makes sure that it is still held. @throws {NOT_WRITABLE} when it is lost */
  check(): Promise<void>
  /** Lets others in; a second call does nothing. Never fails: a lock left behind is found stale later. */
  release(): Promise<void>
}

/** How often the owner of a lock gives a sign of life, in ms. */
const BEAT_MS = 10_000
/** After so long without one a lock is stale where nobody can tell whether its owner runs: six beats. */
const SILENCE_MS = 6 * BEAT_MS

/**
 * Takes a lock file, so that two processes cannot write into one folder. A lock whose process is gone
 * (killed, power cut) is taken over. Whether one of another host or container has gone nobody here can
 * tell: its owner writes it anew every {@link BEAT_MS}, and is believed until {@link SILENCE_MS} after
 * the last time. The clocks of hosts are not compared, only times that the file system wrote.
 *
 * @param path - the lock file; its folder exists
 * @param beatMs - between two signs of life
 * @throws {NOT_WRITABLE} when another process holds it, or the file cannot be made
 */
export async function takeLock(path: string, beatMs = BEAT_MS): Promise<Lock> {
  for (;;) {
    const file = await createLock(path)
    if (file) return hold(path, file, beatMs)
    const found = await look(path)
    if (!found) continue
    await refuseIfHeld(path, found)
    await removeStale(path, found)
  }
}

/** The text of a lock of this process. */
function ownText(): string {
  const owner: Owner = {
    pid: process.pid,
    host: hostname(),
    space: processSpace(),
    started: startOf(process.pid),
  }
  return JSON.stringify(owner)
}

/** Makes the file unless there is one. @returns the open file, `undefined` where there is one */
async function createLock(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle
  try {
    file = await open(path, 'wx')
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return undefined
    throw notWritable(path, error)
  }
  try {
    await file.write(ownText(), 0)
    return file
  } catch (error) {
    await file.close()
    await rm(path, {force: true})
    throw notWritable(path, error)
  }
}

/** Gives signs of life until the lock is released or lost. */
function hold(path: string, file: FileHandle, beatMs: number): Lock {
  const lost = new AbortController()
  const text = ownText()
  let released: Promise<void> | undefined
  let last: Promise<void> = Promise.resolve()
  const look = async () => {
    if (!(await isInPlace(file, path))) lost.abort(lostLock(path))
  }
  const beat = async () => {
    await file.write(text, 0).catch(() => {}) // the next one may succeed
    await look()
  }
  const timer = setInterval(() => {
    last = last.then(beat)
  }, beatMs).unref()
  const release = async () => {
    clearInterval(timer)
    await last
    const ours = await isInPlace(file, path)
    await file.close().catch(() => {})
    if (ours) await rm(path, {force: true}).catch(() => {})
  }
  return {
    lost: lost.signal,
    async check() {
      if (!released) await look()
      lost.signal.throwIfAborted()
    },
    release: () => {
      released ??= release()
      return released
    },
  }
}

/**
 * The lock that is there; `undefined` when it has gone. Opening it also asks a file server for its
 * newest state.
 *
 * @throws {NOT_WRITABLE} for a link to nowhere, which can neither be made nor opened, for a pipe, which
 *   is never read to its end, and for what cannot be read
 */
async function look(path: string): Promise<Found | undefined> {
  try {
    const entry = await lstat(path)
    if (!entry.isFile())
      throw expected('NOT_WRITABLE', path, 'a lock file', kindOf(entry), 'delete it')
    const file = await open(path, 'r')
    try {
      const {mtimeMs} = await file.stat()
      return {owner: parseOwner(await file.readFile('utf8')), beatMs: mtimeMs}
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

/** @throws {NOT_WRITABLE} when the owner of a lock lives, or may live */
async function refuseIfHeld(path: string, {owner, beatMs}: Found): Promise<void> {
  if (owner && owner.host === hostname() && owner.space === processSpace()) {
    if (isRunning(owner.pid, owner.started)) {
      throw heldError(
        path,
        `process ${owner.pid} on ${owner.host}`,
        'if that process is certainly not running any more, delete the lock file',
      )
    }
    return
  }
  const silenceMs = (await timeOfFiles(path)) - beatMs
  if (silenceMs > SILENCE_MS) return
  const name = owner ? `process ${owner.pid} on ${owner.host}` : 'a process that just starts'
  const seconds = Math.max(0, Math.round(silenceMs / 1000))
  throw heldError(
    path,
    `${name}, last heard of ${seconds} s ago`,
    `a lock is given up ${SILENCE_MS / 1000} s after its owner was last heard of`,
  )
}

function heldError(path: string, owner: string, remedy: string): RfaError {
  return expected(
    'NOT_WRITABLE',
    path,
    'a folder that no other rfa writes into',
    `one locked by ${owner}`,
    'wait for it, or choose another --output',
    remedy,
  )
}

function lostLock(path: string): RfaError {
  return expected(
    'NOT_WRITABLE',
    path,
    'the lock that this run has taken',
    'none, or that of another rfa',
    'the folder was moved or deleted under the run, or another rfa took it: look where it is now',
    'go on with what is saved there: the same command with --output and --resume',
  )
}

/** Now, by the clock that stamps files beside the lock: that of a file server may differ from ours. */
async function timeOfFiles(path: string): Promise<number> {
  const probe = temporaryOf(path)
  try {
    const file = await open(probe, 'w')
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
 * Removes a stale lock. Another process may have done so meanwhile and hold a fresh one under the same
 * name: the file is moved aside first, looked at, and put back if it is not the one that was judged.
 */
async function removeStale(path: string, judged: Found): Promise<void> {
  const aside = temporaryOf(path)
  try {
    await rename(path, aside)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return
    throw notWritable(path, error)
  }
  const moved = await look(aside)
  if (JSON.stringify(moved) === JSON.stringify(judged)) await rm(aside, {force: true})
  else await rename(aside, path)
}

function temporaryOf(path: string): string {
  return `${path}.${process.pid}.tmp`
}
