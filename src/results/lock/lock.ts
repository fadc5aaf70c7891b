import {rm} from 'node:fs/promises'
import {hostname} from 'node:os'
import {expected, RfaError} from '../../errors.js'
import {notWritable} from '../../files.js'
import {timeOfFiles} from '../files.js'
import {
  createLock,
  dropLock,
  type FoundLock,
  findLock,
  isStillThere,
  type OwnLock,
  refresh,
} from './lock-file.js'
import {isRunning, processSpace} from './processes.js'

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
/** A lock without a beat for this long (six beats) is stale if its owner cannot be checked. */
const SILENCE_MS = 6 * BEAT_MS
/** What the name of a lock is followed by in that of its guard; see {@link removeStale}. */
export const GUARD_ENDING = '.takeover'

/**
 * Takes a lock file, so that two processes cannot write into one folder. A lock of a process that is gone (killed,
 * power cut) is taken over. Processes of other hosts and containers cannot be checked: an owner writes its lock
 * anew every {@link BEAT_MS}, and counts as running until {@link SILENCE_MS} after the last time. The clocks of
 * hosts are not compared, only times that the file system wrote.
 *
 * @param path - the lock file; its folder exists
 * @param beatMs - between two signs of life
 * @throws {NOT_WRITABLE} when another process holds it, or the file cannot be made
 */
export async function takeLock(path: string, beatMs = BEAT_MS): Promise<Lock> {
  for (;;) {
    const lock = await createLock(path)
    if (lock) return hold(lock, beatMs)
    const found = await findLock(path)
    if (!found) continue
    await refuseIfHeld(path, found)
    await removeStale(path, found)
  }
}

/** Gives signs of life until the lock is released or lost. */
function hold(lock: OwnLock, beatMs: number): Lock {
  const lost = new AbortController()
  let released: Promise<void> | undefined
  let last: Promise<void> = Promise.resolve()
  const look = async () => {
    if (!(await isStillThere(lock))) lost.abort(lostLock(lock.path))
  }
  const beat = async () => {
    await look()
    if (!lost.signal.aborted) await refresh(lock).catch(() => {}) // the next one may succeed
  }
  const timer = setInterval(() => {
    last = last.then(beat)
  }, beatMs).unref()
  const release = async () => {
    clearInterval(timer)
    await last
    await dropLock(lock)
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

/** @throws {NOT_WRITABLE} when the owner of a lock lives, or may live */
async function refuseIfHeld(path: string, {owner, beatMs}: FoundLock): Promise<void> {
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
  // a beat from the future is one from before the clock was set back: a live owner has beaten since
  if (Math.abs(silenceMs) > SILENCE_MS) return
  const name = owner ? `process ${owner.pid} on ${owner.host}` : 'a process that is starting'
  const seconds = Math.max(0, Math.round(silenceMs / 1000))
  throw heldError(
    path,
    `${name}, last seen ${seconds} s ago`,
    `a stale lock is broken ${SILENCE_MS / 1000} s after its owner was last seen`,
  )
}

function heldError(path: string, owner: string, remedy: string): RfaError {
  const what = 'a folder that no other rfa writes into'
  const advice = 'wait for it, or choose another `output`'
  return expected('NOT_WRITABLE', path, what, `one locked by ${owner}`, advice, remedy)
}

function lostLock(path: string): RfaError {
  const what = 'the lock that this run has taken'
  const remedy =
    'the folder was moved or deleted during the run, or another rfa took it: check its place'
  const other = 'to continue it, repeat the command with `output` and `resume`'
  return expected('NOT_WRITABLE', path, what, 'none, or the lock of another rfa', remedy, other)
}

/**
 * Removes a stale lock, unless another process has replaced it meanwhile. Looking and removing are two steps, and
 * no other process may act between them: a guard protects both. The guard is a lock file, too; a stale one is
 * removed in the same way.
 *
 * @throws {NOT_WRITABLE} when another process is about to take it over
 */
async function removeStale(path: string, judged: FoundLock): Promise<void> {
  const guardPath = `${path}${GUARD_ENDING}`
  const guard = await createLock(guardPath)
  if (!guard) {
    const other = await findLock(guardPath)
    if (!other) return
    await refuseIfHeld(guardPath, other)
    return removeStale(guardPath, other)
  }
  try {
    const found = await findLock(path)
    if (found?.text !== judged.text || found.beatMs !== judged.beatMs) return
    if (await isStillThere(guard)) await rm(path, {force: true})
  } catch (error) {
    throw error instanceof RfaError ? error : notWritable(path, error)
  } finally {
    await dropLock(guard)
  }
}
