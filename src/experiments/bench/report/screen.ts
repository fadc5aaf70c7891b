/** The first screen of a benchmark: what was timed, which methods are faster than exact attention, and times by length. */
import {isSettledSlope, isTold} from '../../../answers/index.js'
import {type Block, type ColumnSpec, heading, list, table, text} from '../../../report/document.js'
import {evenly} from '../../../report/evenly.js'
import {fitted} from '../../../report/fit.js'
import {
  bytes,
  MISSING,
  nanoseconds,
  plural,
  ratioRange,
  ratioWithInterval,
  UNSETTLED,
} from '../../../report/numbers.js'
import {fittedScreen, SCREEN_WIDTH, type Screen, shownOf} from '../../../report/screen.js'
import {wrap} from '../../../report/wrap.js'
import type {Estimate} from '../../../stats/index.js'
import {backendLabel} from '../../labels.js'
import {troubleSentences} from '../../trouble.js'
import {kvHeadsOf} from '../fields/grouped.js'
import type {BenchRecord, TimedRecord} from '../schema.js'
import {processMedians} from '../times/processes.js'
import {undisturbedTime} from '../times/time-estimates.js'
import {benchAnswers, benchView, type View} from './answers.js'
import {type Line, linesByBackend, type Shape} from './lines/lines.js'
import {modelText} from './lines/model.js'
import {conditionSentences, interruptedItems} from './tables/notes.js'

/** Lines that the answer may take; its first sentence stands in any case. */
const ANSWER_LINES = 4
const MOST_WARNINGS = 3

/** A line in the table. */
interface Row {
  name: string
  line: Line
  /** Lines of one batch on one backend stand together. */
  group: number
  /** Its kind among those, and its place among them: the first ones stay longest. */
  rank: readonly [kind: number, place: number]
}

/** Blocks of the first screen; nothing without records. @param lines - that it may take; default: those of a screen */
export function benchScreen(records: readonly BenchRecord[], lines?: number): Block[] {
  if (records.length === 0) return []
  const view = benchView(records)
  const warnings = [...troubleSentences(records), ...conditionSentences(records, ratiosOf(view))]
  const notes = warnings.slice(0, MOST_WARNINGS)
  if (view.shapes.length === 0) return [text('rfa bench: nothing was measured.'), ...list(notes)]
  const rows = rowsOf(view)
  const all = noVerdict(records) ?? benchAnswers(view)
  const answers = firstSentences(all)
  const screen: Screen = {
    title: heading(2, titleOf(view)),
    answer: answers,
    rows: rows.length,
    table(shown) {
      const {block, lengths, of} = tableOf(view, chosenRows(rows, shown))
      const rest = shownOf({
        rows: [shown, rows.length],
        lengths: [lengths, of],
        sentences: [answers.length, all.length],
      })
      return {blocks: [block], below: [...legendOf(rows), ...rest]}
    },
    notes,
  }
  return fittedScreen(screen, lines)
}

/** Why a run bears no verdict; `undefined` where it does. */
function noVerdict(records: readonly BenchRecord[]): string[] | undefined {
  const interrupted = interruptedItems(records)
  return interrupted.length > 0
    ? ['No verdict: the run was interrupted, and the times below come from a part of it.']
    : undefined
}

function titleOf({shapes}: View): string {
  const rows = shapes.flatMap(({lines}) => lines.flatMap(({records}) => records))
  const {cell} = rows[0]!
  const {mode, heads, head_dim, value_dim, causal} = cell
  const what = {
    decode: 'decoding token by token',
    layer: `transformer layer of width ${heads * head_dim}`,
    model: 'whole model',
  }
  const model = modelText(rows[0]!)
  const batches = [...new Set(rows.map(row => row.cell.batch))]
  const {kv_heads} = kvHeadsOf(cell)
  const shared = new Set(shapes.flatMap(own => own.shared))
  const parts = [
    ...(model
      ? [`whole model ${model}`, ...(mode === 'decode' ? ['token by token'] : [])]
      : [mode ? what[mode] : 'forward pass']),
    ...(batches.some(batch => batch > 1) ? [`B=${batches.join(', ')}`] : []),
    kv_heads === undefined ? plural(heads, 'head') : `${heads} heads over ${kv_heads} of keys`,
    value_dim === head_dim ? `D=${head_dim}` : `D=${head_dim}, Dv=${value_dim}`,
    ...(mode === 'decode' ? [] : [causal ? 'causal' : 'bidirectional']),
    ...shared,
    [...new Set(rows.map(({result}) => backendLabel(result).replace(/^backend /, '')))].join(
      ' and ',
    ),
    processesText(rows),
  ]
  return `rfa bench: ${parts.join(', ')}`
}

function processesText(rows: readonly TimedRecord[]): string {
  const counts = rows.map(({result}) => processMedians(result).length)
  const numbers = [...new Set([Math.min(...counts), Math.max(...counts)])]
  return `${numbers.join(' to ')} ${numbers.at(-1) === 1 ? 'process' : 'processes'} per cell`
}

/**
 * Exact forms first, then methods from the fastest to the slowest at the longest length, then what has no attention. Of several
 * batches or backends each has its fastest exact form first, the other one last.
 */
