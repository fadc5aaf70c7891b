/** A history as blocks, as CSV and as figures. */
import type {Quantity, QuantityName} from '../experiments/comparison.js'
import {type Block, type ColumnSpec, heading, list, table, text} from '../report/document.js'
import {drawable, type Figure, type Series} from '../report/figures/figure.js'
import {groupBy} from '../report/groups.js'
import {MISSING, plural, significant} from '../report/numbers.js'
import {fittedScreen} from '../report/screen.js'
import {dateText, listed} from '../report/words.js'
import {type Column, columnsOf} from '../results/tables/columns.js'
import {plainCsv} from '../results/tables/csv.js'
import {newestChanges} from './history.js'
import {type HistoryFacts, type HistoryRow, historyRow} from './history-schema.js'
import {type Shared, sharedPlace, verdictItems} from './report.js'
import {
  answerText,
  comparisonAnswers,
  cut,
  distanceOf,
  lineName,
  rankOf,
  ratioText,
  shortText,
} from './screen.js'

/** Quantities by name: how each is printed. */
export type Quantities = ReadonlyMap<QuantityName, Quantity>

const LEGEND =
  'Values with their 95 % intervals. change: the value over that of the row below it, as rfa compare finds it; p-values are adjusted for all lines of a run.'

const MOST_LINES = 8

/** The first screen: the lines that the newest run changed most, a row for each run, and what it lacks. */
export function historyScreen(facts: HistoryFacts, quantities: Quantities): Block[] {
  const lines = ranked(facts)
  const shared = sharedIn(facts)
  const [worst, ...more] = facts.warnings
  const rows = lines.flat()
  const isChanged = rows.some(({change}) => change && change.answer !== 'same')
  const which = isChanged ? ', the lines that changed most' : ''
  return fittedScreen({
    title: heading(2, titleOf(facts)),
    answer: comparisonAnswers({rows: newestChanges(facts)}, 'The newest run'),
    rows: rows.length,
    table(most) {
      if (rows.length === 0) return {blocks: [], below: []}
      const shown = wholeLines(lines, most)
      const part = `Shown: ${shown} of ${plural(rows.length, 'row')}${which}; --details has all.`
      return {
        blocks: [table(columns(quantities, shared), rows.slice(0, shown))],
        below: shown < rows.length ? [LEGEND, part] : [LEGEND],
      }
    },
    notes: [
      ...lackedItem(facts),
      ...(worst === undefined ? [] : [`warning: ${worst}`]),
      ...(more.length > 0 ? [`${plural(more.length, 'more warning')}: --details`] : []),
      ...verdictOf(facts, 1),
    ],
  })
}

/** Rows of the lines that fit as a whole, or of the first alone, which may be longer. */
function wholeLines(lines: readonly HistoryRow[][], most: number): number {
  let shown = 0
  for (const {length} of lines) {
    if (shown + length > most) break
    shown += length
  }
  return shown || most
}

/** What the newest run lacks, and why. */
function lackedItem({left, rows}: HistoryFacts): string[] {
  const lacked = left.filter(({where}) => where === 'a')
  if (lacked.length === 0) return []
  const shared = sharedPlace([...rows, ...left])
  const names = listed([...new Set(lacked.map(({at}) => lineName({at}, shared)))])
  const reasons = [...new Set(lacked.map(({reason}) => reason))]
  const others = reasons.length > 1 ? `; and ${plural(reasons.length - 1, 'other reason')}` : ''
  const verb = lacked.length === 1 ? 'is' : 'are'
  const count = plural(lacked.length, 'line')
  return [`${count} ${verb} not in the newest run: ${names} (${cut(reasons[0]!)}${others})`]
}

export function historyReport(facts: HistoryFacts, quantities: Quantities): Block[] {
  const shared = sharedIn(facts)
  return [
    heading(1, titleOf(facts)),
    ...list(facts.warnings.map(warning => `warning: ${warning}`)),
    ...groupBy(facts.rows, ({quantity}) => quantity).flatMap(rows => [
      heading(2, quantities.get(rows[0]!.quantity)!.title),
      {...table(columns(quantities, shared), rows), labels: 3},
    ]),
    text(LEGEND),
    ...list(facts.left.map(leftText)),
    ...list(facts.left_out.map(({reason}) => `left out: ${reason}`)),
    ...list(verdictOf(facts)),
  ]
}

function leftText({where, at, reason}: HistoryFacts['left'][number]): string {
  const what = where === 'a' ? 'not in the newest run' : 'not compared'
  return `${what}: ${lineName({at}, [])}: ${reason}`
}

function titleOf({runs, rows}: HistoryFacts): string {
  const lines = groupBy(rows, ({line}) => String(line)).length
  const shown = new Set(rows.map(({directory}) => directory))
  const own = rows.length === 0 ? runs : runs.filter(({directory}) => shown.has(directory))
  const [newest, oldest] = [own[0]!, own.at(-1)!].map(({created_at}) => dateText(created_at))
  const when = newest === oldest ? newest : `${oldest} to ${newest}`
  return `rfa history: ${plural(lines, 'line')} over ${plural(own.length, 'run')}, ${when}`
}

/**
 * Lines by what the newest run changed: regressions, then what is more, less, inconclusive and the same; among equals, by what
 * earlier runs changed. What is the same to the last bit in all runs is left out unless everything is.
 */
