/** Figures of a swap: damage over M, hidden states through the layers, both by position, and layers one at a time. */
import {type ColumnSpec, table} from '../../../report/document.js'
import type {Figure, Series} from '../../../report/figures/figure.js'
import {groupBy} from '../../../report/groups.js'
import {significant} from '../../../report/numbers.js'
import {methodLabel, projectionLabel, variantLabel} from '../../labels.js'
import {layersText} from '../../layers-text.js'
import type {CompletedSwap, SwapRecord} from '../schema.js'
import {damageOf, interval, isAverage, withoutExact} from './damage.js'
import {damageOverErrors} from './error-figure.js'
import {positionFigures} from './positions.js'
import {isOneByOne, sensitivityFigures} from './sensitivity.js'

const MOST_SETS = 4

/** A heat map of single layers, or four figures for each set of layers; damage over errors of attention first. */
export function swapFigures(records: readonly SwapRecord[]): Figure[] {
  const rows = records.filter(record => record.status === 'completed')
  const [first] = rows
  if (!first) return []
  if (first.cell.budget !== undefined) return sensitivityFigures(rows)
  return [...damageOverErrors(rows), ...effectFigures(rows)]
}

function effectFigures(rows: readonly CompletedSwap[]): Figure[] {
  if (isOneByOne(rows)) return sensitivityFigures(rows)
  return groupBy(rows, ({cell}) => cell.layers.join())
    .slice(0, MOST_SETS)
    .flatMap(own => [damageFigure(own), depthFigure(own), ...positionFigures(own)])
}

function damageFigure(all: readonly CompletedSwap[]): Figure {
  const rows = withoutExact(all)
  const first = rows[0]!
  const {axis} = damageOf(first)
  const where = layersText(first.cell.layers, first.result.model_layers)
  const drawn = rows.filter(({cell}) => cell.num_features !== null)
  const spans = drawn.map(({cell}) => cell.num_features!)
  const others = rows.filter(({cell}) => cell.num_features === null)
  return {
    name: 'damage-over-features',
    title: `What exchanged attention does to the model, ${where}`,
    caption: `${axis}, over the number of random vectors; bars are 95 % intervals over texts and draws.`,
    x: {label: 'M, random vectors', scale: 'log'},
    y: {label: axis, scale: 'log'},
    series: groupBy(drawn, ({cell}) => `${methodLabel(cell)} ${projectionLabel(cell)}`).map(own =>
      seriesOf(own, row => row.cell.num_features!),
    ),
    guides: others.flatMap(row => {
      const {mean} = damageOf(row).effect
      if (mean === null || spans.length === 0) return []
      const label = isAverage(row) ? 'averaging V' : methodLabel(row.cell)
      const ends = [Math.min(...spans), Math.max(...spans)]
      return [{label, points: ends.map(x => [x, mean] as const)}]
    }),
    table: table(COLUMNS, rows),
  }
}

function seriesOf(rows: readonly CompletedSwap[], x: (row: CompletedSwap) => number): Series {
  const {cell} = rows[0]!
  const projection = projectionLabel(cell)
  return {
    label: [methodLabel(cell), ...(projection === null ? [] : [projection])].join(' '),
    method: cell.method,
    projection: cell.projection,
    points: rows
      .flatMap(row => {
        const {effect, text} = damageOf(row)
        if (effect.mean === null) return []
        const facts = [variantLabel(row.cell), text]
        return [{x: x(row), y: effect.mean, low: effect.low, high: effect.high, facts}]
      })
      .toSorted((a, b) => a.x - b.x),
  }
}

function depthFigure(all: readonly CompletedSwap[]): Figure {
  const rows = withoutExact(all)
  const first = rows[0]!
  const where = layersText(first.cell.layers, first.result.model_layers)
  return {
    name: 'hidden-error-over-layers',
    title: `Error of hidden states through the layers, ${where}`,
    caption:
      'Relative L2 error of the output of each layer against the original, all tokens together, root mean square over draws.',
    x: {label: 'layer', scale: 'linear'},
    y: {label: 'error of hidden states', scale: 'log'},
    series: rows.map(({cell, result}) => ({
      label: variantLabel(cell),
      method: cell.method,
      projection: cell.projection,
      points: result.hidden_error.flatMap((error, layer) =>
        error === null ? [] : [{x: layer, y: error, facts: [`layer ${layer}`, significant(error)]}],
      ),
    })),
    guides: [],
    table: table(COLUMNS, rows),
  }
}

const COLUMNS: readonly ColumnSpec<CompletedSwap>[] = [
  {title: 'method', align: 'left', cell: ({cell}) => variantLabel(cell)},
  {title: 'damage', cell: row => interval(damageOf(row).effect)},
]
