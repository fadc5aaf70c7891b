/** What an error sweep found, as the first screen of a report tells it. */
import {groupBy} from '../../../report/groups.js'
import {plural, roundNumber, withInterval} from '../../../report/numbers.js'
import {listed} from '../../../report/words.js'
import {inputLabel, methodLabel, projectionLabel, variantLabel} from '../../labels.js'
import type {CompletedSweep, ErrorSweepRecord} from '../schema.js'
import {rankingsOf} from './ranking.js'

/** Sections that sentences tell; tables have them all. */
const MOST_SECTIONS = 4

/** One or two sentences for each input, length, scale and causality. */
export function errorSweepHighlights(records: readonly ErrorSweepRecord[]): string[] {
  const raw = records.filter(
    (record): record is CompletedSweep =>
      record.status === 'completed' && record.cell.target === 'raw',
  )
  const sections = groupBy(raw, ({cell: {input, seq_len, scale, logit_scale, causal, layer}}) =>
    JSON.stringify([input, seq_len, scale, logit_scale, causal, layer]),
  )
  return sections
    .slice(0, MOST_SECTIONS)
    .flatMap(rows => [...lowestError(rows), ...featuresNeeded(rows)])
}

/** The lowest of the rows with a star, or where there is none that all tie, and how many tie with it. */
function lowestError(rows: readonly CompletedSweep[]): string[] {
  return rankingsOf(rows).flatMap(({front, competing, compare}) => {
    const marked = front.size > 0 ? [...front] : competing
    const [best, ...others] = marked.toSorted((a, b) => errorOf(a) - errorOf(b))
    if (!best || competing.length < 2) return []
    const {median, low, high} = best.result.rel_l2
    const ties = others.filter(row => compare(best, row).answer !== 'less').length
    const tied = ties === 0 ? '' : `, not distinguishable from ${plural(ties, 'other row')}`
    return [
      `${placeOf(best)} the lowest relative error is ${withInterval(median, low, high)}, of ${variantLabel(best.cell)}${tied}.`,
    ]
  })
}

/** How many features a relative error of 5 % takes: all variants that theory can tell of, the fewest first. */
function featuresNeeded(rows: readonly CompletedSweep[]): string[] {
  const variants = groupBy(rows, ({cell}) => `${methodLabel(cell)} ${projectionLabel(cell)}`)
  const needs = variants.flatMap(own => {
    const largest = own.reduce((a, b) =>
      (b.cell.num_features ?? 0) > (a.cell.num_features ?? 0) ? b : a,
    )
    const count = largest.result.num_features_for_5_percent
    return count === null ? [] : [{name: nameOf(largest), count}]
  })
  if (needs.length === 0) return []
  const told = needs
    .toSorted((a, b) => a.count - b.count)
    .map(({name, count}) => `${name} about ${roundNumber(Math.log10(count))}`)
  return [`${placeOf(rows[0]!)} a relative error of 5 % takes so many features: ${listed(told)}.`]
}

function nameOf({cell}: CompletedSweep): string {
  const drawn = projectionLabel(cell)
  return drawn === null ? methodLabel(cell) : `${methodLabel(cell)} ${drawn}`
}

function errorOf({result}: CompletedSweep): number {
  return result.rel_l2.median ?? Number.POSITIVE_INFINITY
}

function placeOf({cell, result}: CompletedSweep): string {
  const layer = cell.layer === undefined ? '' : `, layer ${cell.layer}`
  const scale = cell.scale === 1 ? '' : `, q and k times ${cell.scale}`
  return `On ${inputLabel(cell.input)}${layer} at ${result.query_len} tokens${scale}`
}
