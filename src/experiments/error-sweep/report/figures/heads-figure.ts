/** Errors of the heads and of the layers of a file as tiles. */
import {table} from '../../../../report/document.js'
import type {Figure, Point} from '../../../../report/figures/figure.js'
import {groupBy} from '../../../../report/groups.js'
import {significant} from '../../../../report/numbers.js'
import {inputsLabel, variantLabel} from '../../../labels.js'
import {headsOf} from '../../heavy-lists.js'
import type {CompletedSweep} from '../../schema.js'
import {atLargestFeatures, byLayer, sourceOf} from '../groups/sections.js'

/** Tiles in a row and rows that can be read; beyond them tables are better. */
const [MOST_VARIANTS, MOST_ROWS] = [16, 64]

/** Facts of a cell that are the same all over a figure. */
const SHARED = ['seq_len', 'scale', 'logit_scale', 'causal', 'target'] as const

interface Kind {
  /** Of the figure's file. */
  name: string
  title: string
  /** Of its rows. */
  label: string
  /** Names of the rows, from top to bottom. */
  rowsOf(records: readonly CompletedSweep[]): string[]
  /** Errors of a record with the names of their rows. @param layered - whether there are several layers */
  errorsOf(record: CompletedSweep, layered: boolean): {row: string; error: number | null}[]
}

const HEADS: Kind = {
  name: 'error-by-head',
  title: 'Error of each head',
  label: 'head',
  rowsOf(records) {
    const layers = byLayer(records)
    const names = layers.flatMap(own => {
      const heads = new Set(own.flatMap(record => headsOf(record).map(({head}) => head)))
      const layer = own[0]!.cell.layer
      return [...heads].sort((a, b) => a - b).map(head => headName(layer, head, layers.length > 1))
    })
    return [...new Set(names)]
  },
  errorsOf: (record, layered) =>
    headsOf(record).map(({head, rel_l2}) => ({
      row: headName(record.cell.layer, head, layered),
      error: rel_l2,
    })),
}

const LAYERS: Kind = {
  name: 'error-by-layer',
  title: 'Error of each layer',
  label: 'layer',
  rowsOf: records => byLayer(records).flatMap(([first]) => layerName(first!)),
  errorsOf: record => [{row: layerName(record), error: record.result.rel_l2.median}],
}

function headName(layer: number | undefined, head: number, layered: boolean): string {
  return layered ? `layer ${layer} head ${head}` : `head ${head}`
}

function layerName({cell}: CompletedSweep): string {
  return `layer ${cell.layer}`
}

/** One figure for each way of reading a file of several heads, at the most features of each method. */
export function headsFigures(all: readonly CompletedSweep[]): Figure[] {
  return figuresOf(HEADS, all)
}

/** The same for each way of reading several layers. */
export function layersFigures(all: readonly CompletedSweep[]): Figure[] {
  return figuresOf(LAYERS, all)
}

function figuresOf(kind: Kind, all: readonly CompletedSweep[]): Figure[] {
  const ofFiles = all.filter(({cell}) => cell.input.kind !== 'generator')
  const groups = groupBy(ofFiles, ({cell}) =>
    JSON.stringify([sourceOf(cell), ...SHARED.map(field => cell[field])]),
  )
  return groups.flatMap(group => figureOf(kind, atLargestFeatures(group)))
}

function figureOf(kind: Kind, records: readonly CompletedSweep[]): Figure[] {
  const variants = [...new Set(records.map(({cell}) => variantLabel(cell)))]
  const names = kind.rowsOf(records)
  const fits = variants.length <= MOST_VARIANTS && names.length <= MOST_ROWS
  if (!fits || names.length < 2) return []
  const layered = byLayer(records).length > 1
  const tiles = records.flatMap(record =>
    tilesOf(kind.errorsOf(record, layered), {record, variants, names}),
  )
  if (tiles.length === 0) return []
  const [{cell}] = records as readonly [CompletedSweep]
  return [
    {
      name: kind.name,
      title: `${kind.title}, ${placeOf(records)}`,
      caption:
        'Median over draws of |estimate - exact| / |exact| (rel L2), at the most features of each method; darker is larger.',
      x: {label: 'variant', scale: 'linear', names: variants},
      y: {label: kind.label, scale: 'linear', names},
      shade: {label: 'error, % of the exact output', scale: 'log', percent: true},
      series: [{label: '', method: cell.method, projection: null, points: tiles, joined: false}],
      guides: [],
      table: table(
        [
          {title: kind.label, align: 'left', cell: ([name]) => name!},
          ...variants.map((title, at) => ({title, cell: (row: readonly string[]) => row[at + 1]!})),
        ],
        rowsOf(names, variants, tiles),
      ),
    },
  ]
}

/** What all tiles have in common, in words. */
function placeOf(records: readonly CompletedSweep[]): string {
  const {cell, result} = records[0]!
  return [
    inputsLabel(records.map(one => one.cell.input)),
    `L=${result.query_len}`,
    ...(cell.causal ? ['causal'] : []),
    ...(cell.target === 'raw' ? [] : ['from random vectors alone']),
  ].join(', ')
}

function tilesOf(
  errors: ReturnType<Kind['errorsOf']>,
  {
    record,
    variants,
    names,
  }: {record: CompletedSweep; variants: readonly string[]; names: readonly string[]},
): Point[] {
  const variant = variantLabel(record.cell)
  return errors.flatMap(({row, error}) => {
    if (error === null || !(error > 0)) return []
    const facts = [row, variant, `rel L2: ${significant(error)}`]
    return [{x: variants.indexOf(variant), y: names.indexOf(row), value: error, facts}]
  })
}

function rowsOf(names: readonly string[], variants: readonly string[], tiles: readonly Point[]) {
  return names.map((name, y) => [
    name,
    ...variants.map((_, x) => significant(tiles.find(tile => tile.x === x && tile.y === y)?.value)),
  ])
}
