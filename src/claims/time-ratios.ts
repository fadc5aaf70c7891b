/** Times of methods over those of others, length by length. */
import type {TimedRecord} from '../experiments/bench/schema.js'
import {logTimesByTurn} from '../experiments/bench/turns.js'
import {ofMethod} from './growth.js'
import {type Measured, measuredRatio} from './measured.js'

/** A ratio at one length. */
export interface TimeRatio {
  length: number
  ratio: Measured
}

/**
 * Time of a method over that of another, turn by turn, at each length.
 *
 * @throws {Unmeasured} where there were too few turns
 */
export function timeRatios(
  records: readonly TimedRecord[],
  method: string,
  other: string,
): TimeRatio[] {
  const others = ofMethod(records, other)
  return ofMethod(records, method).map((record, at) => ({
    length: record.cell.seq_len,
    ratio: measuredRatio(
      logTimesByTurn([
        {record, weight: 1},
        {record: others[at]!, weight: -1},
      ]),
    ),
  }))
}

/** `3.2x at 196, 1.9x at 784` */
export function ratiosText(rows: readonly TimeRatio[]): string {
  return rows.map(({length, ratio}) => `${ratio.value.toFixed(1)}x at ${length}`).join(', ')
}
