/** The report of an error sweep: input statistics, one table per target, and what to be wary of. */

import type {InputStatistics} from '../../../inputs/statistics.js'
import {type Block, type ColumnSpec, heading, list, table, text} from '../../../report/document.js'
import {evenly, fairShare} from '../../../report/evenly.js'
import {significant} from '../../../report/numbers.js'
import {backendItems, methodLabel, projectionLabel, troubleItems} from '../../labels.js'
import {headsOf} from '../heavy-lists.js'
import type {CompletedSweep, ErrorSweepRecord} from '../schema.js'
import {type Ranking, rankingsOf, type Standing, standingOf} from './errors/ranking.js'
import {
  atLargestFeatures,
  byLayer,
  itemsByLayer,
  sectionsOf,
  sectionTitle,
  sorted,
} from './groups/sections.js'
import {columnsOf, legend, overAverage, variantColumns} from './tables/columns.js'
import {type Limits, limitItems, limitsOf, withoutPartner} from './tables/limits.js'
import {
  featureNotes,
  inputNotes,
  precisionNotes,
  predictionNotes,
  tableNotes,
} from './tables/notes.js'
import {pairedBlocks, pairedLegend} from './tables/paired.js'
import {positionBlocks} from './tables/positions.js'
import {rowsAskedNotes} from './tables/row-columns.js'

/** Sections that a report has, evenly chosen, and rows of all their tables of errors. */
const [MOST_SECTIONS, MOST_ROWS] = [100, 10_000]

/** Blocks of a whole sweep, one section per input, length, scale and causality; its layers are rows. */
export function errorSweepReport(records: readonly ErrorSweepRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const all = sectionsOf(completed)
  const sections = evenly(all, MOST_SECTIONS)
  const rankings = sections.map(rankingsOf)
  const tables = sections.flatMap(tablesOf)
  const lengths = tables.map(({rows}) => rows)
  const mostRows = fairShare(lengths, MOST_ROWS)
  const shown = tables.flatMap(({rows}) => evenly(sorted(rows), mostRows))
  const limits = new Map(tables.flatMap(own => [...own.limits]))
  const blocks = sections.flatMap((own, at) => section(own, {rankings: rankings[at]!, mostRows}))
  return [
    ...leftOut(sections.length, all.length),
    ...blocks,
    ...(completed.length > 0 ? [text(legend(shown, limits))] : []),
    ...pairedLegend(blocks),
    ...list([
      ...precisionNotes(completed),
      ...predictionNotes(completed),
      ...rowsAskedNotes(completed),
      ...backendItems(completed),
    ]),
    ...list(troubleItems(records)),
  ]
}

/** What is said where not all sections are shown. */
function leftOut(shown: number, all: number): Block[] {
  if (shown === all) return []
  const [own, whole] = [shown, all].map(number => number.toLocaleString('en-US'))
  return [
    text(
      `Shown are ${own} of ${whole} inputs, lengths and scales, evenly chosen. The folder of the run has all, in records.csv and its neighbours.`,
    ),
  ]
}

interface Tables {
  /** Of all rows of the section. */
  rankings: readonly Ranking[]
  mostRows: number
}

/** One input at one length, scale and causality: what the input is like, then how the methods did. */
function section(records: readonly CompletedSweep[], tables: Tables): Block[] {
  return [
    heading(2, sectionTitle(records)),
    ...list(itemsByLayer(records, ([first]) => inputNotes(first!))),
    ...statisticsBlocks(byLayer(records).map(([first]) => first!)),
    ...tablesOf(records).flatMap(own => targetBlocks(own, tables)),
    ...list(itemsByLayer(records, featureNotes)),
  ]
}

/** Titles by target: against which exact attention the errors below were taken. */
const TARGET_TITLES = {
  raw: 'Error against softmax of the given q and k',
  matched: 'Error from random vectors alone: against what each method converges to',
}

/** Rows of one table, and the same draws against what they converge to. */
interface ErrorTable {
  rows: readonly CompletedSweep[]
  limits: Limits
}

/** Errors against softmax with the limits of methods beside them; then rows that were held against these alone. */
function tablesOf(records: readonly CompletedSweep[]): ErrorTable[] {
  const raw = records.filter(({cell}) => cell.target === 'raw')
  const matched = records.filter(({cell}) => cell.target === 'matched')
  const alone = withoutPartner(matched, raw)
  return [
    {rows: raw, limits: limitsOf(matched.filter(row => !alone.includes(row)))},
    {rows: alone, limits: NO_LIMITS},
  ].filter(({rows}) => rows.length > 0)
}

const NO_LIMITS: Limits = new Map()

