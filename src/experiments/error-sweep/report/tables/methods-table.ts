/** The table of a first screen that compares methods. */
import {type Block, type ColumnSpec, table} from '../../../../report/document.js'
import {evenly} from '../../../../report/evenly.js'
import {groupBy, spanOf} from '../../../../report/groups.js'
import {errorSpan, MISSING} from '../../../../report/numbers.js'
import {listed, shortened} from '../../../../report/words.js'
import {methodLabel, projectionLabel} from '../../../labels.js'
import type {CompletedSweep} from '../../schema.js'
import {leadingError, medianOf} from '../errors/comparison.js'
import {
  byError,
  errorOf,
  isOfZero,
  methodsOf,
  type Ranking,
  type Standing,
  standingOf,
} from '../errors/ranking.js'
import {type Place, type PlaceAxis, placeKey} from '../groups/places.js'
import {atLargestFeatures} from '../groups/sections.js'
import {type Limits, limitOf} from './limits.js'

const MOST_COUNTS = 3

/** Characters of a name; more where shorter ones are alike. */
export const NAME = 28
const LONG_NAME = 44

/** A table that a screen cuts to its first rows. */
export interface CutTable {
  /** How many rows there are. */
  count: number
  blocks(rows: number): Block[]
}

/** A method, or one of its projections where those differ. */
interface MethodRow {
  name: string
  rows: readonly CompletedSweep[]
  note: string
}

interface Judged {
  /** Of their places. */
  rankings: readonly Ranking[]
  limits: Limits
}

/**
 * A row for each method, the lowest error first, exact forms last; the columns of M once for each place.
 *
 * @param contrast - what several places differ in
 */
export function methodsTable(
  places: readonly Place[],
  judged: Judged,
  contrast?: NonNullable<PlaceAxis['contrast']>,
): CutTable {
  const all = methodRows(places.flat(), judged)
  const columns: ColumnSpec<MethodRow>[] = [
    {title: 'method', align: 'left', cell: ({name}) => name},
    ...places.flatMap(place => errorColumns(place, contrast?.name(place[0]))),
    {
      title: 'features',
      cell: ({rows}) => featuresText(rows),
      tells: ({rows}) => rows.some(({result}) => result.feature_dim > 0),
    },
    {
      title: 'note',
      flexible: true,
      cell: ({note}) => note,
      tells: ({note}) => note !== '' && places.length === 1,
    },
  ]
  return {count: all.length, blocks: rows => [table(columns, kept(all, rows))]}
}

/** The errors of a place, a column for each M. @param name - of the place, above the first of them */
function errorColumns(place: Place, name: string | undefined): ColumnSpec<MethodRow>[] {
  const all = [...new Set(place.flatMap(({cell}) => cell.num_features ?? []))].sort((a, b) => a - b)
  const counts = evenly(all, MOST_COUNTS)
  const key = placeKey(place[0])
  return (counts.length === 0 ? [null] : counts).map((count, at) => {
    const title = count === null ? 'error' : `M=${count}`
    return {
      title: at === 0 && name ? `${name}\n${title}` : title,
      cell: ({rows}) => {
        const here = rows.filter(row => placeKey(row) === key)
        return cellText(here, count, at === 0)
      },
    }
  })
}

/** The first rows, with the yardstick in the place of the last where it would be left out. */
function kept(all: readonly MethodRow[], count: number): readonly MethodRow[] {
  const shown = all.slice(0, count)
  const yardstick = all.find(({rows}) => standingOf(rows[0]!) === 'yardstick')
  if (!yardstick || shown.includes(yardstick) || count < 2) return shown
  return [...shown.slice(0, -1), yardstick]
}

/** A row for each method, with a name that is short and still unique. */
function methodRows(measured: readonly CompletedSweep[], judged: Judged): MethodRow[] {
  const names = methodsOf(measured)
  const most = [NAME, LONG_NAME].find(
    most => new Set(names.map(name => shortened(name, most))).size === names.length,
  )
  return rowsNamed(measured, judged, name => shortened(name, most ?? NAME))
}

function rowsNamed(
  measured: readonly CompletedSweep[],
  judged: Judged,
  short: (name: string) => string,
): MethodRow[] {
  const exact = measured.filter(
    row => standingOf(row) === 'exact' && row.cell.num_features === null,
  )
  const others = measured.filter(row => !exact.includes(row))
  const rows = groupBy(others, ({cell}) => methodLabel(cell)).flatMap(own =>
    variantsOf(own, judged, short),
  )
  return [
    ...rows.toSorted((a, b) => orderOf(a) - orderOf(b)),
    ...(exact.length > 0 ? [{name: short(listed(methodsOf(exact))), rows: exact, note: ''}] : []),
  ]
}

/** What broke last, before it what is unusable; else by the lowest error at the largest M of a place. */
function orderOf({rows}: MethodRow): number {
  const [best] = byError(groupBy(rows, placeKey).flatMap(here => atLargestFeatures(here)))
  const penalty: Partial<Record<Standing, number>> = {unusable: 1e30, broken: 1e60, exact: 1e90}
  return Math.min(1e29, errorOf(best!)) + (penalty[standingOf(best!)] ?? 0)
}

