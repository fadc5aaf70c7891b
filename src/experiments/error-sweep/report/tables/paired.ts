/** Paired differences of a sweep as blocks of its report, and as verdicts of `--json`. */

import type {Answer} from '../../../../answers/index.js'
import {
  type Block,
  type ColumnSpec,
  heading,
  list,
  table,
  text,
} from '../../../../report/document.js'
import {groupBy} from '../../../../report/groups.js'
import {significant, withInterval} from '../../../../report/numbers.js'
import type {Verdict} from '../../../../results/verdict.js'
import {methodLabel, projectionLabel, variantLabel} from '../../../labels.js'
import type {CompletedSweep, ErrorSweepRecord} from '../../schema.js'
import {isRounding} from '../errors/comparison.js'
import {type Compared, type Ranking, rankingsOf} from '../errors/ranking.js'
import {
  atLargestFeatures,
  byTarget,
  rowLabel,
  sectionsOf,
  sectionTitle,
  sorted,
} from '../groups/sections.js'
import {tunedPairs} from '../sentences/tuned.js'
import {fewDrawsNotes} from './notes.js'

const ANSWERS: Readonly<Record<Answer, string>> = {
  less: 'lower error',
  more: 'higher error',
  same: 'equal',
  cannot_be_told: 'not distinguishable',
}

/** Headings by what is compared. */
const TITLES = {
  error: 'Paired differences, at the largest M',
  noise: 'Paired differences of noise, at the largest M',
} as const

/** What the tables are, once below all of them. */
const LEGEND =
  'Paired differences: ratio: rel L2 of the variant over that of the other, over draws with the same random numbers, with its 95 % interval; p: random signs, a margin of 1 %, adjusted for all comparisons of a row; lower and higher: p <= 0.05; equal: an interval within 1 %.'

/**
 * Compares, at the largest M, each projection of a method with its first one, and each method with the first one of the
 * plan under the same projection; and at its own M a method with learned parameters with itself without.
 *
 * @param variants - of one table, a row for each method, projection and layer, at its largest M; in the order of the plan
 * @param rankings - of the rows of that table
 */
export function pairedDifferences(
  variants: readonly CompletedSweep[],
  rankings: readonly Ranking[],
): Compared[] {
  return rankings.flatMap(({rows, compare}) => {
    const own = variants.filter(row => rows.includes(row) && !isRounding(row))
    const pairs = pairsOf(own)
    const tuned = tunedPairs(rows).filter(([a, b]) => !pairs.some(([x, y]) => x === a && y === b))
    return [...tuned, ...pairs].flatMap(([a, b]) => {
      const found = compare(a, b)
      return Number.isNaN(found.pValue) ? [] : [found]
    })
  })
}

/** Which variants of one layer are compared. */
function pairsOf(variants: readonly CompletedSweep[]): [CompletedSweep, CompletedSweep][] {
  const methods = groupBy(variants, ({cell}) => methodLabel(cell))
  const [reference = []] = methods
  const projections = methods.flatMap(([first, ...others]) =>
    others.map((other): [CompletedSweep, CompletedSweep] => [other, first!]),
  )
  const across = methods.slice(1).flatMap(group =>
    group.flatMap((row): [CompletedSweep, CompletedSweep][] => {
      const drawn = projectionLabel(row.cell)
      const same = reference.find(({cell}) => projectionLabel(cell) === drawn)
      // a method without a projection is compared with the first variant of the other
      const other = same ?? (drawn === null || isAlone(reference) ? reference[0] : undefined)
      return other ? [[row, other]] : []
    }),
  )
  return [...projections, ...across]
}

/** Whether a method draws no projection. */
function isAlone([first]: readonly CompletedSweep[]): boolean {
  return first?.cell.projection === null
}

/**
 * The table of paired differences, or how many draws it takes; nothing where nothing is compared.
 *
 * @param of - `noise`: of rows against what methods converge to, below a table of errors against softmax
 */
