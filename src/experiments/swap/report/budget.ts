/** How many layers each method may replace within a budget. */
import {reaches} from '../../../answers/index.js'
import {type Block, type ColumnSpec, table, text} from '../../../report/document.js'
import {MISSING, plural} from '../../../report/numbers.js'
import {variantLabel} from '../../labels.js'
import {layersText} from '../../layers-text.js'
import type {CompletedSwap, Effect} from '../schema.js'
import {byDamage, damageOf, exchangedLayers, interval, isAverage, isEstimate} from './damage.js'

/** Orders rows of searches: more layers first, then less damage. */
export function byLayers(a: CompletedSwap, b: CompletedSwap): number {
  return exchangedLayers(b).length - exchangedLayers(a).length || byDamage(a, b)
}

/** The method that may replace the most layers, and averaging V. */
export function budgetSentences(rows: readonly CompletedSwap[]): string[] {
  const [best] = rows.filter(isEstimate).toSorted(byLayers)
  if (!best) return ['No estimate was measured.']
  const average = rows.filter(isAverage).toSorted(byLayers)[0]
  const within = `within ${best.cell.budget} ${damageOf(best).unit}`
  const found = exchangedLayers(best).length > 0
  const answer = found
    ? `${variantLabel(best.cell)} may replace ${replaced(best)} ${within}: ${interval(damageOf(best).effect)}.`
    : `No method may replace a layer ${within}. ${leastLoss(rows)}`
  return [
    ...candidates(best),
    answer,
    ...(average ? [`Averaging V may replace ${replaced(average)}.`] : []),
    'A set counts if its whole 95 % interval is within the budget.',
  ]
}

/** Layers to choose from, where they are not all. */
function candidates({cell, result}: CompletedSwap): string[] {
  const {layers} = cell
  if (layers.length === result.model_layers) return []
  return [`Candidates are ${layersText(layers, result.model_layers)}.`]
}

/** `4 of 6 layers (0 to 2, 5)`. */
function replaced(row: CompletedSwap): string {
  const {model_layers: count} = row.result
  const layers = exchangedLayers(row)
  if (layers.length === 0) return 'none'
  if (layers.length === count) return count === 1 ? 'the only layer' : layersText(layers, count)
  return `${layers.length} of ${plural(count, 'layer')} (${numbersText(layers, count)})`
}

/** `0 to 2, 5`, `all` or `none`. */
function numbersText(layers: readonly number[], count: number): string {
  if (layers.length === 0) return 'none'
  if (layers.length === count) return 'all'
  return layersText(layers, count).replace(/^layers? /, '')
}

/** The single layer that loses least. */
function leastLoss(rows: readonly CompletedSwap[]): string {
  const single = rows
    .filter(isEstimate)
    .flatMap(row =>
      row.result.tried_sets.flatMap(({set, loss}) =>
        set.length === 1 && loss.mean !== null
          ? [{row, layer: set[0]!, loss, mean: loss.mean}]
          : [],
      ),
    )
  const [least] = single.toSorted((a, b) => a.mean - b.mean)
  if (!least) return ''
  const name = `Layer ${least.layer} with ${variantLabel(least.row.cell)}`
  return reaches(least.loss, 0)
    ? `${name} does not lose measurably, but its interval reaches beyond that: ${interval(least.loss)}.`
    : `${name} loses least: ${interval(least.loss)}.`
}

export function budgetColumns(rows: readonly CompletedSwap[]): ColumnSpec<CompletedSwap>[] {
  const ofSet = (cell: (row: CompletedSwap) => string) => (row: CompletedSwap) =>
    exchangedLayers(row).length > 0 ? cell(row) : MISSING
  return [
    {title: 'method', align: 'left', cell: ({cell}) => variantLabel(cell)},
    {
      title: 'replaces',
      cell: row => `${exchangedLayers(row).length} of ${row.result.model_layers}`,
    },
    {
      title: 'layers',
      flexible: true,
      cell: row => numbersText(exchangedLayers(row), row.result.model_layers),
    },
    {title: damageOf(rows[0]!).title, cell: ofSet(row => interval(damageOf(row).effect))},
  ]
}

/** Every set that searches have run. */
export function triedSets(rows: readonly CompletedSwap[]): Block[] {
  const tried = rows.flatMap(row => row.result.tried_sets.map(one => ({...one, row})))
  const {cell} = rows[0]!
  return [
    text(
      `Layers join in the order of their losses alone, as long as the set, run as a set, loses at most ${cell.budget} ${damageOf(rows[0]!).unit}: the upper end of its interval, or with a single text its mean. A larger set that keeps the budget may exist.`,
    ),
    table<{row: CompletedSwap; set: number[]; loss: Effect; within: boolean}>(
      [
        {title: 'method', align: 'left', cell: ({row}) => variantLabel(row.cell)},
        {
          title: 'layers',
          flexible: true,
          cell: ({row, set}) => numbersText(set, row.result.model_layers),
        },
        {title: damageOf(rows[0]!).title, cell: ({loss}) => interval(loss)},
        {title: 'within', align: 'left', cell: ({within}) => (within ? 'yes' : 'no')},
      ],
      tried,
    ),
  ]
}
