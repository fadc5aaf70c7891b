/** Keys and values that several heads of queries share (grouped-query attention). */
import type {AttentionArray} from './attention-input.js'
import type {Four} from './layout.js'
import {assertMemory} from './memory.js'

/**
 * Repeats heads so that each query head has its own: head j of `array` becomes heads `j G .. j G + G - 1`.
 *
 * @param array - `[B, H_kv, S, D]`
 * @param heads - H, a multiple of H_kv
 * @param where - in messages
 * @returns `[B, H, S, D]`; `array` itself if it has the same number of heads
 * @throws {TOO_LARGE} when the copy does not fit in memory
 */
export function repeatHeads(array: AttentionArray, heads: number, where: string): AttentionArray {
  const [batch, own, length, dim] = array.shape
  if (own === heads) return array
  assertMemory(where, Float32Array.BYTES_PER_ELEMENT * batch * heads * length * dim)
  return {shape: [batch, heads, length, dim], data: repeatedHeads(array.data, array.shape, heads)}
}

/** The same of data alone, whatever memory there is. @param shape - of the data, `[B, H_kv, S, D]` */
export function repeatedHeads(
  given: Float32Array,
  [batch, own, length, dim]: Readonly<Four>,
  heads: number,
): Float32Array<ArrayBuffer> {
  const group = heads / own
  const size = length * dim
  const data = new Float32Array(batch * heads * size)
  for (let head = 0; head < batch * heads; head++) {
    const from = Math.floor(head / group) * size // a batch is a whole number of groups
    data.set(given.subarray(from, from + size), head * size)
  }
  return data
}
