import {readFileSync} from 'node:fs'
import {open, readFile, rename, rm, stat} from 'node:fs/promises'
import {hostname} from 'node:os'
import {expected} from '../errors.js'
import {errorCode, notWritable} from './files.js'

/** Who writes into a folder. */
interface Owner {
  pid: number
  host: string
  /** When the process began, in clock ticks since boot; `null` where the system does not tell. */
  started: string | null
}

/** A held lock. */
export interface Lock {
  /** Lets others in; a second call does nothing. Never fails: a lock left behind is found stale later. */
  release(): Promise<void>
}

/** A lock file without readable content is being written, unless it is older than this, in ms. */
const HALF_WRITTEN_MS = 10_000

/**
 * Takes a lock file, so that two processes cannot write into one folder. A lock whose process is gone
 * (killed, power cut) is taken over; one from another host is believed, because nobody here can tell.
 *
 * @param path - the lock file; its folder exists
 * @throws {NOT_WRITABLE} when another process holds it, or the file cannot be made
 */
export async function takeLock(path: string): Promise<Lock> {
  for (;;) {
    if (await createLock(path)) return lockAt(path)
    const holder = await readOwner(path)
    if (holder === 'gone') continue
    if (isAlive(holder)) {
      throw expected(
        'NOT_WRITABLE',
        path,
        'a folder that no other rfa writes into',
        `one locked by ${nameOf(holder)}`,
        'wait for it, or choose another --output',
        'if that process is certainly not running any more, delete the lock file',
      )
    }
    await removeStale(path, holder)
  }
}

function lockAt(path: string): Lock {
  let released: Promise<void> | undefined
  return {
    release: () => {
      released ??= rm(path, {force: true}).catch(() => {})
      return released
    },
  }
}

/** Makes the file unless there is one; whether it was made. */
async function createLock(path: string): Promise<boolean> {
  const owner: Owner = {pid: process.pid, host: hostname(), started: startOf(process.pid)}
  try {
    const file = await open(path, 'wx')
    await file.writeFile(JSON.stringify(owner)).finally(() => file.close())
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw notWritable(path, error)
  }
}

/** The owner in a lock file, `half-written` while it is being made, `stale` for one left unreadable. */
async function readOwner(path: string): Promise<Owner | 'gone' | 'half-written' | 'stale'> {
  try {
    const owner = parseOwner(await readFile(path, 'utf8'))
    if (owner) return owner
    const age = Date.now() - (await stat(path)).mtimeMs
    return age > HALF_WRITTEN_MS ? 'stale' : 'half-written'
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'gone'
    throw notWritable(path, error)
  }
}

function parseOwner(text: string): Owner | undefined {
  try {
    const {pid, host, started} = JSON.parse(text)
    return Number.isInteger(pid) && typeof host === 'string' ? {pid, host, started} : undefined
  } catch {
    return undefined
  }
}

function isAlive(owner: Owner | 'half-written' | 'stale'): boolean {
  if (typeof owner === 'string') return owner === 'half-written'
  if (owner.host !== hostname()) return true
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    return errorCode(error) === 'EPERM' // it exists, but is another user's
  }
  // the number may have been given to a new process since
  return owner.started === startOf(owner.pid)
}

/**
 * Removes a stale lock. Another process may have done so meanwhile and hold a fresh one under the same
 * name: the file is moved aside first, looked at, and put back if it is not the one that was judged.
 */
async function removeStale(path: string, judged: Owner | 'half-written' | 'stale'): Promise<void> {
  const aside = `${path}.${process.pid}.tmp`
  try {
    await rename(path, aside)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return
    throw notWritable(path, error)
  }
  const moved = await readOwner(aside)
  if (JSON.stringify(moved) === JSON.stringify(judged)) await rm(aside, {force: true})
  else await rename(aside, path)
}

/** Field 22 of /proc/PID/stat; counted after the name, which is in brackets and may hold spaces. */
function startOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}

function nameOf(owner: Owner | 'half-written' | 'stale'): string {
  return typeof owner === 'string'
    ? 'a process that just starts'
    : `process ${owner.pid} on ${owner.host}`
}