/** The errors against one target, by method, projection and number of features, with what stands out in them. */
function targetBlocks(own: ErrorTable, {rankings, mostRows}: Tables): Block[] {
  const {limits} = own
  const {target} = own.rows[0]!.cell
  const rows = sorted(own.rows)
  const against = (of: typeof target) =>
    rankings.filter(({rows: [first]}) => first!.cell.target === of)
  const ranked = against(target)
  const noise = atLargestFeatures(sorted([...limits.values()]))
  return [
    heading(3, TARGET_TITLES[target]),
    {...table(columnsOf(rows, ranked, limits), rows, mostRows), labels: labelCount(rows)},
    ...list(limitItems(target === 'matched' ? limitsOf(rows) : limits)),
    ...list(itemsByLayer(rows, tableNotes)),
    ...pairedBlocks(atLargestFeatures(rows), ranked),
    ...pairedBlocks(noise, against('matched'), 'noise'),
    ...perHead(rows),
    ...positionBlocks(rows),
  ]
}

/** rel L2 over that of averaging V, per head: one head can be served well and its neighbour not at all. */
function perHead(rows: readonly CompletedSweep[]): Block[] {
  const variants = atLargestFeatures(rows).filter(row => !SAY_NOTHING.has(standingOf(row)))
  const headsBy = new Map(variants.map(row => [row, headsOf(row)]))
  const heads = [...headsBy.values()].reduce(
    (longest, own) => (own.length > longest.length ? own : longest),
    [],
  )
  if (heads.length < 2) return []
  const layered = byLayer(rows).length > 1
  const share = (row: CompletedSweep, at: number) => overAverage(headsBy.get(row)?.[at])
  const headColumn = (_: unknown, at: number): ColumnSpec<CompletedSweep> => ({
    title: `head ${heads[at]?.head}`,
    cell: row => share(row, at),
  })
  const variantColumn = (row: CompletedSweep): ColumnSpec<number> => ({
    title: variantLines(row, layered),
    cell: at => share(row, at),
  })
  const head: ColumnSpec<number> = {title: 'head', cell: at => String(heads[at]?.head)}
  return [
    heading(3, 'vs mean(V) per head, at the largest M'),
    {
      ...table([...variantColumns(variants), ...heads.map(headColumn)], variants),
      labels: labelCount(variants),
      everything: true,
      turned: table([head, ...variants.map(variantColumn)], [...heads.keys()]),
    },
  ]
}

/** What has the same number in each head. */
const SAY_NOTHING: ReadonlySet<Standing> = new Set(['yardstick', 'exact'])

/** How many columns tell variants apart. */
function labelCount(rows: readonly CompletedSweep[]): number {
  return table(variantColumns(rows), rows, 1).columns.length
}

/** What a row is of, as a title of several lines: method, projection, M. */
function variantLines({cell}: CompletedSweep, layered: boolean): string {
  const projection = projectionLabel(cell)
  return [
    methodLabel(cell),
    ...(projection === null ? [] : [projection]),
    ...(cell.num_features === null ? [] : [`M=${cell.num_features}`]),
    ...(cell.layer === undefined || !layered ? [] : [`layer ${cell.layer}`]),
  ].join('\n')
}

/** A line of the statistics table: one head, or all of them. */
interface HeadRow {
  layer: number | undefined
  /** Index of the head, or `all` for the mean over heads. */
  head: string
  statistics: InputStatistics
}

/** Heads of one layer. With one head the line for all would only repeat it. */
function headRows(record: CompletedSweep): HeadRow[] {
  const {layer} = record.cell
  const {statistics} = record.result
  const heads = headsOf(record).map(({head, statistics}) => ({
    layer,
    head: String(head),
    statistics,
  }))
  return heads.length > 1 ? [...heads, {layer, head: 'all', statistics}] : heads
}

/**
 * Norms and entropy per head.
 *
 * @param firsts - the first record of each layer: every method of a section saw the same arrays
 */
function statisticsBlocks(firsts: readonly CompletedSweep[]): Block[] {
  const rows = firsts.flatMap(headRows)
  const number = (title: string, read: (own: InputStatistics) => number) => ({
    title,
    cell: (row: HeadRow) => significant(read(row.statistics)),
  })
  return [
    heading(3, 'Inputs (entropy of exact rows of weights in nats)'),
    {
      ...table<HeadRow>(
        [
          {title: 'layer', cell: ({layer}) => String(layer), tells: () => firsts.length > 1},
          {title: 'head', cell: ({head}) => head},
          number('E|x|^2', own => own.query_norm2),
          number('E|y|^2', own => own.key_norm2),
          number('E|x+y|^2', own => own.sum_norm2),
          number('E|x-y|^2', own => own.difference_norm2),
          number('entropy', own => own.entropy_nats),
          number('maximum', own => own.max_entropy_nats),
        ],
        rows,
      ),
      labels: firsts.length > 1 ? 2 : 1,
    },
    text(
      'x = q/D^(1/4), y = k/D^(1/4). Relative variance of a kernel estimate: about exp(|x+y|^2) / M with positive features, exp(|x-y|^2) / 2M with sin/cos.',
    ),
  ]
}
