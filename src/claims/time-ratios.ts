/** Times of methods over those of others, length by length. */

import type {TimedRecord} from '../experiments/bench/schema.js'
import type {PairedTimes} from '../experiments/bench/times/paired-times.js'
import {significant} from '../report/numbers.js'
import type {Estimate} from '../stats/index.js'
import {ofMethod} from './growth.js'
import {type Measured, measuredRatio} from './measured.js'

/** A ratio at one length. */
export interface TimeRatio {
  length: number
  ratio: Measured
}

/**
 * Time of a method over that of another, process by process, at each length.
 *
 * @throws {Unmeasured} where one process took them
 */
export function timeRatios(
  times: PairedTimes,
  records: readonly TimedRecord[],
  method: string,
  other: string,
): TimeRatio[] {
  const others = ofMethod(records, other)
  return ofMethod(records, method).map((record, at) => ({
    length: record.cell.seq_len,
    ratio: measuredRatio(times.logRatio(record, others[at]!)),
  }))
}

/** `3.2x [3.0, 3.4] at 196, 1.9x [1.8, 2.0] at 784; not settled at 25`. @param settled - whether a test settled each row */
export function ratiosText(rows: readonly TimeRatio[], settled: readonly boolean[]): string {
  const told = rows.filter((_, at) => settled[at])
  const open = rows.filter((_, at) => !settled[at])
  const lengths = open.map(({length}) => length).join(', ')
  return [
    ...(told.length > 0
      ? [told.map(({length, ratio}) => `${timesText(ratio)} at ${length}`).join(', ')]
      : []),
    ...(open.length > 0 ? [`not settled at ${lengths}`] : []),
  ].join('; ')
}

/** A factor with its 95 % interval: `3.2x [3.0, 3.4]`. */
function timesText({value, low, high}: Estimate): string {
  return `${significant(value)}x [${significant(low)}, ${significant(high)}]`
}

/** Whether one of each pair of tests, which ask opposite questions of a row, is rejected. */
export function settledBy(rejected: readonly boolean[]): boolean[] {
  return Array.from({length: rejected.length / 2}, (_, at) =>
    rejected.slice(2 * at, 2 * at + 2).some(Boolean),
  )
}
