import {readdir, rm, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {isRunning} from './processes.js'

/** What a process calls a file that it has not finished: `<name>.<number of the process>.tmp`. */
const UNFINISHED = /\.(\d+)\.tmp$/
/** Longest time for which a process that does not hold the folder has a file of its own there, in ms. */
const VISIT_MS = 60_000

/**
 * Removes the unfinished files of processes that are gone (killed, power cut) from a folder. Never
 * fails: one that cannot be removed is in nobody's way.
 *
 * @param directory - a folder that this process has locked: only the lock itself may be tried by others,
 *   of other hosts too, which have their files beside it for a moment
 * @param lockFile - name of the lock
 */
export async function removeLeftovers(directory: string, lockFile: string): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  for (const name of names) {
    const [, pid] = UNFINISHED.exec(name) ?? []
    if (pid === undefined || isRunning(Number(pid))) continue
    const path = join(directory, name)
    if (name.startsWith(`${lockFile}.`) && (await ageOf(path)) < VISIT_MS) continue
    await rm(path, {force: true}).catch(() => {})
  }
}

async function ageOf(path: string): Promise<number> {
  const entry = await stat(path).catch(() => undefined)
  return entry ? Date.now() - entry.mtimeMs : 0
}
