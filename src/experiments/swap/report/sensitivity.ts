/** What each layer loses by itself: a table of layers, and a heat map. */
import {type ColumnSpec, type TableBlock, table} from '../../../report/document.js'
import type {Figure, Point} from '../../../report/figures/figure.js'
import {groupBy} from '../../../report/groups.js'
import {MISSING} from '../../../report/numbers.js'
import {mean} from '../../../stats/index.js'
import {variantLabel} from '../../labels.js'
import type {CompletedSwap, Effect} from '../schema.js'
import {damageOf, interval, isEstimate, isExact, two} from './damage.js'

interface LayerLoss {
  row: CompletedSwap
  layer: number
  loss: Effect
}

/** Columns that a narrow terminal keeps. */
const KEPT = 3

/** Whether layers were exchanged one at a time. */
export function isOneByOne(rows: readonly CompletedSwap[]): boolean {
  const sets = new Set(rows.map(({cell}) => cell.layers.join()))
  return sets.size > 1 && rows.every(({cell}) => cell.layers.length === 1)
}

/** Losses of single layers: of rows with one layer, and of searches for a budget. */
function layerLosses(rows: readonly CompletedSwap[]): LayerLoss[] {
  return rows.flatMap(row => {
    const {cell, result} = row
    const alone = result.tried_sets.filter(({set}) => set.length === 1)
    if (cell.budget !== undefined) return alone.map(({set, loss}) => ({row, layer: set[0]!, loss}))
    const [layer] = cell.layers
    return cell.layers.length === 1 ? [{row, layer: layer!, loss: damageOf(row).effect}] : []
  })
}

/**
 * A row for each variant, a column for each layer.
 *
 * @param most - rows of a first screen, which has means alone, and in a narrow terminal the most sensitive layers. Default: all rows
 *   and layers, with intervals
 */
export function sensitivityTable(rows: readonly CompletedSwap[], most?: number): TableBlock {
  const losses = layerLosses(rows)
  const layers = layersOf(losses)
  const ranked = layers.toSorted((a, b) => sensitivity(losses, b) - sensitivity(losses, a))
  const priority = (layer: number) => Math.max(0, ranked.indexOf(layer) - KEPT)
  return table<LayerLoss[]>(
    [
      {
        title: `${damageOf(rows[0]!).title} of layer`,
        align: 'left',
        cell: ([first]) => variantLabel(first!.row.cell),
      },
      ...layers.map(
        (layer): ColumnSpec<LayerLoss[]> => ({
          title: String(layer),
          ...(most !== undefined && {priority: priority(layer)}),
          cell: own => {
            const found = own.find(loss => loss.layer === layer)
            if (!found) return MISSING
            return most === undefined ? interval(found.loss) : two(found.loss.mean)
          },
        }),
      ),
    ],
    groupBy(losses, ({row}) => variantLabel(row.cell)).slice(0, most),
  )
}

/** Mean loss of a layer, over methods that estimate. */
function sensitivity(losses: readonly LayerLoss[], layer: number): number {
  const own = losses.filter(loss => loss.layer === layer && isEstimate(loss.row))
  return own.length > 0 ? mean(own.map(({loss}) => loss.mean ?? 0)) : 0
}

function layersOf(losses: readonly LayerLoss[]): number[] {
  return [...new Set(losses.map(({layer}) => layer))].toSorted((a, b) => a - b)
}

/** A heat map of layers and variants; none of a single layer. */
export function sensitivityFigures(rows: readonly CompletedSwap[]): Figure[] {
  const losses = layerLosses(rows.filter(row => !isExact(row)))
  const layers = layersOf(losses)
  const variants = [...new Set(losses.map(({row}) => variantLabel(row.cell)))]
  const points = losses.flatMap(({row, layer, loss}): Point[] => {
    const variant = variantLabel(row.cell)
    if (loss.mean === null || !(loss.mean > 0)) return []
    const facts = [`layer ${layer}`, variant, `${damageOf(row).title}: ${interval(loss)}`]
    return [{x: variants.indexOf(variant), y: layers.indexOf(layer), value: loss.mean, facts}]
  })
  if (layers.length < 2 || points.length === 0) return []
  const {axis} = damageOf(rows[0]!)
  const {method} = rows[0]!.cell
  return [
    {
      name: 'damage-by-layer',
      title: 'What exchanged attention does to the model, one layer at a time',
      caption: `${axis}; darker is larger. A layer without a tile loses nothing.`,
      x: {label: 'variant', scale: 'linear', names: variants},
      y: {label: 'layer', scale: 'linear', names: layers.map(layer => `layer ${layer}`)},
      shade: {label: axis, scale: 'log'},
      series: [{label: '', method, projection: null, points, joined: false}],
      guides: [],
      table: sensitivityTable(rows),
    },
  ]
}
