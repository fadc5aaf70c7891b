/** Which times and sizes of a benchmark's tables are marked as the lowest, within noise. */
import {reaches} from '../../../../answers/index.js'
import {type BestRule, type Contest, leastOf} from '../../../../report/best.js'
import type {Estimate} from '../../../../stats/index.js'
import {PASS_THROUGH} from '../../fields/baselines.js'
import type {TimedRecord} from '../../schema.js'
import type {PairedTimes} from '../../times/paired-times.js'
import {undisturbedTime} from '../../times/time-estimates.js'

type Rule = BestRule<TimedRecord>

const TIES = 'the 95 % interval of the ratio holds 1'

export function leastTime(times: PairedTimes): Rule {
  return leastOf({
    what: 'lowest time at its L',
    rivals: lengthOf,
    value: undisturbedTime,
    ties: {what: TIES, hold: (row, least) => tiesWithFastest(times, row, least)},
  })
}

/** Least memory of a call of each length, which is counted. */
export const LEAST_LIVE: Rule = leastOf({
  what: 'lowest live memory at its L',
  rivals: lengthOf,
  value: ({result}) => result.live_bytes,
})

/** Least time to a number of tokens. @param upTo - a row as one of that number; `undefined` if it has fewer */
export function leastTotal(
  times: PairedTimes,
  upTo: (row: TimedRecord) => TimedRecord | undefined,
): Rule {
  return leastOfColumn({
    what: 'lowest time of its column',
    value: row => {
      const own = upTo(row)
      return own ? undisturbedTime(own) : null
    },
    ties: {what: TIES, hold: (row, least) => tiesWithFastest(times, upTo(row)!, upTo(least)!)},
  })
}

/** Least of times without ratios. */
export function leastToken(timeOf: (row: TimedRecord) => Estimate | undefined): Rule {
  return leastOfColumn({
    what: 'lowest time of its column',
    value: row => timeOf(row)?.value ?? null,
    ties: {
      what: '95 % intervals overlap',
      hold: (row, least) => reaches(timeOf(row)!, timeOf(least)!.high),
    },
  })
}

/** Least state, which is counted. */
export function leastState(stateOf: (row: TimedRecord) => number | undefined): Rule {
  return leastOfColumn({what: 'lowest state', value: row => stateOf(row) ?? null})
}

/** All rows of a column are rivals. */
function leastOfColumn(contest: Omit<Contest<TimedRecord>, 'rivals'>): Rule {
  return leastOf({...contest, rivals: () => ''})
}

/** What passes values through is a yardstick: nothing would be faster. */
function lengthOf({cell: {method, seq_len}}: TimedRecord): string | undefined {
  return method === PASS_THROUGH ? undefined : String(seq_len)
}

/** Whether a row may be as fast as another one; one process has no interval, and says nothing. */
function tiesWithFastest(times: PairedTimes, row: TimedRecord, least: TimedRecord): boolean {
  return reaches(times.ratio(row, least), 1)
}
