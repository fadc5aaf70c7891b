import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'

/** A folder for each thread of this process, with the scheduler's account of it: ns on a processor, ns waiting for one, turns. */
const THREADS = '/proc/self/task'

/** A thread that computes less than this share of what the busiest one does is no part of a kernel. */
const TAKES_PART = 0.5

/** What the scheduler says of a thread, in ns. */
interface Account {
  computed: number
  waited: number
}

/**
 * Starts measuring how long the threads that compute wait for a processor: time in which they could have computed but others
 * were on all processors that they may use (Linux). A call ends with its slowest thread, so the longest wait counts;
 * compilers and collectors of V8 compute too little to count.
 *
 * @param threads - folder with one folder for each thread
 * @returns a function giving what has been waited since, in ns; `null` where nobody knows
 */
export function startWaiting(threads: string = THREADS): () => number | null {
  const before = accounts(threads)
  return () => {
    const since = [...accounts(threads)].map(([thread, {computed, waited}]) => {
      const start = before.get(thread) ?? {computed: 0, waited: 0}
      return {computed: computed - start.computed, waited: waited - start.waited}
    })
    if (before.size === 0 || since.length === 0) return null
    const most = Math.max(...since.map(({computed}) => computed))
    const kernel = since.filter(({computed}) => computed >= TAKES_PART * most)
    return Math.max(...kernel.map(({waited}) => waited))
  }
}

/** Accounts by thread; none where the system keeps none. */
function accounts(threads: string): Map<string, Account> {
  const all = new Map<string, Account>()
  for (const thread of names(threads)) {
    const account = accountOf(join(threads, thread, 'schedstat'))
    if (account) all.set(thread, account)
  }
  return all
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** `undefined` for a thread that is gone, or that has never computed. */
function accountOf(path: string): Account | undefined {
  try {
    const [computed = 0, waited = 0] = readFileSync(path, 'utf8').split(' ').map(Number)
    return computed > 0 ? {computed, waited} : undefined
  } catch {
    return undefined
  }
}
