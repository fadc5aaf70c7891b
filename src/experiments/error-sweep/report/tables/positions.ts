/** Errors of causal attention by the position of queries: a table, and figures. */
import {type Block, type ColumnSpec, heading, table, text} from '../../../../report/document.js'
import {evenly} from '../../../../report/evenly.js'
import type {Figure, Series} from '../../../../report/figures/figure.js'
import {groupBy} from '../../../../report/groups.js'
import {significant, withInterval} from '../../../../report/numbers.js'
import {variantLabel} from '../../../labels.js'
import type {CompletedSweep} from '../../schema.js'
import {standingOf} from '../errors/ranking.js'
import {placeFacts} from '../groups/places.js'
import {atLargestFeatures, sourceOf} from '../groups/sections.js'
import {variantColumns} from './columns.js'

const [MOST_FIGURES, MOST_LINES] = [12, 8]

/** Rows with errors by position that say something: exact forms have the rounding of float32. */
function positioned(rows: readonly CompletedSweep[]): CompletedSweep[] {
  return atLargestFeatures(rows).filter(
    row => row.result.query_errors_by_position !== null && standingOf(row) !== 'exact',
  )
}

/** The median error of the queries of each eighth, at the largest M; nothing where attention is not causal. */
export function positionBlocks(rows: readonly CompletedSweep[]): Block[] {
  const variants = positioned(rows)
  const columns = variants.slice(0, 1).flatMap(partColumns)
  if (columns.length === 0) return []
  const names = variantColumns(variants)
  return [
    heading(3, 'Error by position of the query, at the largest M'),
    {...table([...names, ...columns], variants), labels: names.length, everything: true},
    text(
      'Columns: from where to where in the sequence; median over queries of |estimate - exact| / |exact|, median over draws.',
    ),
  ]
}

/** A column for each part of the sequence. @param row - any of the table */
function partColumns({result}: CompletedSweep): ColumnSpec<CompletedSweep>[] {
  const parts = result.query_errors_by_position ?? []
  return parts.map((_, at) => ({
    title: shareText(at, parts.length),
    cell: row => significant(row.result.query_errors_by_position?.[at]?.query_error.median),
  }))
}

/** `0-12 %` */
function shareText(at: number, parts: number): string {
  const [from, to] = [at, at + 1].map(end => Math.floor((100 * end) / parts))
  return `${from}-${to} %`
}

/** Facts of a cell that are the same all over a figure. */
const SHARED = ['layer', 'seq_len', 'scale', 'logit_scale', 'causal', 'target'] as const

/** A line for each variant over the position of queries, at the largest M. */
export function positionFigures(records: readonly CompletedSweep[]): Figure[] {
  const groups = groupBy(positioned(records), ({cell}) =>
    JSON.stringify([sourceOf(cell), ...SHARED.map(field => cell[field])]),
  )
  return evenly(groups, MOST_FIGURES).map(figureOf)
}

function figureOf(variants: readonly CompletedSweep[]): Figure {
  // attention is causal here in any case
  const place = placeFacts(variants[0]!, ['causal'])
  return {
    name: 'error-by-position',
    title: `Error by position of the query, ${place.join(', ')}`,
    caption:
      'Median over the queries of each eighth of |estimate - exact| / |exact|, median over draws; bars are 95 % intervals. At the most features of each method.',
    x: {label: 'position of the query', scale: 'linear'},
    y: {label: 'error, % of the exact output', scale: 'log', percent: true},
    series: evenly(variants, MOST_LINES).map(seriesOf),
    guides: [],
    table: table(
      [
        {title: 'variant', align: 'left', cell: row => variantLabel(row.cell)},
        ...partColumns(variants[0]!),
      ],
      variants,
    ),
  }
}

function seriesOf({cell, result}: CompletedSweep): Series {
  const {method, projection} = cell
  const parts = result.query_errors_by_position ?? []
  const points = parts.flatMap(({query_error: {median, low, high}}, at) => {
    if (median === null) return []
    const x = ((at + 0.5) / parts.length) * result.query_len
    const facts = [
      `queries: ${shareText(at, parts.length)} of the sequence`,
      `error: ${withInterval(median, low, high)}`,
    ]
    return [{x, y: median, low, high, facts}]
  })
  return {label: variantLabel(cell), method, projection, points}
}
