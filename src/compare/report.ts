/** A comparison as blocks: what was compared, lines by quantity, what is left, and what the limits say; and as CSV. */
import {z} from 'zod'
import type {Comparison, Place, Quantity} from '../experiments/comparison.js'
import {type Block, type ColumnSpec, heading, list, table, text} from '../report/document.js'
import {groupBy} from '../report/groups.js'
import {
  bytes,
  MISSING,
  nanoseconds,
  plural,
  significant,
  UNSETTLED,
  withInterval,
} from '../report/numbers.js'
import {firstOf} from '../report/words.js'
import {type Column, columnsOf} from '../results/tables/columns.js'
import {plainCsv} from '../results/tables/csv.js'
import {settled, unjudged} from './compare.js'
import {
  type ComparedRow,
  type ComparedSide,
  type ComparisonFacts,
  comparedRow,
  type LeftRow,
  leftRow,
} from './schema.js'

/** Cells of one reason that are named; all are in CSV and JSON. */
const MOST_NAMED = 12

export function comparisonReport(facts: ComparisonFacts, {quantities}: Comparison): Block[] {
  const {experiment, related, a, b, warnings, rows, left} = facts
  const shared = sharedPlace(rows)
  const told = quantities.filter(({name}) => rows.some(({quantity}) => quantity === name))
  return [
    heading(1, `Comparison of ${related} of ${experiment}: B over A`),
    ...list([sideItem('A, the base', a), sideItem('B', b)]),
    ...list(warnings.map(warning => `warning: ${warning}`)),
    ...(rows.length > 1 && shared.length > 0 ? [text(`In all lines: ${placeText(shared)}.`)] : []),
    ...told.flatMap(quantity => section(quantity, facts, shared)),
    ...(rows.length === 0 ? [text('Nothing was compared.')] : []),
    ...list(leftItems(left, shared)),
    ...list(verdictItems(facts, shared)),
  ]
}

function sideItem(
  name: string,
  {directory, method, created_at, commit, cells, completed}: ComparedSide,
): string {
  const of = cells === null ? '' : ` of ${cells}`
  const what = method === null ? directory : `${method} of ${directory}`
  return `${name}: ${what}, made ${created_at}, commit ${commit ?? 'unknown'}, ${completed}${of} cells measured`
}

/** Names and values that no two lines differ in. */
export type Shared = readonly (readonly [string, string])[]

export function sharedPlace(rows: readonly Pick<ComparedRow, 'at'>[]): Shared {
  const [first] = rows
  if (!first) return []
  return Object.entries(first.at).filter(
    ([name, value]) => value !== '' && rows.every(({at}) => at[name] === value),
  )
}

/** `method elu, L 256`; numbers with a letter as `B=1`. */
function placeText(place: readonly (readonly [string, string])[]): string {
  return place
    .filter(([, value]) => value !== '')
    .map(([name, value]) => (/^[A-Z]/.test(name) ? `${name}=${value}` : `${name} ${value}`))
    .join(', ')
}

/** The lines of one quantity. */
function section(quantity: Quantity, {rows, related}: ComparisonFacts, shared: Shared): Block[] {
  const own = rows.filter(row => row.quantity === quantity.name)
  const common = new Set(own.length > 1 ? shared.map(([name]) => name) : [])
  const names = [...new Set(own.flatMap(({at}) => Object.keys(at)))]
  const labels = names
    .filter(name => !common.has(name) && own.some(({at}) => at[name]))
    .map(
      (name): ColumnSpec<ComparedRow> => ({
        title: name,
        align: own.every(({at}) => /^[\d./ -]*$/.test(at[name] ?? '')) ? 'right' : 'left',
        flexible: true,
        cell: ({at}) => at[name] || MISSING,
      }),
    )
  return [
    heading(2, quantity.title),
    {...table([...labels, ...quantityColumns(quantity)], own), labels: labels.length},
    text(quantity.legend[related]),
  ]
}

function quantityColumns(quantity: Quantity): ColumnSpec<ComparedRow>[] {
  const value = (number: number) => valueText(number, quantity)
  return [
    {title: 'A', priority: 2, cell: ({a}) => value(a)},
    {title: 'B', priority: 2, cell: ({b}) => value(b)},
    {
      title: 'B/A',
      cell: ({ratio, ratio_low, ratio_high}) =>
        ratio_low !== null && ratio_high === null
          ? UNSETTLED
          : withInterval(ratio, ratio_low, ratio_high),
    },
    {title: 'pairs', priority: 5, cell: ({pairs}) => String(pairs ?? MISSING), sparse: true},
    {
      title: 'P(B > A)',
      priority: 4,
      cell: ({effect}) => (effect === null ? MISSING : effect.toFixed(2)),
      sparse: true,
    },
    {title: 'p', priority: 3, cell: ({p_value}) => significant(p_value), sparse: true},
    {title: 'B is', align: 'left', cell: row => answerText(row, quantity)},
    {title: 'limit', align: 'left', cell: row => judgementText(row), sparse: true},
  ]
}

