/** The report of an error sweep: input statistics, one table per target, and what to be wary of. */

import {type Block, type ColumnSpec, heading, list, table, text} from '../../../report/document.js'
import {evenly, fairShare} from '../../../report/evenly.js'
import {spanOf} from '../../../report/groups.js'
import {groupBy, inOrder} from '../../../report/groups.js'
import {plural, significant} from '../../../report/numbers.js'
import type {Verdict} from '../../../results/verdict.js'
import {LEAST_FOR_INTERVAL} from '../../../stats/index.js'
import {backendItems, methodLabel, projectionLabel, troubleItems} from '../../labels.js'
import {
  type CompletedSweep,
  type ErrorSweepRecord,
  LEAST_FOR_ERRORS,
  type MeansUnknown,
  replicatesOf,
} from '../schema.js'
import {columnsOf, legend, variantColumns} from './columns.js'
import {EQUAL, isDrawn} from './comparison.js'
import {inputNotes} from './input-notes.js'
import {byLayer, itemsByLayer} from './layers.js'
import {closing} from './lowest-errors.js'
import {pairedBlocks, pairedDifferences, pairedVerdicts} from './paired-report.js'
import {type Ranking, rankingsOf, YARDSTICK} from './ranking.js'
import {sectionTitle} from './section-title.js'
import {splitItems} from './split-notes.js'
import {boundsOf} from './spread.js'
import {statisticsBlocks} from './statistics-blocks.js'
import {sweepWarnings} from './warnings.js'

/** Sections that a report has, evenly chosen, and rows of all their tables of errors. */
const [MOST_SECTIONS, MOST_ROWS] = [100, 10_000]

