/** Recognises faults for want of memory: a process that runs into a limit dies or throws in many ways. */

import {readFileSync} from 'node:fs'

const WORDS =
  /out of memory|\bOOM\b|cannot allocate|allocation failed|bad_alloc|ENOMEM|EAGAIN|temporarily unavailable/i

/** Whether somebody who could get no memory, or no thread for want of it, said these words. */
export function isOfMemory(words: string): boolean {
  return WORDS.test(words)
}

/** The sentence of such a fault with its likely cause, where the words do not say it; others as they are. */
export function withCause(message: string, ofMemory: boolean = isOfMemory(message)): string {
  return ofMemory ? `${message}; ${CAUSE}` : message
}

const CAUSE = 'probably too little memory: on the machine, or because of a limit such as ulimit -v'

/** What to try. */
export const MORE_MEMORY =
  'give it more memory: end other programs, or raise the limit (ulimit -v, or of a container or job)'

/**
 * How many processes the system has ended for want of memory since it started, those of limited groups among them.
 *
 * @param path - where Linux counts them
 * @returns `undefined` where that is not known
 */
export function endedForMemory(path = '/proc/vmstat'): number | undefined {
  try {
    const [, count] = /^oom_kill (\d+)$/m.exec(readFileSync(path, 'utf8')) ?? []
    return count === undefined ? undefined : Number(count)
  } catch {
    return undefined
  }
}