export function valueText(value: number, {unit}: Quantity): string {
  if (unit === 'ns') return nanoseconds(value)
  return unit === 'bytes' ? bytes(value) : significant(value)
}

function answerText({answer}: ComparedRow, {more, less}: Quantity): string {
  return {more, less, same: 'equal', cannot_be_told: 'inconclusive'}[answer]
}

const JUDGED = {
  regression: 'regression beyond',
  within: 'within',
  cannot_be_told: 'not judged at',
} as const

function judgementText({judgement, limit_percent}: ComparedRow): string {
  return judgement === null ? MISSING : `${JUDGED[judgement]} ${limit_percent}%`
}

/** What was not compared, one item for each reason. */
function leftItems(left: readonly LeftRow[], shared: Shared): string[] {
  return groupBy(left, ({where, reason}) => JSON.stringify([where, reason])).map(group => {
    const names = [...new Set(group.map(({at}) => nameOf(at, shared)))]
    return `not compared: ${firstOf(names, MOST_NAMED)}: ${group[0]!.reason}`
  })
}

/** The name of a line among the others; of a single one, all its values. */
function nameOf(at: Place, shared: Shared): string {
  const common = new Map(shared)
  const own = Object.entries(at).filter(([name, value]) => common.get(name) !== value)
  return placeText(own) || placeText(Object.entries(at))
}

/** Lines, and what the limits say of them. */
type Judged = Pick<ComparisonFacts, 'rows' | 'left' | 'limits' | 'strict' | 'passed'>

/**
 * What the limits say: lines that are beyond one, those that could not be judged, the count.
 *
 * @param how - `most`: lines without a judgement that are named; `base`: what values are held against. Default: A
 */
export function verdictItems(
  {rows, left, limits, strict, passed}: Judged,
  shared: Shared,
  {most = MOST_NAMED, base = 'A'}: {most?: number | undefined; base?: string} = {},
): string[] {
  if (limits.length === 0) return []
  const asked = limits.map(({quantity, percent}) => `${quantity}:${percent}%`).join(',')
  const beyond = rows.filter(({judgement}) => judgement === 'regression')
  const open = unjudged(rows, left, limits)
  const named = beyond.map(
    row =>
      `regression: ${row.quantity} of ${nameOf(row.at, shared)}: ${withInterval(row.ratio, row.ratio_low, row.ratio_high)} times ${base}, beyond ${row.limit_percent}%`,
  )
  const kind = strict ? 'fails (--strict)' : 'warning'
  const openTexts = open.map(one => openText(one, shared))
  const openNames = firstOf(openTexts, most)
  const doubts =
    open.length === 0
      ? []
      : [`${kind}: could not judge ${openNames}: measure more, or take a wider limit`]
  const decided = rows.filter(one => one.judgement !== null && !open.includes(one)).length
  const judged = decided + settled(left, limits).length
  const all = plural(judged + open.length, 'line')
  const count =
    judged === 0
      ? `could not judge any of ${all}`
      : `${plural(beyond.length, 'regression')}, ${judged} of ${all} judged`
  const verdict = passed ? 'passed' : beyond.length > 0 ? 'failed' : 'undecided'
  return [...named, ...doubts, `${verdict} ${asked}: ${count}`]
}

function openText(one: ComparedRow | LeftRow, shared: Shared): string {
  const what = one.quantity ?? 'all'
  return `${what} of ${nameOf(one.at, shared)}`
}

/** A line, or what was not compared: fields of the other kind are empty. */
const line = z.object({
  ...comparedRow.shape,
  where: leftRow.shape.where.describe('Of what was not compared, in which of the two it is.'),
  reason: leftRow.shape.reason,
})

/** The columns of {@link comparisonCsv}. */
export function comparisonColumns(): Column[] {
  return columnsOf(line)
}

/** All lines, and all that is left, a row each. */
export function comparisonCsv({rows, left}: Pick<ComparisonFacts, 'rows' | 'left'>): string {
  return plainCsv(comparisonColumns(), [...rows, ...left])
}
