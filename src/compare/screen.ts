/** The first screen of a comparison: how many lines differ, which differ most, and what else differs between the runs. */
import type {Comparison, Quantity, QuantityName} from '../experiments/comparison.js'
import {type Block, type ColumnSpec, heading, table} from '../report/document.js'
import {groupBy} from '../report/groups.js'
import {
  errorText,
  MISSING,
  plural,
  ratioWithInterval,
  significant,
  UNSETTLED,
} from '../report/numbers.js'
import {fittedScreen, shownOf} from '../report/screen.js'
import {listed} from '../report/words.js'
import {type Shared, sharedPlace, valueText, verdictItems} from './report.js'
import type {ComparedRow, ComparedSide, ComparisonFacts, LeftRow} from './schema.js'

/** Warnings that a screen has room for, and the characters of each. */
const MOST_WARNINGS = 3
const MOST_OF_WARNING = 150

export function comparisonScreen(facts: ComparisonFacts, {quantities}: Comparison): Block[] {
  const {rows, left, warnings} = facts
  const shared = sharedPlace(rows)
  const telling = rows.filter(row => row.answer !== 'same' || row.basis !== 'exact')
  const ranked = (telling.length > 0 ? telling : rows).toSorted(
    (a, b) => rankOf(a) - rankOf(b) || distanceOf(b) - distanceOf(a),
  )
  const notes = [
    ...warnings.slice(0, MOST_WARNINGS).map(warning => `warning: ${cut(warning)}`),
    ...leftItem(left),
    ...verdictItems(facts, shared, {most: 1}).filter(item => !item.startsWith('regression')),
  ]
  return fittedScreen({
    title: heading(2, titleOf(facts)),
    answer: comparisonAnswers(facts),
    rows: ranked.length,
    table(shown) {
      if (ranked.length === 0) return {blocks: [], below: []}
      const rest = shownOf({
        lines: [shown, shown < ranked.length ? rows.length : shown],
        warnings: [MOST_WARNINGS, warnings.length],
      })
      const more = rest.length > 0 ? rest : ['--details has p-values.']
      return {
        blocks: [table(columnsOf(quantities, shared), ranked.slice(0, shown))],
        below: ['B/A: with its 95 % interval.', ...more],
      }
    },
    notes,
  })
}

function titleOf({experiment, related, a, b}: ComparisonFacts): string {
  const name = ({directory, method}: ComparedSide) => method ?? directory
  const where = related === 'methods' ? ` in ${a.directory}` : ''
  return `rfa compare: ${experiment}, B = ${name(b)} against A = ${name(a)}${where}`
}

/** What is said of B, after its verb. */
const WORDS: Readonly<
  Record<QuantityName, {verb: string} & Record<ComparedRow['answer'], string>>
> = {
  time: {
    ...{verb: 'is', more: 'slower', less: 'faster', same: 'as fast'},
    cannot_be_told: 'inconclusive',
  },
  memory: {
    ...{verb: 'takes', more: 'more memory', less: 'less memory', same: 'the same memory'},
    cannot_be_told: 'an unknown amount of memory',
  },
  error: {
    ...{verb: 'has', more: 'a higher error', less: 'a lower error', same: 'the same error'},
    cannot_be_told: 'no clear difference',
  },
  variance: {
    ...{verb: 'has', more: 'a higher variance', less: 'a lower variance'},
    ...{same: 'the same variance', cannot_be_told: 'no clear difference'},
  },
}

/** What differs, a sentence for each quantity. @param subject - what is compared. Default: B */
export function comparisonAnswers({rows}: Pick<ComparisonFacts, 'rows'>, subject = 'B'): string[] {
  if (rows.length === 0) return ['Nothing was compared.']
  const shared = sharedPlace(rows)
  return groupBy(rows, ({quantity}) => quantity).map(own => sentenceOf(own, shared, subject))
}

function sentenceOf(rows: readonly ComparedRow[], shared: Shared, subject: string): string {
  const {quantity} = rows[0]!
  const {verb, ...words} = WORDS[quantity]
  const answers = (['more', 'less', 'same', 'cannot_be_told'] as const).flatMap(answer => {
    const count = rows.filter(row => row.answer === answer).length
    return count === 0 ? [] : [{answer, count}]
  })
  const [first] = answers as [(typeof answers)[number]]
  const worst = mostDifferent(rows)
  const ratio = worst ? ratioText(worst) : ''
  const all = rows.length === 2 ? 'both lines' : `all ${plural(rows.length, 'line')}`
  if (first.answer === 'cannot_be_told') {
    const wide = quantity === 'time' ? rows.filter(isWide) : []
    if (wide.length > 0) return unmeasuredText(wide, rows.length, subject)
    const none = `There is no clear difference in ${quantity}`
    return rows.length === 1 ? `${none}: ${ratio}.` : `${none} in any of ${rows.length} lines.`
  }
  if (rows.length === 1) {
    return `${subject} ${verb} ${words[first.answer]}${first.answer === 'same' ? '' : `: ${ratio}`}.`
  }
  const parts = answers.map(({answer, count}, at) => {
    const many = at === 0 ? `${count} of ${plural(rows.length, 'line')}` : count
    return `${words[answer]} in ${count === rows.length ? all : many}`
  })
  const most = worst
    ? `; ${worst.answer === 'more' ? 'worst' : 'best'}: ${lineName(worst, shared)}, ${ratio}`
    : ''
  return `${subject} ${verb} ${listed(parts)}${most}.`
}

