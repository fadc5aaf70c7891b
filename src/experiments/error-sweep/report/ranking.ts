/**
 * Which rows of a table have lower errors than others: one comparison for its stars, paired differences and sentences.
 *
 * Replicate r of every cell of a seed has the same random numbers, as far as cells draw the same: all methods of one
 * projection have the same rows, at any M the first ones of the larger draw, and `iid`, `orth` and `orth-sqrt-d` are
 * made of the same Gaussians in every block of D rows. What two cells do not share is independent: pairs are valid
 * then, too, and only gain nothing.
 */
import {randomStream} from '../../../random/index.js'
import {groupBy} from '../../../report/groups.js'
import {type Estimate, LEAST_FOR_FLIPS, signFlips} from '../../../stats/index.js'
import {ALPHA, type Answer, answerOf} from '../../answers.js'
import type {CompletedSweep} from '../schema.js'
import {
  EQUAL,
  errorsOf,
  isDrawn,
  type PairedErrors,
  pairedErrors,
  pairedLogs,
  roundingOf,
} from './comparison.js'
import {boundsOf} from './spread.js'

/** The yardstick: compared with others, and never marked. */
export const YARDSTICK = 'mean-value'

/** Rows of a table of which all pairs are tested; of more the intervals of medians are compared. */
const MOST_TESTED = 128

/** One row against another. */
export interface Compared {
  a: CompletedSweep
  b: CompletedSweep
  /** Whether a has the higher error (`more`), the lower one, an equal one, or one that is not distinguishable. */
  answer: Answer
  /** rel L2 of a over that of b: the centre of paired ratios with its 95 % interval, else that of medians with what both leave open. */
  ratio: Estimate
  /**
   * That the row with the higher error exceeds the other by the margin at most (one-sided), adjusted for all rows with which it
   * is compared: of each row the chance that it is falsely called higher than any is at most 5 %. `NaN`: there is no test.
   */
  pValue: number
  /** Replicates that were compared; 0 where there is no test. */
  pairs: number
}

/** Rows of one layer that estimate the same. */
export interface Ranking {
  rows: readonly CompletedSweep[]
  compare(a: CompletedSweep, b: CompletedSweep): Compared
  /** Rows that compete for a star: no yardstick, no exact form, nothing that broke or is worse than averaging V. */
  competing: readonly CompletedSweep[]
  /**
   * Those of them for which no row of at most as many features has a distinguishably lower error; none where no two rows
   * differ.
   */
  front: ReadonlySet<CompletedSweep>
  /** Whether pairs of drawn rows were tested; else their intervals or ranges were compared. */
  tested: boolean
}

/** The rankings of records, of each table and layer by itself. */
export function rankingsOf(records: readonly CompletedSweep[]): Ranking[] {
  return groupBy(records, tableKey).map(rankingOf)
}

/** The rankings of those tables that have one of some rows. @param all - records of the sweep */
export function rankingsWith(
  rows: readonly CompletedSweep[],
  all: readonly CompletedSweep[],
): Ranking[] {
  const keys = new Set(rows.map(tableKey))
  return rankingsOf(all.filter(row => keys.has(tableKey(row))))
}

/** The same of rows that compete with each other. */
function tableKey({cell, result}: CompletedSweep): string {
  const {input, seq_len, scale, logit_scale, causal, target, layer} = cell
  const label = result.target_label
  return JSON.stringify([input, seq_len, scale, logit_scale, causal, target, layer, label])
}

function rankingOf(rows: readonly CompletedSweep[]): Ranking {
  const tests = testsOf(rows)
  const compare = (a: CompletedSweep, b: CompletedSweep): Compared => {
    if (isRounding(a) && isRounding(b)) {
      const ratio = ratioOfMiddles(middleOf(a), middleOf(b))
      return {a, b, ratio, answer: 'same', pValue: Number.NaN, pairs: 0}
    }
    const test = tests.get(a)?.get(b)
    if (!test) {
      const ratio = ratioOfMiddles(middleOf(a), middleOf(b))
      return {a, b, ratio, answer: answerOf(ratio, Number.NaN, EQUAL), pValue: Number.NaN, pairs: 0}
    }
    const {differences, ratio} = test.errors()
    const pValue = ratio.value > 1 ? test.higher : tests.get(b)!.get(a)!.higher
    return {a, b, ratio, answer: answerOf(ratio, pValue, EQUAL), pValue, pairs: differences.length}
  }
  const competing = rows.flatMap((row): Competitor[] => {
    const size = isCompeting(row) ? sizeOf(row) : undefined
    return size ? [{row, ...size, ...middleOf(row), isRounding: isRounding(row)}] : []
  })
  const isHigher = (a: Competitor, b: Competitor) => {
    if (a.isRounding && b.isRounding) return false
    const test = tests.get(a.row)?.get(b.row)
    if (!test) return answerOf(ratioOfMiddles(a, b), Number.NaN, EQUAL) === 'more'
    // the ratio takes longer than the test
    return test.higher <= ALPHA && compare(a.row, b.row).answer === 'more'
  }
  // most rows are higher than one of the first
  const rivals = competing.toSorted((a, b) => a.median - b.median)
  const differ =
    rows.some(isWorseThanAverage) ||
    competing.some(own => rivals.some(rival => isHigher(own, rival)))
  const front = competing.filter(
    own =>
      !rivals.some(
        rival => rival.name === own.name && rival.size <= own.size && isHigher(own, rival),
      ),
  )
  return {
    rows,
    compare,
    competing: competing.map(({row}) => row),
    front: new Set(differ ? front.map(({row}) => row) : []),
    tested: tests.size > 0 || !competing.some(({row}) => isDrawn(row)),
  }
}

