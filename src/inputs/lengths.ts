/** How many tokens an input has once it is cut. */
import {describe, expected} from '../errors.js'
import type {AttentionShapes} from './attention-input.js'

/**
 * Lengths of queries and keys: the first `seqLen` queries; keys follow only where they stand for the same tokens.
 *
 * @param seqLen - `null`: all
 * @throws {BAD_OPTION} for more queries than there are
 */
export function cutLengths(
  {label, query, key}: AttentionShapes & {label: string},
  seqLen: number | null,
): [queryLen: number, keyLen: number] {
  const [, , length] = query.shape
  const [, , keyLen] = key.shape
  if (seqLen === null) return [length, keyLen]
  if (!Number.isInteger(seqLen) || seqLen < 1 || seqLen > length) {
    const what = `1 to ${length}, the number of queries in ${label}`
    throw expected('BAD_OPTION', '`seqLen`', what, describe(seqLen))
  }
  return [seqLen, keyLen === length ? seqLen : keyLen]
}
