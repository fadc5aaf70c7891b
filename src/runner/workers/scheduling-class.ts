/** Scheduling classes of Linux under which a process gets the processor before all others, for as long as it computes. */
import {readFileSync} from 'node:fs'
import {expected} from '../../errors.js'

/** By the numbers of sched.h. */
const REAL_TIME: Readonly<Record<string, string>> = {
  1: 'SCHED_FIFO',
  2: 'SCHED_RR',
  6: 'SCHED_DEADLINE',
}

/** Place of the policy in /proc/PID/stat, counted behind the name of the program. */
const POLICY = 38

/**
 * The real-time class that this process runs in.
 *
 * @param path - of what Linux says of the process
 * @returns `undefined` for every other class, and where the system does not say
 */
export function realTimeClass(path = '/proc/self/stat'): string | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return REAL_TIME[fields[POLICY] ?? '']
  } catch {
    return undefined
  }
}

/**
 * Refuses to compute in such a class: threads that wait for each other, and the program that looks after them, get no
 * processor, and neither does anything else on the machine.
 *
 * @param experiment - its name
 * @throws {UNSUPPORTED}
 */
export function requireOrdinaryClass(experiment: string, found = realTimeClass()): void {
  if (found === undefined) return
  const what = 'an ordinary scheduling class'
  const got = `${found}, in which threads that wait for each other take the processors from all other programs and do not end`
  const other = 'nice -n -5 gives it more of a busy machine'
  throw expected('UNSUPPORTED', experiment, what, got, 'start it without chrt', other)
}