/** A median with what it leaves open, if that is known. */
interface Middle {
  median: number
  bounds: {low: number; high: number} | undefined
}

/** A row that competes, with what is asked for each pair: records of long runs are read anew each time. */
interface Competitor extends Middle, Size {
  row: CompletedSweep
  isRounding: boolean
}

function middleOf({result: {rel_l2}}: CompletedSweep): Middle {
  return {median: rel_l2.median ?? Number.NaN, bounds: boundsOf(rel_l2)}
}

/** A row against another one, by replicates. */
interface Test {
  /** That the row is not higher than the other by more than the margin, adjusted for all others. */
  higher: number
  /** Of the row over the other. */
  errors(): PairedErrors
}
type Tests = ReadonlyMap<CompletedSweep, ReadonlyMap<CompletedSweep, Test>>

/** Each row against all others with which it has replicates enough, of which at least one is drawn. */
function testsOf(rows: readonly CompletedSweep[]): Tests {
  const candidates = rows.filter(row => row.result.rel_l2.median !== null && !isRounding(row))
  // lists of replicates may have to be read again
  if (candidates.length > MOST_TESTED) return new Map()
  const able = candidates.flatMap(row => {
    const errors = errorsOf(row)
    return errors?.every(error => error > 0) ? [{row, errors, drawn: isDrawn(row)}] : []
  })
  const tests = able.map(({row, errors, drawn}) => {
    const rivals = able.flatMap(other => {
      if (other.row === row || !(drawn || other.drawn)) return []
      const differences = pairedLogs(errors, other.errors)
      return differences.length >= LEAST_FOR_FLIPS ? [{...other, differences}] : []
    })
    const pValues = signFlips(
      rivals.map(({differences}) => differences),
      {stream: randomStream(0, 'ranking'), margin: Math.log1p(EQUAL), alternative: 'greater'},
    )
    const own = rivals.map((other, at): [CompletedSweep, Test] => [
      other.row,
      {higher: pValues[at]!, errors: () => pairedErrors(errors, other.errors)},
    ])
    return [row, new Map(own)] as const
  })
  return new Map(tests.filter(([, own]) => own.size > 0))
}

/** Of medians: its ends are as far apart as those of both medians allow. */
function ratioOfMiddles(a: Middle, b: Middle): Estimate {
  const value = a.median / b.median
  if (!a.bounds || !b.bounds) return {value, low: 0, high: Number.POSITIVE_INFINITY}
  return {value, low: a.bounds.low / b.bounds.high, high: a.bounds.high / b.bounds.low}
}

/** Broken replicates leave an error that cannot be compared. */
function isCompeting(row: CompletedSweep): boolean {
  const {rel_l2} = row.result
  const isWhole = boundsOf(rel_l2) !== undefined && rel_l2.max !== null
  return row.cell.method !== YARDSTICK && isWhole && !isWorseThanAverage(row)
}

/** Whether a row is worse than averaging V by the number in its table. */
export function isWorseThanAverage({cell, result}: CompletedSweep): boolean {
  return cell.method !== YARDSTICK && (result.mse_over_mean_value ?? 0) > 1
}

/** What a row costs. */
interface Size {
  name: 'F' | 'M'
  size: number
}

/** The length of a row's feature vectors, else the number of features that it was given. */
export function sizeOf({cell, result}: CompletedSweep): Size | undefined {
  if (result.feature_dim > 0) return {name: 'F', size: result.feature_dim}
  return cell.num_features === null ? undefined : {name: 'M', size: cell.num_features}
}

/** Whether a row has no error but that of rounding. */
export function isRounding(row: CompletedSweep): boolean {
  const {median} = row.result.rel_l2
  return median !== null && median <= roundingOf(row)
}
