/** Which times and sizes of a benchmark's tables are marked as the least, as far as noise tells. */
import {type BestRule, leastAmong} from '../../report/best.js'
import type {Estimate} from '../../stats/index.js'
import {PASS_THROUGH} from './baselines.js'
import {timeRatio} from './noise.js'
import type {TimedRecord} from './schema.js'

type Rule = BestRule<TimedRecord>

const TIES = 'the 95 % interval of the ratio holds 1'

/** Least time of a call of each length. */
export const LEAST_TIME: Rule = {
  what: 'least time of its L',
  ties: TIES,
  among: rows =>
    leastAmong(rows, {rivals: lengthOf, value: ({result}) => result.median_ns, ties: asFast}),
}

/** Least memory of a call of each length, which is counted. */
export const LEAST_LIVE: Rule = {
  what: 'least live memory of its L',
  among: rows => leastAmong(rows, {rivals: lengthOf, value: ({result}) => result.live_bytes}),
}

/** Least time to so many tokens. @param upTo - a row as one of so many; `undefined` where it went not so far */
export function leastTotal(upTo: (row: TimedRecord) => TimedRecord | undefined): Rule {
  return {
    what: 'least time of its column',
    ties: TIES,
    among: rows =>
      leastAmong(rows, {
        rivals: () => '',
        value: row => upTo(row)?.result.median_ns ?? null,
        ties: (row, least) => asFast(upTo(row)!, upTo(least)!),
      }),
  }
}

/** Least of times that were not taken turn by turn. */
export function leastToken(timeOf: (row: TimedRecord) => Estimate | undefined): Rule {
  return {
    what: 'least time of its column',
    ties: '95 % intervals overlap',
    among: rows =>
      leastAmong(rows, {
        rivals: () => '',
        value: row => timeOf(row)?.value ?? null,
        ties: (row, least) => timeOf(row)!.low <= timeOf(least)!.high,
      }),
  }
}

/** Least state, which is counted. */
export function leastState(stateOf: (row: TimedRecord) => number | undefined): Rule {
  return {
    what: 'least state',
    among: rows => leastAmong(rows, {rivals: () => '', value: row => stateOf(row) ?? null}),
  }
}

/** What passes values through is a yardstick: nothing would be faster. */
function lengthOf({cell: {method, seq_len}}: TimedRecord): string | undefined {
  return method === PASS_THROUGH ? undefined : String(seq_len)
}

/** Whether a row may be as fast as another one, for all that is known; too few runs have no interval, and tell nothing. */
function asFast(row: TimedRecord, least: TimedRecord): boolean {
  return timeRatio(row, least).low <= 1
}
