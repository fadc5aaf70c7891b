/** Decodes up to some token, as separate records. */
import type {TimedRecord} from '../../schema.js'

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
  const {run_waits_ns, waited_ns} = result
  // how long a part of a decode waited is not known; the whole tells for how much of its time
  const waits =
    tokens === cell.seq_len
      ? {run_waits_ns, waited_ns}
      : {
          run_waits_ns: [],
          waited_ns: waited_ns && waited_ns * (sum(total_samples_ns) / sum(result.samples_ns)),
        }
  return {
    ...rest,
    cell: {...cell, seq_len: tokens},
    result: {...result, ...median, samples_ns: total_samples_ns, ...waits},
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
