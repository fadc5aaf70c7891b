/** Times of methods over those of others, length by length. */
import type {TimedRecord} from '../experiments/bench/schema.js'
import {type Estimate, ratioOf} from '../stats/index.js'
import {ofMethod, timeOf} from './growth.js'

/** A ratio at one length. */
export interface TimeRatio {
  length: number
  ratio: Estimate
}

/** Median time of a method over that of another, at each length. */
export function timeRatios(
  records: readonly TimedRecord[],
  method: string,
  other: string,
): TimeRatio[] {
  const others = ofMethod(records, other)
  return ofMethod(records, method).map((record, at) => ({
    length: record.cell.seq_len,
    ratio: ratioOf(timeOf(record), timeOf(others[at]!)),
  }))
}

/** `3.2x at 196, 1.9x at 784` */
export function ratiosText(rows: readonly TimeRatio[]): string {
  return rows.map(({length, ratio}) => `${ratio.value.toFixed(1)}x at ${length}`).join(', ')
}
