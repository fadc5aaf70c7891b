/** What the input norms say about the features a method would need: one line per method. */
import type {CompletedSweep} from './error-sweep-columns.js'
import {groupBy, methodLabel} from './labels.js'
import {significant} from './numbers.js'

interface HeadNeed {
  head: number
  /** Features for a relative kernel variance of 1; infinite where no double can hold it. */
  features: number
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
    if (!best || !worst || worst.features <= featuresOf(record)) return []
    return [sentence(record, best, worst)]
  })
}

function sentence(record: CompletedSweep, best: HeadNeed, worst: HeadNeed): string {
  const budget = featuresOf(record)
  const heads =
    best.head === worst.head
      ? ''
      : ` (head ${worst.head}; head ${best.head}: ${count(best.features)})`
  return `${methodLabel(record.cell)} needs ${count(worst.features)} features${heads} for a relative kernel variance of 1, the largest M here is ${budget}`
}

/** Heads with a prediction, from the one that needs least to the one that needs most. */
function headNeeds({result}: CompletedSweep): HeadNeed[] {
  const predicted = result.per_head.some(head => head.needed_num_features !== null)
  if (!predicted) return []
  return result.per_head
    .map(({head, needed_num_features}) => ({head, features: needed_num_features ?? Infinity}))
    .sort((a, b) => (a.features === b.features ? a.head - b.head : a.features - b.features))
}

function featuresOf({cell}: CompletedSweep): number {
  return cell.num_features ?? 0
}

function count(features: number): string {
  return Number.isFinite(features) ? `about ${significant(features, 2)}` : 'more than 1e308'
}