export function pairedBlocks(
  variants: readonly CompletedSweep[],
  rankings: readonly Ranking[],
  of: keyof typeof TITLES = 'error',
): Block[] {
  const found = pairedDifferences(variants, rankings)
  if (found.length === 0) return of === 'error' ? list(fewDrawsNotes(variants)) : []
  return [heading(3, TITLES[of]), {...table(columnsOf(found), found), labels: 2}]
}

/** What tables of paired differences say, where a report has any. */
export function pairedLegend(report: readonly Block[]): Block[] {
  const titles: readonly string[] = Object.values(TITLES)
  const any = report.some(block => block.kind === 'heading' && titles.includes(block.text))
  return any ? [text(LEGEND)] : []
}

function columnsOf(found: readonly Compared[]): ColumnSpec<Compared>[] {
  const layered = new Set(found.map(({a}) => a.cell.layer)).size > 1
  const both = (of: (row: CompletedSweep) => number | null) => (row: Compared) =>
    [...new Set([of(row.a) || '-', of(row.b) || '-'])].join(' / ')
  return [
    {title: 'variant', flexible: true, cell: ({a}) => rowLabel(a)},
    {title: 'against', flexible: true, cell: ({b}) => rowLabel(b)},
    ...(layered ? [{title: 'layer', cell: ({a}: Compared) => String(a.cell.layer)}] : []),
    {title: 'M', priority: 3, cell: both(({cell}) => cell.num_features)},
    {title: 'F', priority: 2, cell: both(({result}) => result.feature_dim)},
    {title: 'ratio', cell: ({ratio}) => withInterval(ratio.value, ratio.low, ratio.high)},
    {title: 'p', priority: 1, cell: ({pValue}) => significant(pValue)},
    {title: 'verdict', align: 'left', cell: ({answer}) => ANSWERS[answer]},
  ]
}

/** Answers of `--json`: an equal error is no lower one. */
const LOWER = {less: 'yes', more: 'no', same: 'no', cannot_be_told: 'cannot_be_told'} as const

/** What a sentence says of a variant, before the other. */
const SAID: Readonly<Record<Answer, string>> = {
  less: 'has a lower error than',
  more: 'has a higher error than',
  same: 'has the same error as',
  cannot_be_told: 'is not distinguishable from',
}

const AGAINST = {raw: 'error against softmax', matched: 'error from random vectors alone'} as const

/** Which variants err less, of each table of the report. */
export function errorSweepVerdicts(records: readonly ErrorSweepRecord[]): Verdict[] {
  const sections = sectionsOf(records.filter(record => record.status === 'completed'))
  return sections.flatMap(section => {
    const targets = byTarget(section)
    return targets.flatMap(rows => {
      const place = [
        ...(sections.length > 1 ? [sectionTitle(section)] : []),
        ...(targets.length > 1 ? [AGAINST[rows[0]!.cell.target]] : []),
      ]
      const found = pairedDifferences(atLargestFeatures(sorted(rows)), rankingsOf(rows))
      return verdictsOf(found, place)
    })
  })
}

/** A verdict for each comparison. @param table - which one, where there are several */
function verdictsOf(found: readonly Compared[], table: readonly string[]): Verdict[] {
  return found.map(({a, b, pairs, ratio, pValue, answer}) => {
    const [own, other] = [variantLabel(a.cell), variantLabel(b.cell)]
    const layer = a.cell.layer === undefined ? [] : [`layer ${a.cell.layer}`]
    const place = [...table, ...layer]
    const numbers = `ratio ${withInterval(ratio.value, ratio.low, ratio.high)}, p ${significant(pValue)}`
    return {
      question: 'errs_less',
      method: methodLabel(a.cell),
      projection: projectionLabel(a.cell),
      against: other,
      answer: LOWER[answer],
      statement: `${place.length > 0 ? `${place.join(', ')}: ` : ''}${own} ${SAID[answer]} ${other}, ${numbers}.`,
      bound: null,
      p_value: pValue,
      measured: pairs,
      beyond: 0,
      low: ratio.low,
      high: ratio.high,
      not_measured: 0,
      needed_replicates: null,
      without_variance: 0,
    }
  })
}
