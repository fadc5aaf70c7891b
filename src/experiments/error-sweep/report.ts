/** The report of an error sweep: input statistics, one table per target, and what to be wary of. */

import type {InputStatistics} from '../../inputs/statistics.js'
import {type Block, type ColumnSpec, heading, list, table, text} from '../../report/document.js'
import {groupBy, inOrder} from '../../report/groups.js'
import {significant} from '../../report/numbers.js'
import {backendItems, inputLabel, methodLabel, projectionLabel, troubleItems} from '../labels.js'
import {closing} from './closing.js'
import {COLUMNS, legend, VARIANT_COLUMNS} from './columns.js'
import {inputNotes} from './input-notes.js'
import {boundsOf, orderItems} from './order.js'
import {
  type CompletedSweep,
  type ErrorSweepRecord,
  type ErrorSweepResult,
  LEAST_FOR_ERRORS,
  type MeansUnknown,
} from './schema.js'
import {sweepWarnings} from './warnings.js'

/** Blocks of a whole sweep, one section per input, length, scale and causality. */
export function errorSweepReport(records: readonly ErrorSweepRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const sections = groupBy(completed, ({cell: {input, seq_len, scale, causal}}) =>
    JSON.stringify([input, seq_len, scale, causal]),
  )
  return [
    ...sections.flatMap(section),
    ...(completed.length > 0 ? [text(legend(completed))] : []),
    ...list(backendItems(completed)),
    ...list(troubleItems(records)),
    ...closing(sections.map(own => ({title: sectionTitle(own[0]!), records: own}))),
  ]
}

/** One input at one length, scale and causality: what the input is like, then how the methods did. */
function section(records: readonly CompletedSweep[]): Block[] {
  const [first] = records
  if (!first) return []
  return [
    heading(2, sectionTitle(first)),
    ...list(inputNotes(first)),
    ...statisticsBlocks(first.result),
    ...groupBy(records, ({cell}) => cell.target).flatMap(targetBlocks),
    ...list(sweepWarnings(records)),
  ]
}

/** The facts that all cells of a section share, with the sizes that the run really had. */
function sectionTitle({cell, result}: CompletedSweep): string {
  const {batch, heads, query_len, key_len, head_dim, value_dim} = result
  const parts = [
    inputLabel(cell.input),
    `B=${batch} H=${heads} L=${query_len} S=${key_len} D=${head_dim} Dv=${value_dim}`,
    cell.causal ? 'causal' : 'bidirectional',
  ]
  if (cell.scale !== 1) parts.push(`q and k times ${significant(cell.scale)}`)
  return parts.join(', ')
}

/** A line of the statistics table: one head, or all of them. */
interface HeadRow {
  /** Index of the head, or `all` for the mean over heads. */
  head: string
  statistics: InputStatistics
}

/**
 * Norms and entropy per head. They come from the first record: every method of a section saw the
 * same arrays. With one head the line for all would only repeat it.
 */
