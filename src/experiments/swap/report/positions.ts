/** Effects by position in a text: tables and figures. */
import {type Block, type ColumnSpec, heading, table} from '../../../report/document.js'
import type {Figure, Point} from '../../../report/figures/figure.js'
import {groupBy} from '../../../report/groups.js'
import {MISSING} from '../../../report/numbers.js'
import {methodLabel, projectionLabel, variantLabel} from '../../labels.js'
import {layersText} from '../../layers-text.js'
import type {CompletedSwap, SwapResult} from '../schema.js'
import {damageOf, exchangedLayers, interval, two, withoutExact} from './damage.js'

type Bin = SwapResult['positions'][number]

/** Tables of the details: damage of a causal model, and error of hidden states. */
export function positionTables(rows: readonly CompletedSwap[]): Block[] {
  const bins = binsOf(rows)
  if (bins.length === 0) return []
  const {axis} = damageOf(rows[0]!)
  const causal = rows.some(({result}) => result.causal_effects !== null)
  return [
    ...(causal
      ? [
          heading(3, `Damage by position in a text, ${axis}`),
          table(
            columns(bins, ({nats_added}) => (nats_added ? interval(nats_added) : MISSING)),
            rows,
          ),
        ]
      : []),
    heading(3, 'Error of last hidden states by position in a text, % of the original'),
    table(columns(bins, percent), rows),
  ]
}

function binsOf(rows: readonly CompletedSwap[]): readonly Bin[] {
  const lists = rows.map(({result}) => result.positions)
  return lists.toSorted((a, b) => b.length - a.length)[0] ?? []
}

/** What a row is of. */
export const ROW_NAMES: readonly ColumnSpec<CompletedSwap>[] = [
  {title: 'method', align: 'left', cell: ({cell}) => variantLabel(cell)},
  {
    title: 'exchanged',
    align: 'left',
    cell: row => layersText(exchangedLayers(row), row.result.model_layers),
  },
]

function columns(bins: readonly Bin[], cell: (bin: Bin) => string): ColumnSpec<CompletedSwap>[] {
  return [
    ...ROW_NAMES,
    ...bins.map(
      ({first, last}, at): ColumnSpec<CompletedSwap> => ({
        title: first === last ? `${first}` : `${first}-${last}`,
        cell: ({result}) => {
          const own = result.positions[at]
          return own ? cell(own) : MISSING
        },
      }),
    ),
  ]
}

function percent({hidden_error}: Bin): string {
  return hidden_error === null ? MISSING : two(100 * hidden_error)
}

/** Damage of a causal model, and error of hidden states, over positions. */
export function positionFigures(rows: readonly CompletedSwap[]): Figure[] {
  const where = layersText(exchangedLayers(rows[0]!), rows[0]!.result.model_layers)
  const {axis} = damageOf(rows[0]!)
  const bins =
    'in bins that double in length (1, 2, 3 to 4, 5 to 8, ...), at the most features of each method'
  const damage = figureOf(rows, bin => bin.nats_added, {
    name: 'damage-over-positions',
    title: `What exchanged attention does to the model by position, ${where}`,
    caption: `${axis} over the position in a text, ${bins}; bars are 95 % intervals over texts and draws.`,
    y: {label: axis, scale: 'linear'},
  })
  const error = figureOf(rows, ({hidden_error: mean}) => ({mean, low: null, high: null}), {
    name: 'hidden-error-over-positions',
    title: `Error of last hidden states by position, ${where}`,
    caption: `Relative L2 error of the output of the last layer over the position in a text, ${bins}, root mean square over draws.`,
    y: {label: 'error of hidden states', scale: 'linear', percent: true},
  })
  return [damage, error].filter(({series}) => series.some(({points}) => points.length > 0))
}

function figureOf(
  all: readonly CompletedSwap[],
  read: (bin: Bin) => Bin['nats_added'],
  texts: Pick<Figure, 'name' | 'title' | 'caption' | 'y'>,
): Figure {
  const rows = atMostFeatures(withoutExact(all))
  const pointsOf = (bin: Bin): Point[] => {
    const effect = read(bin)
    if (effect === null || effect.mean === null) return []
    const {first, last} = bin
    const facts = [`positions ${first} to ${last}`, interval(effect)]
    return [{x: Math.sqrt(first * last), y: effect.mean, low: effect.low, high: effect.high, facts}]
  }
  return {
    ...texts,
    x: {label: 'position in the text, tokens', scale: 'log'},
    series: rows.map(({cell, result}) => ({
      label: variantLabel(cell),
      method: cell.method,
      projection: cell.projection,
      points: result.positions.flatMap(pointsOf),
    })),
    guides: [],
    table: table(
      columns(binsOf(rows), bin => {
        const effect = read(bin)
        return effect ? interval(effect) : MISSING
      }),
      rows,
    ),
  }
}

/** Of each method and projection the row with the most random vectors: others have its colour. */
function atMostFeatures(rows: readonly CompletedSwap[]): CompletedSwap[] {
  const lines = groupBy(rows, ({cell}) => `${methodLabel(cell)} ${projectionLabel(cell)}`)
  const features = ({cell}: CompletedSwap) => cell.num_features ?? 0
  return lines.map(own => own.reduce((a, b) => (features(b) > features(a) ? b : a)))
}