/** A method as one row, or a row for each of its projections where any two differ. */
function variantsOf(
  own: readonly CompletedSweep[],
  judged: Judged,
  short: (name: string) => string,
): MethodRow[] {
  const name = short(methodLabel(own[0]!.cell))
  const projections = groupBy(own, ({cell}) => projectionLabel(cell) ?? '')
  if (projections.length === 1) return [{name, rows: own, note: noteOf(own, judged)}]
  const names = projections.map(([first]) => projectionLabel(first!.cell) ?? '')
  if (!judged.rankings.some(ranking => differ(own, ranking))) {
    const alike = `${listed(names)} not distinguishable`
    return [{name, rows: own, note: noteOf(own, judged) || alike}]
  }
  return projections.map((rows, at) => ({
    name: `${name} ${names[at]}`,
    rows,
    note: noteOf(rows, judged),
  }))
}

/** Whether two projections differ at any M of one place. */
function differ(own: readonly CompletedSweep[], {rows, compare}: Ranking): boolean {
  const here = own.filter(row => rows.includes(row))
  return groupBy(here, ({cell}) => String(cell.num_features)).some(same => {
    const able = same.filter(row => standingOf(row) !== 'unusable' && standingOf(row) !== 'broken')
    if (able.length > 0 && able.length < same.length) return true
    return able.some((a, at) =>
      able.slice(at + 1).some(b => ['less', 'more'].includes(compare(a, b).answer)),
    )
  })
}

/** What stands out of a row: the gravest first. */
function noteOf(rows: readonly CompletedSweep[], {rankings, limits}: Judged): string {
  const standings = rows.map(standingOf)
  const all = (own: Standing) => standings.every(standing => standing === own)
  const at = (own: Standing) =>
    all(own)
      ? ''
      : countsText(
          rows.filter((_, i) => standings[i] === own),
          rows,
        )
  const broken = rows.filter((_, i) => standings[i] === 'broken')
  if (broken.length > 0 && broken.every(isOfZero)) return `exact attention is zero${at('broken')}`
  if (broken.length > 0) return `not finite${at('broken')}`
  if (standings.includes('unusable')) {
    return `unusable${at('unusable')}: denominators change sign`
  }
  if (all('yardstick')) return 'averages V, ignores q and k'
  const largest = atLargestFeatures(rows)
  if (largest.every(row => rankings.some(ranking => isWorse(row, ranking)))) {
    return 'worse than averaging V'
  }
  if (rows.some(({result}) => result.means_unknown === 'sign_changes')) {
    return 'denominators change sign: rare large errors'
  }
  if (largest.every(row => isNearLimit(row, limits))) return 'at its limit: more M does not help'
  return ''
}

/** For which M of a method something is true of some: ` up to M=64`, ` at M=16 and 256`. */
function countsText(some: readonly CompletedSweep[], all: readonly CompletedSweep[]): string {
  const [own, every] = [some, all].map(rows =>
    [...new Set(rows.map(({cell}) => cell.num_features ?? 0))].sort((a, b) => a - b),
  ) as [number[], number[]]
  if (own.length === every.length) return ' in part'
  const first = own.every((count, place) => count === every[place])
  return first && own.length > 1 ? ` up to M=${own.at(-1)}` : ` at M=${listed(own.map(String), 3)}`
}

/** Share of its error that a row near its limit is off that. */
const NEAR = 1 / 3

/** Whether most of an error is what the method converges to. */
function isNearLimit(row: CompletedSweep, limits: Limits): boolean {
  const limit = limitOf(limits, row)
  return limit !== undefined && errorOf(limit) < NEAR * errorOf(row)
}

/** Whether averaging V has the lower error beyond doubt. */
function isWorse(row: CompletedSweep, {rows, compare}: Ranking): boolean {
  if (!rows.includes(row)) return false
  const average = rows.find(one => standingOf(one) === 'yardstick')
  return average ? compare(row, average).answer === 'more' : standingOf(row) === 'worse'
}

/**
 * The error at an M: the interval of the median, of several projections what all of theirs span.
 *
 * @param count - `null`: the one column of methods without M
 * @param first - whether this is the column in which those without M stand
 */
function cellText(rows: readonly CompletedSweep[], count: number | null, first: boolean): string {
  const own = rows.filter(
    ({cell}) => cell.num_features === count || (first && cell.num_features === null),
  )
  if (own.length === 0) return rows.some(({cell}) => cell.num_features !== null) ? MISSING : ''
  const standings = own.map(standingOf)
  if (standings.some(standing => standing === 'unusable' || standing === 'broken')) return MISSING
  if (standings.every(standing => standing === 'exact')) return 'exact'
  const [low, high] = spanOf(own.flatMap(endsOf))
  return errorSpan(low, high)
}

/** The interval of an error, or the range of few draws. */
export function endsOf(row: CompletedSweep): [number, number] {
  const {value, low, high} = medianOf(row)
  if (!Number.isNaN(low) && !Number.isNaN(high)) return [low, high]
  const {min, max} = leadingError(row)
  return [min ?? value, max ?? value]
}

/** The length of feature vectors: `M`, `2M`, or a number where it is no multiple. */
function featuresText(rows: readonly CompletedSweep[]): string {
  const sizes = rows.map(({cell, result}) => {
    const {feature_dim: size} = result
    if (size === 0) return MISSING
    const factor = cell.num_features === null ? Number.NaN : size / cell.num_features
    if (Number.isInteger(factor)) return factor === 1 ? 'M' : `${factor}M`
    return String(size)
  })
  const distinct = [...new Set(sizes)]
  if (distinct.length === 1) return distinct[0]!
  const [low, high] = spanOf(rows.map(({result}) => result.feature_dim))
  return `${low}-${high}`
}
