import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {quantile} from '../../../stats/index.js'

/** A folder for each thread of this process, with the scheduler's account of it: ns on a processor, ns waiting for one, turns. */
const THREADS = '/proc/self/task'
/** The account of the main thread. */
const OWN = join(THREADS, String(process.pid), 'schedstat')

/** A thread that computes less than this share of the busiest one does not belong to a kernel. */
const TAKES_PART = 0.5

/** What the scheduler says of a thread. */
interface Account {
  /** In ns. */
  computed: number
  waited: number
  /** How often it was given a processor. */
  turns: number
}

/**
 * Starts measuring how long the threads that compute wait for a processor: time in which they could have computed but others
 * were on all processors that they may use (Linux). A call ends with its slowest thread, so the longest wait counts;
 * compilers and collectors of V8 compute too little to count.
 *
 * @param threads - folder with one folder for each thread
 * @param wakeNs - what waking a thread takes on a machine that has nothing else to do: the system counts it as waiting
 * @returns a function giving the time waited since, in ns; `null`: unknown
 */
export function startWaiting(
  threads: string = THREADS,
  wakeNs = wakingTakes(),
): () => number | null {
  const before = accounts(threads)
  return () => {
    const since = [...accounts(threads)].map(([thread, now]) => {
      const start = before.get(thread) ?? {computed: 0, waited: 0, turns: 0}
      const waited = now.waited - start.waited - wakeNs * (now.turns - start.turns)
      return {computed: now.computed - start.computed, waited: Math.max(0, waited)}
    })
    if (before.size === 0 || since.length === 0) return null
    const most = Math.max(...since.map(({computed}) => computed))
    const kernel = since.filter(({computed}) => computed >= TAKES_PART * most)
    return Math.max(...kernel.map(({waited}) => waited))
  }
}

/**
 * Starts measuring how long a run waits that the main thread computes alone. Of several threads, some take over the work of one
 * that waits, so that it is not known by how much that delays a run.
 *
 * @param account - of the main thread
 * @returns a function giving the time waited since, in ns; 0 where the system keeps no account
 */
export function startRunWait(account: string = OWN, wakeNs = wakingTakes()): () => number {
  const before = accountOf(account)
  return () => {
    const after = accountOf(account)
    if (!before || !after) return 0
    return Math.max(0, after.waited - before.waited - wakeNs * (after.turns - before.turns))
  }
}

/** Number of naps that are measured, and the length of each, in ms. */
const NAPS = {count: 32, ms: 0.1}

let waking: number | undefined

/** What the system counts as waiting when a thread of this process wakes from a nap, in ns: of naps that others disturb least. */
function wakingTakes(): number {
  waking ??= measureWaking()
  return waking
}

function measureWaking(): number {
  const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const found: number[] = []
  for (let nap = 0; nap < NAPS.count; nap++) {
    const before = accountOf(OWN)
    Atomics.wait(cell, 0, 0, NAPS.ms)
    const after = accountOf(OWN)
    if (!before || !after || after.turns === before.turns) continue
    found.push((after.waited - before.waited) / (after.turns - before.turns))
  }
  return found.length > 0 ? quantile(found, 0.25) : 0
}

/** Accounts by thread, if the system keeps any. */
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
    const [computed = 0, waited = 0, turns = 0] = readFileSync(path, 'utf8').split(' ').map(Number)
    return computed > 0 ? {computed, waited, turns} : undefined
  } catch {
    return undefined
  }
}