/** Blocks of a whole sweep, one section per input, length, scale and causality; its layers are rows. */
export function errorSweepReport(records: readonly ErrorSweepRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const all = sectionsOf(completed)
  const sections = evenly(all, MOST_SECTIONS)
  const rankings = sections.map(rankingsOf)
  const mostRows = fairShare(sections.flatMap(byTarget), MOST_ROWS)
  const shown = sections.flatMap(byTarget).flatMap(rows => evenly(sorted(rows), mostRows))
  return [
    ...leftOut(sections.length, all.length),
    ...sections.flatMap((own, at) => section(own, {rankings: rankings[at]!, mostRows})),
    ...(completed.length > 0 ? [text(legend(shown))] : []),
    ...list([...endItems(completed), ...backendItems(completed)]),
    ...list(troubleItems(records)),
    ...closing(
      rankings
        .flat()
        .filter(({rows: [first]}) => first!.cell.target === 'raw')
        .map(ranking => ({title: sectionTitle(ranking.rows), ranking})),
    ),
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

/** What tables of errors are made of. */
function byTarget(section: readonly CompletedSweep[]): CompletedSweep[][] {
  return groupBy(section, ({cell}) => cell.target)
}

/** Records of one input, length, scale and causality together. */
function sectionsOf(completed: readonly CompletedSweep[]): CompletedSweep[][] {
  return groupBy(completed, ({cell: {input, seq_len, scale, logit_scale, causal}}) =>
    JSON.stringify([input, seq_len, scale, logit_scale, causal]),
  )
}

/** Which variants err less, of each table of the report. */
export function errorSweepVerdicts(records: readonly ErrorSweepRecord[]): Verdict[] {
  const sections = sectionsOf(records.filter(record => record.status === 'completed'))
  return sections.flatMap(section => {
    const targets = byTarget(section)
    return targets.flatMap(rows => {
      const place = [
        ...(sections.length > 1 ? [sectionTitle(section)] : []),
        ...(targets.length > 1 ? [rows[0]!.cell.target] : []),
      ]
      const where = place.length > 0 ? place.join(', ') : undefined
      const found = pairedDifferences(atLargestFeatures(sorted(rows)), rankingsOf(rows))
      return pairedVerdicts(found, where)
    })
  })
}

/** What tables of a section show. */
interface Tables {
  /** Of all rows of the section. */
  rankings: readonly Ranking[]
  mostRows: number
}

/** One input at one length, scale and causality: what the input is like, then how the methods did. */
function section(records: readonly CompletedSweep[], tables: Tables): Block[] {
  if (records.length === 0) return []
  return [
    heading(2, sectionTitle(records)),
    ...list(itemsByLayer(records, ([first]) => inputNotes(first!))),
    ...statisticsBlocks(byLayer(records).map(([first]) => first!)),
    ...byTarget(records).flatMap(own => targetBlocks(own, tables)),
    ...list(itemsByLayer(records, sweepWarnings)),
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
function targetBlocks(records: readonly CompletedSweep[], {rankings, mostRows}: Tables): Block[] {
  const target = records[0]?.cell.target ?? 'raw'
  const rows = sorted(records)
  const ranked = rankings.filter(({rows: [first]}) => first!.cell.target === target)
  return [
    heading(3, TARGET_TITLES[target]),
    {...table(columnsOf(rows, ranked), rows, mostRows), labels: labelCount(rows)},
    ...list(target === 'matched' ? targetItems(rows) : []),
    ...list(
      itemsByLayer(rows, own => [
        ...worseItems(own, ranked),
        ...unknownItems(own),
        ...splitItems(own),
      ]),
    ),
    ...pairedBlocks(atLargestFeatures(rows), ranked),
    ...perHead(rows),
  ]
}

/** Variants in the order in which they ran, by M and layer. */
function sorted(records: readonly CompletedSweep[]): CompletedSweep[] {
  return inOrder(
    records,
    [({cell}) => methodLabel(cell), ({cell}) => projectionLabel(cell) ?? ''],
    [({cell}) => cell.num_features ?? 0, ({cell}) => cell.layer ?? 0],
  )
}

/** What each method is held against. */
function targetItems(rows: readonly CompletedSweep[]): string[] {
  const items = rows.map(({cell, result}) => `${methodLabel(cell)}: ${result.target_label}`)
  return [...new Set(items)]
}

/** Variants that averaging V beats beyond doubt even with the most features they were given, each method once. */
function worseItems(rows: readonly CompletedSweep[], rankings: readonly Ranking[]): string[] {
  const worse = atLargestFeatures(rows).filter(row => {
    const ranking = rankings.find(own => own.rows.includes(row))!
    const average = ranking.rows.find(({cell}) => cell.method === YARDSTICK)
    if (isDrawn(row) && replicatesOf(row) < LEAST_FOR_INTERVAL) return false
    return average
      ? ranking.compare(row, average).answer === 'more'
      : leastOverYardstick(row) > (1 + EQUAL) ** 2
  })
  const names = groupBy(worse, ({cell}) => `${methodLabel(cell)} ${cell.num_features}`).map(named)
  return names.length > 0 ? [`worse than averaging V: ${names.join('; ')}`] : []
}

/** The least that the ratio of squared errors to averaging V may as well be. */
function leastOverYardstick({result}: CompletedSweep): number {
  const {mse, mse_over_mean_value: ratio} = result
  const bounds = boundsOf(mse)
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

/** How far replicates went where a precision was asked for, rows of one end and count together. */
function endItems(records: readonly CompletedSweep[]): string[] {
  const groups = groupBy(
    records.filter(({cell}) => cell.until_ci),
    ({cell, result}) => JSON.stringify([cell.until_ci, result.stopped_by]),
  )
  return groups.map(group => {
    const {cell, result} = group[0]!
    const {metric, relative_half_width: width} = cell.until_ci!
    const counts = group.map(replicatesOf)
    const range = [...new Set(spanOf(counts))].join(' to ')
    const reached = result.stopped_by === 'precision' ? 'known to' : 'not known to'
    return `median ${PRECISION_NAMES[metric]} ${reached} ${significant(100 * width)} % in ${plural(group.length, 'row')} of ${range} replicates`
  })
}

/** Metrics as tables call them. */
const PRECISION_NAMES = {rel_l2: 'rel L2', rel_l1: 'rel L1', mse: 'MSE', max_abs: 'largest error'}

/** What there is to say of means that are left out; few replicates are told in the legend. */
const UNKNOWN_REASONS: Partial<Record<MeansUnknown, string>> = {
  not_finite: 'an estimate is not finite',
  sign_changes: 'denominators change sign, and one near zero can make any error',
  one_draw: 'one replicate makes up more than half of the squared error',
  not_recorded: 'this run was made by a version that kept no standard errors',
}

/** Variants that one sentence names. */
const MOST_NAMED = 40

/** Rows without means, by the reason for it. */
function unknownItems(rows: readonly CompletedSweep[]): string[] {
  const several = rows.filter(row => replicatesOf(row) >= LEAST_FOR_ERRORS)
  return groupBy(several, ({result}) => result.means_unknown ?? '').flatMap(group => {
    const {means_unknown: unknown} = group[0]!.result
    const reason = unknown && UNKNOWN_REASONS[unknown]
    if (!reason) return []
    const variants = groupBy(group, ({cell}) => `${methodLabel(cell)} ${cell.num_features}`)
    const rest = variants.length - MOST_NAMED
    const names = [
      ...variants.slice(0, MOST_NAMED).map(named),
      ...(rest > 0 ? [`${rest} more`] : []),
    ]
    return [`no mean MSE, bias^2 or variance for ${names.join('; ')}: ${reason}`]
  })
}

/** The last row of each variant of each layer: rows are sorted by M. */
function atLargestFeatures(rows: readonly CompletedSweep[]): CompletedSweep[] {
  const variants = groupBy(rows, ({cell}) =>
    JSON.stringify([methodLabel(cell), projectionLabel(cell), cell.layer]),
  )
  return variants.map(variant => variant.at(-1)!)
}

/** The yardstick per head at the largest M: one head can be served well and its neighbour not at all. */
function perHead(rows: readonly CompletedSweep[]): Block[] {
  const variants = atLargestFeatures(rows)
  const heads = variants
    .map(({result}) => result.per_head)
    .reduce((longest, own) => (own.length > longest.length ? own : longest), [])
  if (heads.length < 2) return []
  const layered = byLayer(rows).length > 1
  const share = ({result}: CompletedSweep, at: number) =>
    significant(result.per_head[at]?.mse_over_mean_value)
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
    heading(3, 'MSE over that of averaging V, per head, at the largest M'),
    {
      ...table([...variantColumns(variants), ...heads.map(headColumn)], variants),
      labels: labelCount(variants),
      everything: true,
      turned: table([head, ...variants.map(variantColumn)], [...heads.keys()]),
    },
  ]
}

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
