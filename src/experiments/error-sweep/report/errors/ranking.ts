/**
 * How rows of a sweep did by themselves and against averaging V, and which have lower errors than others: one comparison for stars, paired
 * differences and sentences, by the lines of `rfa compare`.
 *
 * Replicate r of every cell of a seed has the same random numbers, as far as cells draw the same: all methods of one
 * projection have the same rows, at any M the first ones of the larger draw, and `iid`, `orth` and `orth-sqrt-d` are
 * made of the same Gaussians in every block of D rows. What two cells do not share is independent: pairs are valid
 * then, too, and only gain nothing.
 */

import {
  type Answer,
  byTest,
  type DrawTests,
  drawTests,
  frontOf,
  isFoundHigher,
  mayBeHigher,
} from '../../../../answers/index.js'
import type {BestRule} from '../../../../report/best.js'
import {groupBy} from '../../../../report/groups.js'
import {type Estimate, LEAST_FOR_FLIPS} from '../../../../stats/index.js'
import {CLOSE, YARDSTICK} from '../../../averaging.js'
import {methodLabel} from '../../../labels.js'
import {type CompletedSweep, replicatesOf} from '../../schema.js'
import {
  EQUAL,
  errorLine,
  errorsOf,
  isDrawn,
  isRounding,
  leadingError,
  medianOf,
} from './comparison.js'

/** Most rows of a table for which all pairs are tested; above, intervals of medians decide, and replicates are not read. */
const MOST_TESTED = 128

