/** What theory says about the features that a method would need, and where rounding decides: a line each per method. */

import {groupBy} from '../../../report/groups.js'
import {roundNumber, significant} from '../../../report/numbers.js'
import {methodLabel} from '../../labels.js'
import {UNKNOWN_BECAUSE} from '../curve.js'
import type {CompletedSweep} from '../schema.js'

interface HeadNeed {
  head: number
  /** Decimal logarithm of the features that it needs; infinite where a record says no more than that they are too many. */
  log10: number
}

/** What features are wanted for, in words, and what a head needs that needs too many to say. */
interface Wanted {
  what: string
  tooMany: string
}

const ERROR: Wanted = {what: 'an error of 5 %', tooMany: 'more than 16 million'}
const VARIANCE: Wanted = {what: 'a relative kernel variance of 1', tooMany: 'more than 1e308'}

/**
 * Warns for each method that needs more features than any cell had: for an error of 5 % in all heads together where the
 * error is predicted, else for a relative kernel variance of 1 in every head. Says where either is not known, and why.
 *
 * @param records - completed cells of one input, length and scale
 * @returns one sentence per method, naming its worst and its best head
 */
export function sweepWarnings(records: readonly CompletedSweep[]): string[] {
  const overflowing = records.find(({result}) => result.prediction_unknown === 'overflow')
  if (overflowing) return [overflowWarning(overflowing)]
  return groupBy(records, ({cell}) => methodLabel(cell)).flatMap(group => {
    const predicted = group.filter(({result}) => isPredicted(result))
    const needs = predicted.length > 0 ? errorWarning(predicted) : varianceWarning(group)
    return [...roundingWarning(group), ...needs]
  })
}

/** Deviation of sums of weights from 1 at which rounding is no detail any more. */
const MOST_ROUNDING = 0.01

/**
 * Warns where float32 rounding decides on outputs: weights that nothing is added to sum to 1 but for rounding, which grows as
 * their signed terms cancel.
 */
function roundingWarning(records: readonly CompletedSweep[]): string[] {
  const deviations = records
    .filter(sumsToOne)
    .map(({result}) => result.row_sum_deviation.median ?? 0)
  const largest = Math.max(0, ...deviations)
  if (largest <= MOST_ROUNDING) return []
  const {cell} = records[0]!
  const sums = `sums of weights, which are 1 but for rounding, are off by ${significant(largest)}`
  return [
    `${methodLabel(cell)}: float32 rounding decides on these outputs, and another backend has others (${sums}); try smaller queries and keys (\`scales\`), or favor-pos, where nothing cancels`,
  ]
}

/** Whether the weights of a method are of both signs and divided by their sum as it is. */
function sumsToOne({cell, result}: CompletedSweep): boolean {
  const {negative_denominators_pct: negative, guarded_pct: guarded} = result
  const isPlain = cell.preset === 'exact' && !('normalizerEpsilon' in cell.options)
  return isPlain && (negative.max ?? 0) > 0 && guarded.max === 0
}

/** Whether theory has an error for it, known or not. */
function isPredicted({predicted_rel_l2, prediction_unknown}: CompletedSweep['result']): boolean {
  return predicted_rel_l2 !== null || prediction_unknown !== null
}

/** The factor that brings the mean |x+y|^2 of inputs down to one is named by its power of ten. */
function overflowWarning({cell, result: {statistics}}: CompletedSweep): string {
  const power = Math.floor(Math.log10(cell.scale) - Math.log10(statistics.sum_norm2) / 2)
  return [
    `logits overflow float32: the mean of |x+y|^2 is ${significant(statistics.sum_norm2)},`,
    `and float32 has only every other integer above 2^24. No error is predicted; try --scales 1e${power}`,
  ].join(' ')
}

function errorWarning(records: readonly CompletedSweep[]): string[] {
  const record = withMostFeatures(records)
  const {predicted_rel_l2, num_features_for_5_percent: need, rel_l2} = record.result
  const budget = featuresOf(record)
  const predicted = predicted_rel_l2 === null ? [] : [`predicted ${significant(predicted_rel_l2)}`]
  const errors = [`at M=${budget} rel L2 is ${significant(rel_l2.median)}`, ...predicted].join(', ')
  if (record.result.prediction_unknown) {
    return [
      `the M that ${methodLabel(record.cell)} needs for ${ERROR.what} is not known, as ${UNKNOWN_BECAUSE.uncertain}; ${errors}`,
    ]
  }
  const overall = log10Of(need)
  if (overall <= Math.log10(budget)) return []
  // heads are named where all are known: the worst one may be the one that is not
  const isKnown = record.result.per_head.every(({prediction_unknown}) => !prediction_unknown)
  const heads = isKnown ? record.result.per_head : []
  const inTurn = inOrder(
    heads.map(({head, num_features_for_5_percent: own}) => ({head, log10: log10Of(own)})),
  )
  return [`${needs(record, overall, inTurn, ERROR)}; ${errors}`]
}

function log10Of(need: number | null): number {
  return need === null ? Number.POSITIVE_INFINITY : Math.log10(need)
}

function varianceWarning(records: readonly CompletedSweep[]): string[] {
  const record = withMostFeatures(records)
  const heads = varianceNeeds(record)
  const worst = heads.at(-1)
  if (!worst || worst.log10 <= Math.log10(featuresOf(record))) return []
  return [
    `${needs(record, worst.log10, heads, VARIANCE)}, the largest M here is ${featuresOf(record)}`,
  ]
}

/** @param heads - from the one that needs least to the one that needs most */
function needs(
  {cell}: CompletedSweep,
  overall: number,
  heads: readonly HeadNeed[],
  wanted: Wanted,
): string {
  const own = extremes(heads, wanted)
  return `${methodLabel(cell)} needs ${count(overall, wanted)} features${own} for ${wanted.what}`
}

/** The heads that need most and least, in brackets, where there are two. */
function extremes(heads: readonly HeadNeed[], wanted: Wanted): string {
  const [best, worst] = [heads[0], heads.at(-1)]
  if (!best || !worst || best.head === worst.head) return ''
  const named =
    wanted === ERROR
      ? `most in head ${worst.head}: ${count(worst.log10, wanted)}`
      : `head ${worst.head}`
  return ` (${named}; least in head ${best.head}: ${count(best.log10, wanted)})`
}

/** Heads whose kernel variance is predicted. */
function varianceNeeds({result}: CompletedSweep): HeadNeed[] {
  const predicted = result.per_head.some(head => head.needed_num_features_log10 !== null)
  if (!predicted) return []
  return inOrder(
    result.per_head.map(({head, needed_num_features_log10}) => ({
      head,
      log10: needed_num_features_log10 ?? Number.POSITIVE_INFINITY,
    })),
  )
}

/** From the one that needs least to the one that needs most. */
function inOrder(heads: readonly HeadNeed[]): HeadNeed[] {
  return heads.toSorted((a, b) => (a.log10 === b.log10 ? a.head - b.head : a.log10 - b.log10))
}

function withMostFeatures(records: readonly CompletedSweep[]): CompletedSweep {
  return records.reduce((a, b) => (featuresOf(b) > featuresOf(a) ? b : a))
}

function featuresOf({cell}: CompletedSweep): number {
  return cell.num_features ?? 0
}

/** `about 25,000`, `about 1e41`. */
function count(log10: number, {tooMany}: Wanted): string {
  return log10 === Number.POSITIVE_INFINITY ? tooMany : `about ${roundNumber(log10)}`
}
