/** What the input norms say about the features a method would need: one line per method. */

import {groupBy} from '../../report/groups.js'
import {roundNumber} from '../../report/numbers.js'
import {methodLabel} from '../labels.js'
import type {CompletedSweep} from './schema.js'

interface HeadNeed {
  head: number
  /**
   * Decimal logarithm of the features for a relative kernel variance of 1; infinite where a record says
   * no more than that no double can hold them.
   */
  log10: number
}

/**
 * Warns for each method whose theory asks for more features in some head than any cell had.
 *
 * @param records - completed cells of one input, length and scale
 * @returns one sentence per method, naming its worst and its best head
 */
export function sweepWarnings(records: readonly CompletedSweep[]): string[] {
  return groupBy(records, ({cell}) => methodLabel(cell)).flatMap(group => {
    const record = group.reduce((a, b) => (featuresOf(b) > featuresOf(a) ? b : a))
    const needs = headNeeds(record)
    const [best] = needs
    const worst = needs.at(-1)
    if (!best || !worst || worst.log10 <= Math.log10(featuresOf(record))) return []
    return [sentence(record, best, worst)]
  })
}

function sentence(record: CompletedSweep, best: HeadNeed, worst: HeadNeed): string {
  const budget = featuresOf(record)
  const heads =
    best.head === worst.head
      ? ''
      : ` (head ${worst.head}; least in head ${best.head}: ${count(best)})`
  return `${methodLabel(record.cell)} needs ${count(worst)} features${heads} for a relative kernel variance of 1, the largest M here is ${budget}`
}

/** Heads with a prediction, from the one that needs least to the one that needs most. */
function headNeeds({result}: CompletedSweep): HeadNeed[] {
  const predicted = result.per_head.some(head => head.needed_num_features_log10 !== null)
  if (!predicted) return []
  return result.per_head
    .map(({head, needed_num_features_log10}) => ({
      head,
      log10: needed_num_features_log10 ?? Number.POSITIVE_INFINITY,
    }))
    .sort((a, b) => (a.log10 === b.log10 ? a.head - b.head : a.log10 - b.log10))
}

function featuresOf({cell}: CompletedSweep): number {
  return cell.num_features ?? 0
}

/** `about 25,000`, `about 1e41`. */
function count({log10}: HeadNeed): string {
  return log10 === Number.POSITIVE_INFINITY ? 'more than 1e308' : `about ${roundNumber(log10)}`
}