export interface Compared {
  a: CompletedSweep
  b: CompletedSweep
  /** Whether a has the higher error (`more`), the lower one, an equal one, or one that is not distinguishable. */
  answer: Answer
  /** rel L2 of a over that of b with its 95 % interval; `NaN` where the two have no ratio. */
  ratio: Estimate
  /**
   * That the row with the higher error exceeds the other by the margin at most (one-sided), adjusted for all rows with which it
   * is compared: of each row the chance that it is falsely called higher than any is at most 5 %. `NaN`: there is no test.
   */
  pValue: number
  /** Replicates that were tested; 0 where there is no test. */
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
   * differ, or draws are too few to say.
   */
  front: ReadonlySet<CompletedSweep>
  /**
   * How rows are compared: drawn ones by paired tests, by intervals of ratios where there are too many rows or single draws are not
   * known, or not at all where draws are too few.
   */
  basis: 'tests' | 'intervals' | 'few_draws'
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

/** The same of rows that compete with each other. Tables, figures and verdicts ask for it in turn. */
function tableKey(row: CompletedSweep): string {
  const {input, seq_len, scale, logit_scale, causal, target, layer} = row.cell
  const label = row.result.target_label
  const key =
    tableKeys.get(row) ??
    JSON.stringify([input, seq_len, scale, logit_scale, causal, target, layer, label])
  tableKeys.set(row, key)
  return key
}
const tableKeys = new WeakMap<CompletedSweep, string>()

export function rankingOf(rows: readonly CompletedSweep[]): Ranking {
  const measured = rows.filter(row => leadingError(row).median !== null && !isRounding(row))
  const errors = measured.length > MOST_TESTED ? () => undefined : remembered(errorsOf)
  const tests = drawTests(measured.flatMap(drawnOf(errors)), EQUAL)
  const compare = (a: CompletedSweep, b: CompletedSweep) => compared(a, b, tests, errors)
  const competing = rows.filter(isCompeting)
  const competitors = competing.map(row => ({row, ...sizeOf(row)!, ...medianOf(row)}))
  const {front, differ} = frontOf(competitors, {
    isHigher(a, b) {
      const test = tests.get(a.row)?.get(b.row)
      // the ratio takes longer than these
      const may = test ? isFoundHigher(test) : mayBeHigher(a, b)
      return may && compare(a.row, b.row).answer === 'more'
    },
    costsNoMore: (a, b) => a.name === b.name && a.size <= b.size,
  })
  const basis = basisOf(competing, tests)
  const some = differ || rows.some(isWorseThanAverage)
  const starred = some && basis !== 'few_draws' ? front.map(({row}) => row) : []
  return {rows, compare, competing, front: new Set(starred), basis}
}

/** What may have to be read again is asked once of each row. */
function remembered<Of>(of: (row: CompletedSweep) => Of): (row: CompletedSweep) => Of {
  const known = new Map<CompletedSweep, {value: Of}>()
  return row => {
    const found = known.get(row) ?? {value: of(row)}
    known.set(row, found)
    return found.value
  }
}

function basisOf(
  competing: readonly CompletedSweep[],
  tests: DrawTests<CompletedSweep>,
): Ranking['basis'] {
  const drawn = competing.filter(isDrawn)
  if (drawn.some(row => replicatesOf(row) < LEAST_FOR_FLIPS)) return 'few_draws'
  return drawn.length === 0 || tests.size > 0 ? 'tests' : 'intervals'
}

/** By the test of two rows where there is one, else by the interval of their ratio. */
function compared(
  a: CompletedSweep,
  b: CompletedSweep,
  tests: DrawTests<CompletedSweep>,
  errors: typeof errorsOf,
): Compared {
  const line = errorLine(b, a, 'methods', errors)
  if ('reason' in line) {
    const answer = line.settled ? 'same' : 'cannot_be_told'
    return {a, b, answer, ratio: NO_RATIO, pValue: Number.NaN, pairs: 0}
  }
  const {ratio} = line
  const [own, other] = [tests.get(a)?.get(b), tests.get(b)?.get(a)]
  const pValue = (ratio.value > 1 ? own : other)?.higher ?? Number.NaN
  return {a, b, answer: byTest(ratio, pValue, EQUAL), ratio, pValue, pairs: own?.pairs ?? 0}
}

const NO_RATIO: Estimate = {value: Number.NaN, low: Number.NaN, high: Number.NaN}

/** What is tested of a row. */
function drawnOf(errorsBy: typeof errorsOf) {
  return (row: CompletedSweep) => {
    const errors = errorsBy(row)
    return errors ? [{item: row, errors, drawn: isDrawn(row)}] : []
  }
}

/** Broken replicates leave an error that cannot be compared. */
function isCompeting(row: CompletedSweep): boolean {
  const {median, max} = leadingError(row)
  const isWhole = median !== null && max !== null
  return (
    row.cell.method !== YARDSTICK &&
    isWhole &&
    sizeOf(row) !== undefined &&
    !isWorseThanAverage(row)
  )
}

/** Whether a row is worse than averaging V by the number in its table. */
function isWorseThanAverage({cell, result}: CompletedSweep): boolean {
  return cell.method !== YARDSTICK && (result.mse_over_mean_value ?? 0) > 1
}

interface Size {
  name: 'F' | 'M'
  size: number
}

/** The length of a row's feature vectors, else the number of features that it was given. */
function sizeOf({cell, result}: CompletedSweep): Size | undefined {
  if (result.feature_dim > 0) return {name: 'F', size: result.feature_dim}
  return cell.num_features === null ? undefined : {name: 'M', size: cell.num_features}
}

/** The number by which rows are put in order; what broke comes last. */
export function errorOf(row: CompletedSweep): number {
  return leadingError(row).median ?? Number.POSITIVE_INFINITY
}

/**
 * - `yardstick`: averaging V
 * - `broken`: the error of a replicate is not finite
 * - `exact`: no error but float32 rounding
 * - `unusable`: denominators change sign, and the error is above that of averaging V
 * - `worse`, `better`: than averaging V, by the medians
 */
export type Standing = 'yardstick' | 'broken' | 'exact' | 'unusable' | 'worse' | 'better'

export function standingOf(row: CompletedSweep): Standing {
  const {means_unknown, mse_over_mean_value} = row.result
  const {median, max} = leadingError(row)
  if (row.cell.method === YARDSTICK) return 'yardstick'
  if (median === null || max === null) return 'broken'
  if (isRounding(row)) return 'exact'
  const isWorse = isWorseThanAverage(row) || (mse_over_mean_value === null && median > 1)
  if (!isWorse) return 'better'
  return means_unknown === 'sign_changes' ? 'unusable' : 'worse'
}

/** Whether a row that counts as broken is so because exact attention is zero: its outputs are finite, its error is not. */
export function isOfZero({result: {mse, not_finite_pct, rel_l2}}: CompletedSweep): boolean {
  return rel_l2.min === null && not_finite_pct.max === 0 && mse.max !== null
}

export function byStanding(
  rows: readonly CompletedSweep[],
): Readonly<Record<Standing, readonly CompletedSweep[]>> {
  const of = (standing: Standing) => rows.filter(row => standingOf(row) === standing)
  return {
    yardstick: of('yardstick'),
    broken: of('broken'),
    exact: of('exact'),
    unusable: of('unusable'),
    worse: of('worse'),
    better: of('better'),
  }
}

/** From the lowest error to the highest. */
export function byError(rows: readonly CompletedSweep[]): CompletedSweep[] {
  return rows.toSorted((a, b) => errorOf(a) - errorOf(b))
}

/** Their methods, each once. */
export function methodsOf(rows: readonly CompletedSweep[]): string[] {
  return groupBy(rows, ({cell}) => methodLabel(cell)).map(([first]) => methodLabel(first!.cell))
}

/**
 * rel L2 of averaging V: measured, or from its mean squared error, as both go by the norm of the exact output.
 *
 * @param rows - of one table
 * @returns `undefined` where no row says so; 0 where V hardly varies
 */
export function averageError(rows: readonly CompletedSweep[]): number | undefined {
  const yardstick = rows.find(row => standingOf(row) === 'yardstick')
  const measured = yardstick && leadingError(yardstick).median
  if (measured !== undefined && measured !== null) return measured
  for (const {result} of rows) {
    const {mean_value_mse, mse, rel_l2, mse_over_mean_value} = result
    if (mse.min && rel_l2.min) {
      return mse_over_mean_value === null ? 0 : rel_l2.min * Math.sqrt(mean_value_mse / mse.min)
    }
  }
  return undefined
}

/**
 * Whether rows say nothing of how methods compare: averaging V is close to exact attention, too, so that hardly anything is left
 * for attention to do.
 *
 * @param rows - of one table
 */
export function tellsNothing(rows: readonly CompletedSweep[]): boolean {
  const average = averageError(rows)
  return average !== undefined && average <= CLOSE
}

/** The stars of rel L2. @param rankings - of all rows of the table */
export function lowestError(rankings: readonly Ranking[]): BestRule<CompletedSweep> {
  return () => {
    const told = rankings.filter(({rows}) => !tellsNothing(rows))
    if (told.length === 0 && rankings.length > 0) {
      return {rows: new Set(), what: 'rel L2', how: 'averaging V is within 5 %, too'}
    }
    const rows = new Set(told.flatMap(({front}) => [...front]))
    const compared = howCompared(told)
    const competing = told.flatMap(ranking => ranking.competing)
    if (rows.size > 0) {
      const how = `ties included (${compared}); never on a row worse than averaging V`
      return {rows, what: `lowest rel L2 ${scopeOf(competing)}`, how}
    }
    if (competing.length > 1) {
      const few = rankings.some(({basis}) => basis === 'few_draws')
      const how = few ? `tests need ${LEAST_FOR_FLIPS} draws` : `no two rows differ (${compared})`
      return {rows, what: 'rel L2', how}
    }
    const worse = rankings.some(ranking => ranking.rows.some(isWorseThanAverage))
    return worse
      ? {rows, what: 'rel L2', how: 'no row with features is better than averaging V'}
      : undefined
  }
}

/** What a row is the lowest of. */
function scopeOf(rows: readonly CompletedSweep[]): string {
  const layer = new Set(rows.map(({cell}) => cell.layer)).size > 1 ? 'of its layer ' : ''
  const sizes = new Set(rows.map(row => sizeOf(row)!.name))
  return `${layer}with at most its ${sizes.size > 1 ? 'F (or M where there is no F)' : [...sizes].join()}`
}

/** How rows are compared, in words. */
function howCompared(rankings: readonly Ranking[]): string {
  const equal = 'differences below 1 % are equal'
  if (!rankings.some(({competing}) => competing.some(isDrawn))) return equal
  const tested = rankings.every(({basis}) => basis === 'tests')
  return `${tested ? 'paired tests' : '95 % intervals of ratios'}; ${equal}`
}
