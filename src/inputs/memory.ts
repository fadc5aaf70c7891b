import {expected} from '../errors.js'
import {type Memory, readMemory} from '../free-memory.js'

/** Memory that may be taken before the system is asked again: asking takes longer than reading a small array. */
const ALLOWANCE = 2 ** 24
/** What is left of that, by who was asked. */
const allowances = new WeakMap<() => Memory, number>()

/**
 * Refuses an amount of memory before it is asked for. Small amounts are held against what was free a little earlier.
 *
 * @param where - file or generator, in messages
 * @param bytes - how many are needed at once
 * @param suggestion - what to try
 * @param memory - of the machine, or less where its container has less
 * @throws {TOO_LARGE} when less is free
 */
export function assertMemory(
  where: string,
  bytes: number,
  suggestion = 'select fewer arrays or write a shorter excerpt',
  memory: () => Memory = readMemory,
): void {
  const allowance = allowances.get(memory) ?? 0
  if (bytes <= allowance) {
    allowances.set(memory, allowance - bytes)
    return
  }
  const {free} = memory()
  allowances.set(memory, Math.max(0, Math.min(ALLOWANCE, free - bytes)))
  if (bytes <= free) return
  const what = `arrays that fit into the ${free} bytes of available memory`
  throw expected('TOO_LARGE', where, what, `${bytes} bytes`, suggestion)
}
