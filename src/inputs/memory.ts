import {freemem} from 'node:os'
import {expected} from '../errors.js'

/**
 * Refuses an amount of memory before it is asked for.
 *
 * @param where - file or generator, in messages
 * @param bytes - how many are needed at once
 * @param suggestion - what to try
 * @throws {TOO_LARGE} when the machine (or its container) has less available
 */
export function assertMemory(
  where: string,
  bytes: number,
  suggestion = 'select fewer arrays or write a shorter excerpt',
): void {
  const available = process.availableMemory?.() || freemem()
  if (bytes <= available) return
  const what = `arrays that fit into the ${available} bytes of available memory`
  throw expected('TOO_LARGE', where, what, `${bytes} bytes`, suggestion)
}
