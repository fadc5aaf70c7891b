/** Damage over the error of exchanged attention: whether an error says what a method does to the model. */
import {type ColumnSpec, table} from '../../../report/document.js'
import type {Figure, Point} from '../../../report/figures/figure.js'
import {groupBy} from '../../../report/groups.js'
import {MISSING, significant} from '../../../report/numbers.js'
import {spearman} from '../../../stats/index.js'
import {methodLabel, projectionLabel, variantLabel} from '../../labels.js'
import {layersText} from '../../layers-text.js'
import {ATTENTION_ERRORS, type AttentionErrorName, type CompletedSwap} from '../schema.js'
import {damageOf, isExact} from './damage.js'

/** Rows below which a rank correlation says nothing. */
const LEAST_ROWS = 6

const AXES: Record<AttentionErrorName, string> = {
  rel_l2: 'relative L2 error of attention outputs',
  token_mean_rel_l2: 'relative L2 error of the mean of attention outputs over tokens',
  residual: 'error of attention over the residual stream',
  token_mean_residual: 'error of attention over the residual stream, means over tokens',
}

/** A set of exchanged layers with its errors and its damage. */
interface Drawn {
  row: CompletedSwap
  errors: Record<AttentionErrorName, number>
  damage: number
}

/** Two figures at most: over rel L2, and over the error that orders damage best where that is another. */
export function damageOverErrors(rows: readonly CompletedSwap[]): Figure[] {
  const drawn = rows.filter(row => !isExact(row)).flatMap(row => drawnOf(row, rows))
  if (drawn.length < LEAST_ROWS) return []
  const correlation = (name: AttentionErrorName) =>
    spearman(
      drawn.map(({errors}) => errors[name]),
      drawn.map(({damage}) => damage),
    )
  const [best = 'rel_l2'] = ATTENTION_ERRORS.toSorted((a, b) => correlation(b) - correlation(a))
  return [...new Set<AttentionErrorName>(['rel_l2', best])].map(name =>
    errorFigure(drawn, name, correlation(name)),
  )
}

/** Nothing for a row without damage, or with a layer that no row of its method exchanges by itself. */
function drawnOf(row: CompletedSwap, rows: readonly CompletedSwap[]): Drawn[] {
  const damage = damageOf(row).effect.mean
  const label = variantLabel(row.cell)
  const singles = row.cell.layers.map(layer =>
    rows.find(({cell}) => cell.layers.join() === `${layer}` && variantLabel(cell) === label),
  )
  const found = singles.flatMap(single => single?.result.attention_errors ?? [])
  if (damage === null || found.length < singles.length) return []
  const errors = ATTENTION_ERRORS.map(name => {
    const squares = found.map(one => (one[name] ?? Number.NaN) ** 2)
    return [name, Math.sqrt(squares.reduce((sum, one) => sum + one, 0) / squares.length)] as const
  })
  if (!errors.every(([, error]) => Number.isFinite(error))) return []
  return [{row, damage, errors: Object.fromEntries(errors) as Drawn['errors']}]
}

function errorFigure(drawn: readonly Drawn[], name: AttentionErrorName, found: number): Figure {
  const {axis} = damageOf(drawn[0]!.row)
  const sorted = drawn.toSorted((a, b) => a.errors[name] - b.errors[name])
  return {
    name: `damage-over-${name.replaceAll('_', '-')}`,
    title: `Damage over the ${AXES[name]}`,
    caption: `${axis}, over the ${AXES[name]}, on the hidden states of the original; of several layers, root mean square. Open marks: several layers at once. Bars are 95 % intervals over texts and draws. Spearman ${significant(found, 2)} over ${drawn.length} rows.`,
    x: {label: AXES[name], scale: 'log'},
    y: {label: axis, scale: 'log'},
    series: groupBy(sorted, ({row}) => seriesKey(row)).map(own => {
      const {cell} = own[0]!.row
      const several = cell.layers.length > 1
      const label = [methodLabel(cell), projectionLabel(cell) ?? []].flat().join(' ')
      return {
        label: several ? `${label}, several layers` : label,
        method: cell.method,
        projection: cell.projection,
        joined: false,
        open: several,
        points: own.map(one => pointOf(one, name)),
      }
    }),
    guides: [],
    table: table(COLUMNS, sorted),
  }
}

function seriesKey({cell}: CompletedSwap): string {
  return `${methodLabel(cell)} ${cell.projection} ${cell.layers.length > 1}`
}

function pointOf({row, errors, damage}: Drawn, name: AttentionErrorName): Point {
  const {effect, text} = damageOf(row)
  const where = layersText(row.cell.layers, row.result.model_layers)
  const facts = [variantLabel(row.cell), where, significant(errors[name]), text]
  return {x: errors[name], y: damage, low: effect.low, high: effect.high, facts}
}

const COLUMNS: readonly ColumnSpec<Drawn>[] = [
  {title: 'method', align: 'left', cell: ({row}) => variantLabel(row.cell)},
  {
    title: 'layers',
    align: 'left',
    cell: ({row}) => layersText(row.cell.layers, row.result.model_layers),
  },
  ...ATTENTION_ERRORS.map(
    (name): ColumnSpec<Drawn> => ({
      title: name,
      cell: ({errors}) => (Number.isFinite(errors[name]) ? significant(errors[name]) : MISSING),
    }),
  ),
  {title: 'damage', cell: ({damage}) => significant(damage)},
]
