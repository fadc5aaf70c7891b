import {readFileSync} from 'node:fs'

/** The scheduler's account of the calling thread: ns on a processor, ns waiting for one, turns. */
const ACCOUNT = '/proc/thread-self/schedstat'

/**
 * Starts measuring how long this thread waits for a processor: time in which it could have computed but others were on
 * all processors that it may use (Linux).
 *
 * @param account - file with the scheduler's account of this thread
 * @returns a function giving what it has waited since, in ns; `null` where nobody knows
 */
export function startWaiting(account: string = ACCOUNT): () => number | null {
  const before = waited(account)
  return () => {
    const after = waited(account)
    return before === null || after === null ? null : after - before
  }
}

/** Time that the thread has waited so far, in ns; `null` where the system keeps no account. */
function waited(account: string): number | null {
  try {
    const [computed = 0, waiting = 0] = readFileSync(account, 'utf8').split(' ').map(Number)
    return computed > 0 ? waiting : null
  } catch {
    return null
  }
}
