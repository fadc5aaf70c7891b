import {readdir, rm, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {timeOfFiles} from '../files.js'
import {GUARD_ENDING} from '../lock/lock.js'
import {isRunning} from '../lock/processes.js'

/** What a process calls a file that it has not finished, see {@link temporaryOf}; the random part may be missing. */
const UNFINISHED = /\.(\d+)(?:-[0-9a-f]+)?\.tmp$/
/** How long a process without the lock may keep a temporary file here, in ms. */
const VISIT_MS = 60_000

/**
 * Removes the unfinished files of processes that are gone (killed, power cut) from a folder, and what guarded a
 * takeover of its lock. Never fails: a file that cannot be removed does no harm.
 *
 * @param directory - a folder that this process has locked: other processes, of other hosts too, only try the lock,
 * and have a temporary file next to it for a moment
 * @param lockFile - name of the lock
 */
export async function removeLeftovers(directory: string, lockFile: string): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  for (const name of names) {
    const path = join(directory, name)
    if (await isLeft(path, name, lockFile)) await rm(path, {force: true}).catch(() => {})
  }
}

async function isLeft(path: string, name: string, lockFile: string): Promise<boolean> {
  const [, pid] = UNFINISHED.exec(name) ?? []
  if (pid === undefined && !name.endsWith(GUARD_ENDING)) return false
  if (name.startsWith(`${lockFile}.`)) return isOld(path)
  return pid !== undefined && !isRunning(Number(pid))
}

/** Whether a file is older than any that is in use, by the clock that stamped it. */
async function isOld(path: string): Promise<boolean> {
  try {
    const {mtimeMs} = await stat(path)
    return (await timeOfFiles(path)) - mtimeMs > VISIT_MS
  } catch {
    return false
  }
}