/** Ends of an interval that say little, as a factor to either side of the ratio. */
const WIDE = 1.25

function isWide({ratio, ratio_low, ratio_high}: ComparedRow): boolean {
  if (ratio === null || ratio_low === null) return false
  return ratio_high === null || ratio_high > WIDE * ratio || ratio > WIDE * ratio_low
}

/** `Not measured well enough: B may be 16x faster or 6x slower.` @param wide - at least one @param of - lines in all */
function unmeasuredText(wide: readonly ComparedRow[], of: number, subject: string): string {
  const where = wide.length === of ? '' : ` in ${wide.length} of ${of} lines`
  const what = `Not measured well enough${where}`
  if (wide.some(({ratio_high}) => ratio_high === null)) return `${what}: the machine was too busy.`
  const faster = 1 / Math.min(...wide.map(({ratio_low}) => ratio_low!))
  const slower = Math.max(...wide.map(({ratio_high}) => ratio_high!))
  // several lines together may leave a line open with an interval on one side of 1
  const ends = [
    ...(faster > 1 ? [`${significant(faster, 2)}x faster`] : []),
    ...(slower > 1 ? [`${significant(slower, 2)}x slower`] : []),
  ]
  return `${what}: ${subject} may be ${ends.join(' or ')}.`
}

/** Of the lines in which B has more, or else less, the one that differs most. */
function mostDifferent(rows: readonly ComparedRow[]): ComparedRow | undefined {
  const of = (answer: ComparedRow['answer']) =>
    rows
      .filter(row => row.answer === answer && row.ratio !== null)
      .toSorted((a, b) => distanceOf(b) - distanceOf(a))[0]
  return of('more') ?? of('less') ?? (rows.length === 1 ? rows[0] : undefined)
}

/** Regressions, then what is more, less, inconclusive and the same. */
export function rankOf({judgement, answer}: ComparedRow): number {
  if (judgement === 'regression') return 0
  return {more: 1, less: 2, cannot_be_told: 3, same: 4}[answer]
}

/** How far B is from A, as a logarithm. */
export function distanceOf({ratio}: ComparedRow): number {
  return ratio === null || ratio === 0 ? Number.POSITIVE_INFINITY : Math.abs(Math.log(ratio))
}

export function ratioText({ratio, ratio_low, ratio_high}: ComparedRow): string {
  if (ratio === null) return MISSING
  if (ratio_low !== null && ratio_high === null) return UNSETTLED
  const ends = ratio_low === ratio_high ? [null, null] : [ratio_low, ratio_high]
  const [low, high] = ends.map(end => end ?? Number.NaN) as [number, number]
  return ratioWithInterval({value: ratio, low, high})
}

function columnsOf(quantities: readonly Quantity[], shared: Shared): ColumnSpec<ComparedRow>[] {
  const of = ({quantity}: ComparedRow) => quantities.find(({name}) => name === quantity)!
  return [
    {title: 'line', flexible: true, cell: row => lineName(row, shared)},
    {title: 'A', cell: row => shortText(row.a, of(row))},
    {title: 'B', cell: row => shortText(row.b, of(row))},
    {title: 'B/A', align: 'left', cell: row => ratioText(row)},
    {title: 'B is', flexible: true, cell: row => answerText(row, of(row))},
  ]
}

/** Errors in per cent of the output, all else in its unit. */
export function shortText(value: number, quantity: Quantity): string {
  return quantity.name === 'error' ? errorText(value, 3) : valueText(value, quantity)
}

/** `slower`, `more memory`, `slower, beyond 10%`. */
export function answerText(
  {answer, quantity, judgement, limit_percent}: ComparedRow,
  {more, less}: Quantity,
): string {
  const word = {more, less, same: 'equal', cannot_be_told: 'inconclusive'}[answer]
  const what = quantity === 'memory' ? `${word} memory` : word
  return judgement === 'regression' ? `${what}, beyond ${limit_percent}%` : what
}

/** Names that need no words before them. */
const PLAIN = ['mode', 'method', 'projection']

/** `favor-pos orth M=64 L=512`: what distinguishes a line; of the only one, its method. */
export function lineName({at}: Pick<ComparedRow, 'at'>, shared: Shared): string {
  const common = new Map(shared)
  const own = Object.entries(at).filter(([name, value]) => value && common.get(name) !== value)
  const parts = (own.length > 0 ? own : Object.entries(at).slice(0, 2)).map(([name, value]) => {
    if (PLAIN.includes(name)) return value
    return /^[A-Z]/.test(name) ? `${name}=${value}` : `${name} ${value}`
  })
  return parts.filter(Boolean).join(' ')
}

/** A warning without its end where it is long. */
export function cut(warning: string): string {
  return warning.length <= MOST_OF_WARNING ? warning : `${warning.slice(0, MOST_OF_WARNING - 3)}...`
}

/** What was not compared, and the most frequent reason. */
function leftItem(left: readonly LeftRow[]): string[] {
  const groups = groupBy(left, ({reason}) => reason).toSorted((a, b) => b.length - a.length)
  const [most] = groups
  if (!most) return []
  const others = groups.length > 1 ? `, and ${plural(groups.length - 1, 'other reason')}` : ''
  return [`not compared: ${plural(left.length, 'line')} (${cut(most[0]!.reason)}${others})`]
}