function ranked({rows}: HistoryFacts): HistoryRow[][] {
  const lines = groupBy(rows, ({line}) => String(line))
  const telling = lines.filter(own =>
    own.some(({change}) => change && (change.answer !== 'same' || change.basis !== 'exact')),
  )
  const rank = (own: readonly HistoryRow[]) =>
    Math.min(UNCHANGED, ...own.map(({change}) => (change ? rankOf(change) : UNCHANGED)))
  const newest = (own: readonly HistoryRow[]) => own.filter(row => row.newest)
  const distance = (own: readonly HistoryRow[]) =>
    Math.max(0, ...own.map(({change}) => (change ? distanceOf(change) : 0)))
  return (telling.length > 0 ? telling : lines).toSorted(
    (a, b) =>
      rank(newest(a)) - rank(newest(b)) ||
      rank(a) - rank(b) ||
      distance(newest(b)) - distance(newest(a)) ||
      distance(b) - distance(a),
  )
}

/** Below every rank of a change. */
const UNCHANGED = 5

function verdictOf(facts: HistoryFacts, most?: number): string[] {
  const rows = newestChanges(facts)
  const out = facts.left_out.filter(({open}) => open).length
  const doubt = `fails (--strict): left out ${plural(out, 'folder')} that may have newer runs`
  return [
    ...(facts.strict && out > 0 ? [doubt] : []),
    ...verdictItems({...facts, rows}, sharedPlace(rows), {most, base: 'the run before'}),
  ]
}

/** What all lines of a quantity have in common. */
type SharedIn = ReadonlyMap<QuantityName, Shared>

function sharedIn({rows}: HistoryFacts): SharedIn {
  const groups = groupBy(rows, ({quantity}) => quantity)
  return new Map(groups.map(own => [own[0]!.quantity, sharedPlace(own)]))
}

function nameOf(row: HistoryRow, shared: SharedIn): string {
  return lineName(row, shared.get(row.quantity)!)
}

function columns(quantities: Quantities, shared: SharedIn): ColumnSpec<HistoryRow>[] {
  const of = ({quantity}: HistoryRow) => quantities.get(quantity)!
  return [
    {title: 'line', flexible: true, cell: row => nameOf(row, shared)},
    {title: 'commit', align: 'left', cell: commitText},
    {title: 'made', align: 'left', priority: 2, cell: ({created_at}) => timeText(created_at)},
    {
      title: 'value',
      align: 'left',
      cell: row => withEnds(row, of(row)),
      short: {cell: row => shortText(row.value, of(row)), lacks: 'intervals of values'},
    },
    {title: 'change', align: 'left', cell: ({change}) => (change ? ratioText(change) : MISSING)},
    {
      title: 'is',
      align: 'left',
      cell: row => (row.change ? answerText(row.change, of(row)) : MISSING),
    },
  ]
}

/** The commit, or else the version. */
function commitText({commit, rfa}: Pick<HistoryRow, 'commit' | 'rfa'>): string {
  return commit ?? rfa
}

/** `2026-01-31 19:39`, in UTC. */
function timeText(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ')
}

function withEnds({value, low, high}: HistoryRow, quantity: Quantity): string {
  const text = shortText(value, quantity)
  if (low === null || high === null || low === high) return text
  return `${text} [${shortText(low, quantity)}, ${shortText(high, quantity)}]`
}

/** The columns of {@link historyCsv}. */
export function historyColumns(): Column[] {
  const same = ['quantity', 'at', 'key_b', 'unit', 'b'].map(name => `change.${name}`)
  return columnsOf(historyRow, same)
}

/** A row for each line and run. */
export function historyCsv({rows}: Pick<HistoryFacts, 'rows'>): string {
  return plainCsv(historyColumns(), rows)
}

/** The lines that changed most over the runs, a figure for each quantity. */
export function historyFigures(facts: HistoryFacts, quantities: Quantities): Figure[] {
  const shared = sharedIn(facts)
  return groupBy(ranked(facts), ([row]) => row!.quantity).flatMap(all => {
    const quantity = quantities.get(all[0]![0]!.quantity)!
    const lines = all.slice(0, MOST_LINES)
    const shown = new Set(lines.flat().map(({directory}) => directory))
    const runs = facts.runs.filter(({directory}) => shown.has(directory)).toReversed()
    const places = new Map(runs.map(({directory}, place) => [directory, place]))
    const left = all.length - lines.length
    const figure: Figure = {
      name: `history-${quantity.name}`,
      title: `${quantity.title} over runs`,
      caption: `Oldest run first; bars are 95 % intervals.${left > 0 ? ` The ${plural(lines.length, 'line')} that changed most; tables have ${left} more.` : ''}`,
      x: {label: 'commit', scale: 'linear', names: runs.map(commitText)},
      y: {
        label: quantity.unit ? `${quantity.name}, ${AXIS[quantity.unit].name}` : quantity.name,
        scale: 'log',
      },
      series: lines.map((rows, colour) => seriesOf(rows, places, {colour, quantity, shared})),
      guides: [],
      table: table(columns(quantities, shared), lines.flat()),
    }
    return drawable(figure) ?? []
  })
}

/** Units of axes. */
const AXIS = {ns: {name: 'ms', size: 1e6}, bytes: {name: 'MiB', size: 2 ** 20}} as const

function seriesOf(
  rows: readonly HistoryRow[],
  places: ReadonlyMap<string, number>,
  {colour, quantity, shared}: {colour: number; quantity: Quantity; shared: SharedIn},
): Series {
  const size = quantity.unit ? AXIS[quantity.unit].size : 1
  return {
    label: nameOf(rows[0]!, shared),
    method: rows[0]!.at.method ?? 'all',
    projection: null,
    colour,
    points: rows.toReversed().map(row => ({
      x: places.get(row.directory)!,
      y: row.value / size,
      low: row.low && row.low / size,
      high: row.high && row.high / size,
      facts: [
        `${commitText(row)}, ${timeText(row.created_at)}`,
        withEnds(row, quantity),
        ...(row.change ? [`${significant(row.change.ratio)} times the run before`] : []),
      ],
    })),
  }
}
