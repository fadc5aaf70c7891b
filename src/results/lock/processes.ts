/** What the system knows of other processes. Only Linux says more than whether they run. */
import {readFileSync, readlinkSync} from 'node:fs'
import {errorCode} from '../../files.js'

/**
 * Where the numbers of processes are those that this one sees: this boot of this machine, and the
 * container (PID namespace). Two containers may have one host name, and a machine starts anew.
 *
 * @returns `null` where the system does not say
 */
export function processSpace(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return null
  }
}

/** When a process began, in clock ticks since boot; `null` where the system does not say. */
export function startOf(pid: number): string | null {
  return statOf(pid)?.started ?? null
}

/**
 * Whether a process runs. One that was killed, but that its parent has not asked about yet (a zombie,
 * for ever in containers without an init), does not.
 *
 * @param started - when it began; its number may have been given to a new process since
 */
export function isRunning(pid: number, started: string | null = startOf(pid)): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return errorCode(error) === 'EPERM' // it exists, but is another user's
  }
  const stat = statOf(pid)
  return stat?.state !== 'Z' && stat?.state !== 'X' && started === (stat?.started ?? null)
}

/** Fields 3 and 22 of /proc/PID/stat; counted after the name, which is in brackets and may hold spaces. */
function statOf(pid: number): {state: string | undefined; started: string | undefined} | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return {state: fields[0], started: fields[19]}
  } catch {
    return undefined
  }
}
