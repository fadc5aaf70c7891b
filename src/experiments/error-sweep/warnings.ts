/** What theory says about the features that a method would need: one line per method. */

import {groupBy} from '../../report/groups.js'
import {roundNumber, significant} from '../../report/numbers.js'
import {methodLabel} from '../labels.js'
import type {CompletedSweep} from './schema.js'

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
 * error is predicted, else for a relative kernel variance of 1 in every head.
 *
 * @param records - completed cells of one input, length and scale
 * @returns one sentence per method, naming its worst and its best head
 */
export function sweepWarnings(records: readonly CompletedSweep[]): string[] {
  return groupBy(records, ({cell}) => methodLabel(cell)).flatMap(group => {
    const predicted = group.filter(({result}) => result.predicted_rel_l2 !== null)
    return predicted.length > 0 ? errorWarning(predicted) : varianceWarning(group)
  })
}

function errorWarning(records: readonly CompletedSweep[]): string[] {
  const record = withMostFeatures(records)
  const {predicted_rel_l2, num_features_for_5_percent: need, rel_l2, per_head} = record.result
  const budget = featuresOf(record)
  const overall = need === null ? Number.POSITIVE_INFINITY : Math.log10(need)
  if (overall <= Math.log10(budget)) return []
  const heads = inOrder(
    per_head.map(({head, num_features_for_5_percent: own}) => ({
      head,
      log10: own === null ? Number.POSITIVE_INFINITY : Math.log10(own),
    })),
  )
  const errors = `at M=${budget} rel L2 is ${significant(rel_l2.median)}, predicted ${significant(predicted_rel_l2)}`
  return [`${needs(record, overall, heads, ERROR)}; ${errors}`]
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
  const [best, worst] = [heads[0]!, heads.at(-1)!]
  const named =
    wanted === ERROR
      ? `most in head ${worst.head}: ${count(worst.log10, wanted)}`
      : `head ${worst.head}`
  const own =
    best.head === worst.head
      ? ''
      : ` (${named}; least in head ${best.head}: ${count(best.log10, wanted)})`
  return `${methodLabel(cell)} needs ${count(overall, wanted)} features${own} for ${wanted.what}`
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