function statisticsBlocks({per_head, statistics}: ErrorSweepResult): Block[] {
  const heads = per_head.map(({head, statistics: own}) => ({head: String(head), statistics: own}))
  const rows: HeadRow[] = heads.length > 1 ? [...heads, {head: 'all', statistics}] : heads
  const number = (title: string, read: (own: InputStatistics) => number) => ({
    title,
    cell: (row: HeadRow) => significant(read(row.statistics)),
  })
  return [
    heading(3, 'Inputs, canonical x and y (entropy of the exact rows in nats)'),
    table<HeadRow>(
      [
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
    text('Positive features want M above exp(E|x+y|^2), sin/cos features above exp(E|x-y|^2) / 2.'),
  ]
}

/** Titles by target: against which exact attention the errors below were taken. */
const TARGET_TITLES = {
  raw: 'Error against softmax of the given q and k',
  matched: 'Error against what each method converges to',
}

/**
 * The errors against one target, by method, projection and number of features, with what stands
 * out in them.
 */
function targetBlocks(records: readonly CompletedSweep[]): Block[] {
  const target = records[0]?.cell.target ?? 'raw'
  const rows = inOrder(
    records,
    [({cell}) => methodLabel(cell), ({cell}) => projectionLabel(cell) ?? ''],
    [({cell}) => cell.num_features ?? 0],
  )
  return [
    heading(3, TARGET_TITLES[target]),
    {...table(COLUMNS, rows), labels: labelCount(rows)},
    ...list(target === 'matched' ? targetItems(rows) : []),
    ...list([...worseItems(rows), ...orderItems(rows), ...unknownItems(rows)]),
    ...perHead(rows),
  ]
}

/** What each method is held against. */
function targetItems(rows: readonly CompletedSweep[]): string[] {
  const items = rows.map(({cell, result}) => `${methodLabel(cell)}: ${result.target_label}`)
  return [...new Set(items)]
}

/** Variants that averaging V beats beyond doubt even with the most features they were given, each method once. */
function worseItems(rows: readonly CompletedSweep[]): string[] {
  const worse = atLargestFeatures(rows).filter(row => leastOverYardstick(row) > 1 + TIE)
  const names = groupBy(worse, ({cell}) => `${methodLabel(cell)} ${cell.num_features}`).map(named)
  return names.length > 0 ? [`worse than averaging V: ${names.join('; ')}`] : []
}

/** The least that the ratio to averaging V may as well be. */
function leastOverYardstick(row: CompletedSweep): number {
  const {mse, mse_over_mean_value: ratio} = row.result
  const bounds = boundsOf(row, mse)
  if (ratio === null || !bounds || !mse.median) return ratio ?? 0
  return (ratio * bounds.low) / mse.median
}

/** Variants of one method at one M, by their projections: `favor-pos iid, orth M=256`. */
function named(variants: readonly CompletedSweep[]): string {
  const {cell} = variants[0]!
  const projections = variants.flatMap(variant => projectionLabel(variant.cell) ?? [])
  const features = cell.num_features === null ? [] : [`M=${cell.num_features}`]
  return [methodLabel(cell), projections.join(', '), ...features].filter(Boolean).join(' ')
}

/** What there is to say of means that are left out; few replicates are told in the legend. */
const UNKNOWN_REASONS: Partial<Record<MeansUnknown, string>> = {
  not_finite: 'an estimate is not finite',
  sign_changes: 'denominators change sign, and one near zero can make any error',
  one_draw: 'one replicate makes up more than half of the squared error',
  not_recorded: 'this run was made by a version that kept no standard errors',
}

/** Rows without means, by the reason for it. */
function unknownItems(rows: readonly CompletedSweep[]): string[] {
  const several = rows.filter(({cell}) => cell.replicates >= LEAST_FOR_ERRORS)
  return groupBy(several, ({result}) => result.means_unknown ?? '').flatMap(group => {
    const {means_unknown: unknown} = group[0]!.result
    const reason = unknown && UNKNOWN_REASONS[unknown]
    if (!reason) return []
    const names = groupBy(group, ({cell}) => `${methodLabel(cell)} ${cell.num_features}`).map(named)
    return [`no mean MSE, bias^2 or variance for ${names.join('; ')}: ${reason}`]
  })
}

/** The yardstick itself differs from 1 by float32 rounding only. */
const TIE = 2 ** -10

/** The last row of each variant: rows are sorted by M. */
function atLargestFeatures(rows: readonly CompletedSweep[]): CompletedSweep[] {
  const variants = groupBy(rows, ({cell}) =>
    JSON.stringify([methodLabel(cell), projectionLabel(cell)]),
  )
  return variants.map(variant => variant.at(-1)!)
}

/** The yardstick per head at the largest M: one head can be served well and its neighbour not at all. */
function perHead(rows: readonly CompletedSweep[]): Block[] {
  const heads = rows[0]?.result.per_head ?? []
  if (heads.length < 2) return []
  const variants = atLargestFeatures(rows)
  const share = ({result}: CompletedSweep, at: number) =>
    significant(result.per_head[at]?.mse_over_mean_value)
  const headColumn = (_: unknown, at: number): ColumnSpec<CompletedSweep> => ({
    title: `head ${heads[at]?.head}`,
    cell: row => share(row, at),
  })
  const variantColumn = (row: CompletedSweep): ColumnSpec<number> => ({
    title: variantLines(row),
    cell: at => share(row, at),
  })
  const head: ColumnSpec<number> = {title: 'head', cell: at => String(heads[at]?.head)}
  return [
    heading(3, 'MSE over that of averaging V, per head, at the largest M'),
    {
      ...table([...VARIANT_COLUMNS, ...heads.map(headColumn)], variants),
      labels: labelCount(variants),
      everything: true,
      turned: table([head, ...variants.map(variantColumn)], [...heads.keys()]),
    },
  ]
}

/** How many columns tell variants apart. */
function labelCount(rows: readonly CompletedSweep[]): number {
  return table(VARIANT_COLUMNS, rows).columns.length
}

/** What a row is of, as a title of several lines: method, projection, M. */
function variantLines({cell}: CompletedSweep): string {
  const projection = projectionLabel(cell)
  return [
    methodLabel(cell),
    ...(projection === null ? [] : [projection]),
    ...(cell.num_features === null ? [] : [`M=${cell.num_features}`]),
  ].join('\n')
}
