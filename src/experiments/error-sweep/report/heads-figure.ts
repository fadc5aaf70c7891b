/** Errors of the heads of a file as tiles. */
import {table} from '../../../report/document.js'
import type {Figure, Point} from '../../../report/figures/figure.js'
import {groupBy} from '../../../report/groups.js'
import {significant} from '../../../report/numbers.js'
import {inputsLabel, variantLabel} from '../../labels.js'
import {headsOf} from '../heavy-lists.js'
import type {CompletedSweep} from '../schema.js'
import {atLargestFeatures, sourceOf} from './sections.js'

/** Tiles in a row and rows that can be read; beyond them tables are better. */
const [MOST_VARIANTS, MOST_HEADS] = [16, 64]

/** Facts of a cell that are the same all over a figure. */
const SHARED = ['seq_len', 'scale', 'logit_scale', 'causal', 'target'] as const

/** A row of tiles: a head, and where the file has several its layer. */
interface Head {
  layer: number | undefined
  head: number
}

/** One figure for each way of reading a file of several heads, at the most features of each method. */
export function headsFigures(all: readonly CompletedSweep[]): Figure[] {
  const ofFiles = all.filter(({cell}) => cell.input.kind !== 'generator')
  const groups = groupBy(ofFiles, ({cell}) =>
    JSON.stringify([sourceOf(cell), ...SHARED.map(field => cell[field])]),
  )
  return groups.flatMap(group => figureOf(atLargestFeatures(group)))
}

function figureOf(records: readonly CompletedSweep[]): Figure[] {
  const variants = [...new Set(records.map(({cell}) => variantLabel(cell)))]
  const heads = rowsOfTiles(records)
  const fits = variants.length <= MOST_VARIANTS && heads.length <= MOST_HEADS
  if (!fits || heads.length < 2) return []
  const nameOf = (row: Head) => headName(row, heads)
  const names = heads.map(nameOf)
  const tiles = records.flatMap(record =>
    tilesOf(record, variants, row => names.indexOf(nameOf(row))),
  )
  if (tiles.length === 0) return []
  const [{cell}] = records as readonly [CompletedSweep]
  return [
    {
      name: 'error-by-head',
      title: `Error of each head, ${inputsLabel(records.map(one => one.cell.input))}, L=${records[0]!.result.query_len}${cell.causal ? ', causal' : ''}${cell.target === 'raw' ? '' : ', against what each converges to'}`,
      caption:
        'Median over draws of |estimate - exact| / |exact| (rel L2), at the most features of each method; darker is larger.',
      x: {label: 'variant', scale: 'linear', names: variants},
      y: {label: 'head', scale: 'linear', names},
      shade: {label: 'error, % of the exact output', scale: 'log', percent: true},
      series: [{label: '', method: cell.method, projection: null, points: tiles, joined: false}],
      guides: [],
      table: table(
        [
          {title: 'head', align: 'left', cell: ([name]) => name!},
          ...variants.map((title, at) => ({
            title,
            cell: (row: readonly string[]) => row[at + 1]!,
          })),
        ],
        rowsOf(names, variants, tiles),
      ),
    },
  ]
}

function rowsOfTiles(records: readonly CompletedSweep[]): Head[] {
  const all = records.flatMap(record =>
    headsOf(record).map(({head}) => ({layer: record.cell.layer, head})),
  )
  const once = new Map(all.map(row => [JSON.stringify(row), row]))
  return [...once.values()].toSorted((a, b) => (a.layer ?? 0) - (b.layer ?? 0) || a.head - b.head)
}

function headName({layer, head}: Head, all: readonly Head[]): string {
  const layers = new Set(all.map(row => row.layer))
  return layers.size > 1 ? `layer ${layer} head ${head}` : `head ${head}`
}

function tilesOf(
  record: CompletedSweep,
  variants: readonly string[],
  placeOf: (row: Head) => number,
): Point[] {
  const {cell} = record
  const variant = variantLabel(cell)
  return headsOf(record).flatMap(({head, rel_l2}) => {
    if (rel_l2 === null || !(rel_l2 > 0)) return []
    const y = placeOf({layer: cell.layer, head})
    const facts = [`head ${head}`, variant, `rel L2: ${significant(rel_l2)}`]
    return [{x: variants.indexOf(variant), y, value: rel_l2, facts}]
  })
}

function rowsOf(names: readonly string[], variants: readonly string[], tiles: readonly Point[]) {
  return names.map((name, y) => [
    name,
    ...variants.map((_, x) => significant(tiles.find(tile => tile.x === x && tile.y === y)?.value)),
  ])
}
