/** Decodes up to some token, as separate records. */
import type {TimedRecord} from '../schema.js'

/**
 * A decode as a record of the time up to some of its tokens, by the same processes.
 *
 * @returns `undefined` where it was not looked at there
 */
export function decodeTo(
  {cell, result, ...rest}: TimedRecord,
  tokens: number,
): TimedRecord | undefined {
  const mark = result.marks?.find(one => one.tokens === tokens)
  if (!mark) return undefined
  const {total_ns, total_low_ns, total_high_ns, total_samples_ns} = mark
  const median = {median_ns: total_ns, median_low_ns: total_low_ns, median_high_ns: total_high_ns}
  return {
    ...rest,
    cell: {...cell, seq_len: tokens},
    result: {...result, ...median, samples_ns: total_samples_ns},
  }
}
