/** Paired differences as blocks of the report, and as verdicts of `--json`. */

import {type Block, type ColumnSpec, heading, list, table} from '../../report/document.js'
import {spanOf} from '../../report/figures/span.js'
import {groupBy} from '../../report/groups.js'
import {plural, significant, withInterval} from '../../report/numbers.js'
import type {Verdict} from '../../results/verdict.js'
import {methodLabel, projectionLabel, variantLabel} from '../labels.js'
import {type Comparison, type LeftOut, type PairedTable, pairedTable} from './paired.js'
import type {CompletedSweep} from './schema.js'

const ANSWERS = {yes: 'errs less', no: 'errs more', cannot_be_told: 'cannot be told'} as const

const REASONS: Readonly<Record<LeftOut['reason'], string>> = {
  not_finite: 'an estimate is not finite',
  sign_changes: 'denominators change sign, and one near zero can make any error',
  few_replicates: 'too few replicates',
  one_draw: 'one replicate makes up more than half of the squared error',
  no_error: 'a replicate without error has no logarithm',
}

/** What the table is, below it. */
const LEGEND =
  'MSE ratio: of paired replicates, which share random numbers, with its 95 % interval (Hodges-Lehmann); p: signed ranks of log MSE, adjusted for all rows of the table (Holm); a verdict takes p <= 0.05'

/**
 * The table of paired differences, or how many replicates it takes; nothing where nothing is compared.
 *
 * @param variants - as {@link pairedTable} takes them
 */
export function pairedBlocks(variants: readonly CompletedSweep[]): Block[] {
  const {comparisons, left, needed} = pairedTable(variants)
  if (comparisons.length === 0) return []
  if (needed !== undefined) {
    const [, most] = spanOf(comparisons.map(({pairs}) => pairs))
    const counts = plural(most, 'replicate')
    const compared = plural(comparisons.length, 'paired comparison')
    return list([
      `${compared} of log MSE: signed ranks of ${counts} cannot tell any, ${needed} can`,
    ])
  }
  return [
    heading(3, 'Paired differences, at the largest M'),
    {...table(columnsOf(comparisons), comparisons), labels: 2},
    ...list([LEGEND, ...leftItems(left)]),
  ]
}

function leftItems(left: readonly LeftOut[]): string[] {
  return groupBy(left, ({reason}) => reason).map(group => {
    const names = [...new Set(group.map(({row}) => variantLabel(row.cell)))].join('; ')
    return `not compared: ${names}: ${REASONS[group[0]!.reason]}`
  })
}

/** A variant of a table in which M stands elsewhere. */
function named({cell}: CompletedSweep): string {
  const drawn = projectionLabel(cell)
  return drawn === null ? methodLabel(cell) : `${methodLabel(cell)} ${drawn}`
}

function columnsOf(comparisons: readonly Comparison[]): ColumnSpec<Comparison>[] {
  const layered = new Set(comparisons.map(({a}) => a.cell.layer)).size > 1
  const both = (of: (row: CompletedSweep) => number | null) => (row: Comparison) =>
    [...new Set([of(row.a) || '-', of(row.b) || '-'])].join(' / ')
  return [
    {title: 'variant', align: 'left', flexible: true, cell: ({a}) => named(a)},
    {title: 'against', align: 'left', flexible: true, cell: ({b}) => named(b)},
    ...(layered ? [{title: 'layer', cell: ({a}: Comparison) => String(a.cell.layer)}] : []),
    {title: 'M', priority: 3, cell: both(({cell}) => cell.num_features)},
    {title: 'F', priority: 2, cell: both(({result}) => result.feature_dim)},
    {
      title: 'MSE ratio',
      cell: ({ratio}) => withInterval(ratio.value, ratio.low, ratio.high),
    },
    {title: 'p', priority: 1, cell: ({pValue}) => significant(pValue)},
    {title: 'verdict', align: 'left', cell: ({answer}) => ANSWERS[answer]},
  ]
}

/** A verdict for each comparison. @param where - before its statement, where there are several tables */
export function pairedVerdicts(
  variants: readonly CompletedSweep[],
  where: string | undefined,
): Verdict[] {
  const {comparisons, needed}: PairedTable = pairedTable(variants)
  return comparisons.map(({a, b, pairs, ratio, pValue, answer}) => {
    const [own, other] = [variantLabel(a.cell), variantLabel(b.cell)]
    const layer = a.cell.layer === undefined ? [] : [`layer ${a.cell.layer}`]
    const place = [...(where === undefined ? [] : [where]), ...layer]
    const told = `MSE ratio ${withInterval(ratio.value, ratio.low, ratio.high)}, p ${significant(pValue)}`
    return {
      question: 'errs_less',
      method: methodLabel(a.cell),
      projection: projectionLabel(a.cell),
      against: other,
      answer,
      statement: `${[...place, `${own} against ${other}`].join(', ')}: ${ANSWERS[answer]}, ${told}.`,
      bound: null,
      p_value: pValue,
      measured: pairs,
      beyond: 0,
      low: ratio.low,
      high: ratio.high,
      not_measured: 0,
      needed_replicates: needed ?? null,
      without_variance: 0,
    }
  })
}