function rowsOf({shapes}: View): Row[] {
  const groups = shapes.flatMap(shape => linesByBackend(shape).map(lines => ({shape, lines})))
  return groups.flatMap(({shape: {lengths}, lines}, group) => {
    const time = ({times}: Line) => {
      const row = times.get(lengths.at(-1)!)
      return row ? undisturbedTime(row) : Number.POSITIVE_INFINITY
    }
    const fastest = lines
      .filter(({kind}) => kind === 'exact')
      .toSorted((a, b) => compare(time(a), time(b)))[0]
    const place = (line: Line) => {
      if (line.kind === 'exact') return line === fastest || groups.length === 1 ? 0 : 2
      return line.kind === 'method' ? 1 : 3
    }
    const batch = shapes.length > 1 ? ` B=${lines[0]!.records[0]!.cell.batch}` : ''
    return lines
      .toSorted((a, b) => place(a) - place(b) || compare(time(a), time(b)))
      .map((line, at) => ({name: `${line.name}${batch}`, line, group, rank: [place(line), at]}))
  })
}

/** As many rows of each kind of each group as of the others, in their order. */
function chosenRows(rows: readonly Row[], most: number): Row[] {
  const order = ({rank: a}: Row, {rank: b}: Row) => a[0] - b[0] || a[1] - b[1]
  const first = rows.toSorted(order).slice(0, most)
  return rows.filter(row => first.includes(row))
}

/** Of the methods, at the longest length. */
function ratiosOf({shapes}: View): Estimate[] {
  return shapes.flatMap(({lines, lengths}) =>
    lines.flatMap(({kind, gains}) => (kind === 'method' && gains.get(lengths.at(-1)!)) || []),
  )
}

function firstSentences(all: readonly string[]): string[] {
  const first = all.slice(0, 1)
  for (const sentence of all.slice(1)) {
    if (wrap([...first, sentence].join(' '), SCREEN_WIDTH).length > ANSWER_LINES) break
    first.push(sentence)
  }
  return first
}

/** Infinities are equal. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b
}

/** Of as many lengths as fit, evenly chosen, the first and the longest among them. */
function tableOf(view: View, rows: readonly Row[]) {
  const lengths = [...new Set(view.shapes.flatMap(shape => shape.lengths))].sort((a, b) => a - b)
  for (let shown = lengths.length; ; shown--) {
    const chosen = shown > 1 ? evenly(lengths, shown) : lengths.slice(-1)
    const specs = (flexible: boolean) => columnsOf(view.shapes[0]!, chosen, flexible)
    const fit = fitted(table(specs(false), rows), SCREEN_WIDTH)
    if (shown > 1 && !fit) continue
    return {block: table(specs(true), rows), lengths: chosen.length, of: lengths.length}
  }
}

function columnsOf(
  {lines}: Shape,
  lengths: readonly number[],
  flexible: boolean,
): ColumnSpec<Row>[] {
  const isDecode = lines[0]!.records[0]!.cell.mode === 'decode'
  return [
    {title: 'method', align: 'left', flexible, cell: ({name}) => name},
    ...lengths.map(
      (length): ColumnSpec<Row> => ({
        title: isDecode ? `${length} tokens` : `L=${length}`,
        align: 'left',
        cell: ({line}) => cellText(line, length, ratioWithInterval),
        short: {cell: ({line}) => cellText(line, length, ratioRange)},
      }),
    ),
    {title: 'grows as', align: 'left', cell: ({line}) => growthText(line), sparse: true},
    ...(isDecode ? decodeColumns(lengths.at(-1)!) : []),
  ]
}

function cellText({times, gains, kind}: Line, length: number, form: typeof ratioRange): string {
  const row = times.get(length)
  if (!row) return MISSING
  const time = nanoseconds(row.result.median_ns)
  const gain = gains.get(length)
  return gain && kind !== 'exact' ? `${time} ${form(gain)}` : time
}

/** `L^1.84`; the ends of its interval where that is wide. */
function growthText({growth}: Line): string {
  if (growth === null) return MISSING
  const {value, low, high} = growth.slope
  if (!isTold(growth.slope)) return UNSETTLED
  if (Number.isNaN(low)) return `L^${value.toFixed(1)}`
  if (isSettledSlope(growth.slope)) return `L^${value.toFixed(2)}`
  return `L^${low.toFixed(1)}${low < 0 ? ' to ' : '-'}${high.toFixed(1)}`
}

/** One token and the state, after the longest. */
function decodeColumns(tokens: number): ColumnSpec<Row>[] {
  const mark = ({line}: Row) => line.records[0]!.result.marks?.find(one => one.tokens === tokens)
  return [
    {title: 'last token', cell: row => nanoseconds(mark(row)?.token_ns ?? null)},
    {title: 'state', cell: row => bytes(mark(row)?.state_bytes ?? null)},
  ]
}

/** What the factors are. */
function legendOf(rows: readonly Row[]): string[] {
  const gains = rows.flatMap(({line}) => (line.kind === 'exact' ? [] : [...line.gains.values()]))
  if (gains.length === 0) return []
  const several = new Set(rows.map(({line}) => line.backend)).size > 1
  const known = gains.some(({low}) => !Number.isNaN(low))
  const untold = gains.some(gain => !isTold(gain))
  return [
    `x: times faster than the faster exact form${several ? ' of its backend' : ''} where nothing disturbs calls${known ? ', with its 95 % interval' : ''}.`,
    ...(untold ? ['?: the machine was too busy to tell.'] : []),
  ]
}
