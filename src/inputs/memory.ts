import {expected} from '../errors.js'
import {type Memory, readMemory} from '../free-memory.js'

/**
 * Refuses an amount of memory before it is asked for.
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
  const {free} = memory()
  if (bytes <= free) return
  const what = `arrays that fit into the ${free} bytes of available memory`
  throw expected('TOO_LARGE', where, what, `${bytes} bytes`, suggestion)
}
