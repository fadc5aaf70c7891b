/** Figures of a benchmark: time and memory over length, and latency of a token over the tokens before it. */

import {modelName} from '../../../../model/hub.js'
import {type ColumnSpec, table} from '../../../../report/document.js'
import type {Figure, Guide, Point, Series} from '../../../../report/figures/figure.js'
import {groupBy} from '../../../../report/groups.js'
import {bytes, nanoseconds, withInterval} from '../../../../report/numbers.js'
import type {Fit} from '../../../../results/findings.js'
import {type Estimate, finiteOrNull, heightAmong} from '../../../../stats/index.js'
import {BASELINES, PASS_THROUGH} from '../../fields/baselines.js'
import {headsText} from '../../fields/grouped.js'
import type {BenchRecord, TimedRecord} from '../../schema.js'
import {PairedTimes} from '../../times/paired-times.js'
import {medianOf} from '../../times/time-estimates.js'
import {backendName, backendsOf, lineLabel} from '../lines/backends.js'
import {fastestExact} from '../lines/lines.js'
import {ratioText, rowsInOrder, shapesOf, VARIANT_COLUMNS} from '../lines/variants.js'
import {benchFits} from './fits.js'

/** What is drawn over lengths or tokens. */
interface Quantity {
  name: string
  title: string
  caption: string
  /** Whether exponents and crossovers come from it. */
  isFitted?: true
  x: string
  y: string
  points(record: TimedRecord): Point[]
  /** Exponents of lines to compare with. */
  exponents: readonly number[]
}

const MS = 1e6
const MIB = 2 ** 20
const INTERVAL = 'bars are 95 % intervals over processes'

const TIME: Quantity = {
  name: 'time-over-length',
  title: 'Time over length',
  caption: `Median time of a call; ${INTERVAL}.`,
  isFitted: true,
  x: 'length L',
  y: 'time of a call, ms',
  points: record => {
    const {value, low, high} = medianOf(record)
    const y = {y: value / MS, low: low / MS, high: high / MS}
    return [
      {x: record.cell.seq_len, ...y, facts: [`L = ${record.cell.seq_len}`, ...timeFacts(record)]},
    ]
  },
  exponents: [],
}
const MEMORY: Quantity = {
  name: 'memory-over-length',
  title: 'Memory over length',
  caption: 'Most bytes of tensors that a call holds at once beside inputs and output, counted.',
  x: 'length L',
  y: 'memory of a call, MiB',
  points: ({cell: {seq_len}, result: {live_bytes}}) => {
    if (live_bytes === null) return []
    const facts = [`L = ${seq_len}`, `memory: ${bytes(live_bytes)}`]
    return [{x: seq_len, y: live_bytes / MIB, facts}]
  },
  exponents: [1, 2],
}
const TOKEN: Quantity = {
  name: 'latency-over-tokens',
  title: 'Latency of a token',
  caption: `Median time of one step of all sequences; ${INTERVAL}.`,
  x: 'tokens so far',
  y: 'time of a token, ms',
  points: ({result}) =>
    (result.marks ?? []).map(mark => {
      const facts = [
        `t = ${mark.tokens}`,
        `token: ${nanoseconds(mark.token_ns)}`,
        `up to it: ${nanoseconds(mark.total_ns)}`,
        `state: ${bytes(mark.state_bytes)}`,
      ]
      const {token_ns: value, token_low_ns, token_high_ns} = mark
      const [low, high] = [token_low_ns ?? Number.NaN, token_high_ns ?? Number.NaN]
      return {x: mark.tokens, y: value / MS, low: low / MS, high: high / MS, facts}
    }),
  exponents: [],
}
const STATE: Quantity = {
  name: 'state-over-tokens',
  title: 'Memory kept from token to token',
  caption:
    'Bytes held between two tokens; caches of keys and values have room for all of them from the start.',
  x: 'tokens so far',
  y: 'state, MiB',
  points: ({result}) =>
    (result.marks ?? []).map(({tokens, state_bytes}) => ({
      ...{x: tokens, y: state_bytes / MIB},
      facts: [`t = ${tokens}`, `state: ${bytes(state_bytes)}`],
    })),
  exponents: [],
}

function timeFacts({result}: TimedRecord): string[] {
  const {median_ns, median_low_ns, median_high_ns, runs, outliers} = result
  return [
    `median: ${nanoseconds(median_ns)} of ${runs} runs, ${outliers} of them outliers`,
    ...(median_low_ns === null || median_high_ns === null
      ? []
      : [`95 % interval: ${nanoseconds(median_low_ns)} - ${nanoseconds(median_high_ns)}`]),
  ]
}

/** Of a whole model: what each method gains, and what the model without attention does, which none can exceed. */
function gainOver(rows: readonly TimedRecord[]): Quantity {
  const times = new PairedTimes(rows)
  return {
    name: 'gain-over-length',
    title: 'Gain over the exact model',
    caption: `Time of the model with its own attention over the time with a method in its place; ${PASS_THROUGH}: without attention, the most that any method can gain; ${INTERVAL}.`,
    x: 'length L',
    y: 'times faster than the exact model',
    points: record => {
      const exact = fastestExact(rows, record)
      if (!exact || BASELINES.includes(record.cell.method)) return []
      const {value, low, high} = times.ratio(exact, record)
      const {seq_len} = record.cell
      const facts = [`L = ${seq_len}`, ratioText({value, low, high}), ...timeFacts(record)]
      return [{x: seq_len, y: value, low: finiteOrNull(low), high: finiteOrNull(high), facts}]
    },
    exponents: [],
  }
}

/** How far a guide lies from the line that it is compared with. */
const BESIDE = 1.5

/** Figures of a whole benchmark; none of what has but one length. */
export function benchFigures(records: readonly BenchRecord[]): Figure[] {
  const fits = benchFits(records)
  return shapesOf(records).flatMap(rows => {
    const {mode} = rows[0]!.cell
    const gain = mode === 'model' ? [gainOver(rows)] : []
    const quantities = mode === 'decode' ? [TOKEN, STATE] : [...gain, TIME, MEMORY]
    return quantities.flatMap(quantity => figureOf(quantity, rowsInOrder(rows), fits))
  })
}

function figureOf(
  quantity: Quantity,
  rows: readonly TimedRecord[],
  fits: readonly Fit[],
): Figure[] {
  const {name, title, caption, x, y, isFitted} = quantity
  const found = isFitted ? fits.filter(({keys}) => rows.some(({key}) => keys.includes(key))) : []
  const series = groupBy(rows, row => lineLabel(row, rows))
    .map(own => {
      const line = seriesOf(quantity, own, rows)
      const fit = found.find(({keys}) => keys.includes(own[0]!.key))
      return fit ? withFit(line, fit) : line
    })
    .filter(({points}) => points.length > 0)
  const all = series.flatMap(({points}) => points)
  if (new Set(all.map(point => point.x)).size < 2) return []
  return [
    {
      ...{name, caption: [caption, ...fitTexts(series, found)].join(' '), series},
      title: `${title}, ${shapeOf(rows[0]!)}`,
      x: {label: x, scale: 'log'},
      y: {label: y, scale: 'log'},
      guides: quantity.exponents.flatMap(exponent => guideOf(exponent, series)),
      table: table(
        columnsOf(quantity, rows),
        rows.flatMap(row => quantity.points(row).map(point => ({row, point}))),
      ),
    },
  ]
}

/** @param all - records of the figure */
function seriesOf(
  quantity: Quantity,
  own: readonly TimedRecord[],
  all: readonly TimedRecord[],
): Series {
  const {cell, result} = own[0]!
  const {method, projection} = cell
  const points = own.flatMap(quantity.points).toSorted((a, b) => a.x - b.x)
  const second = result.backend !== backendsOf(all)[0] && {open: true}
  return {label: lineLabel(own[0]!, all), method, projection, points, ...second}
}

/** The line with its exponent, and rings where it passes exact forms. */
function withFit(line: Series, {slope, crossovers}: Fit): Series {
  const crossings = crossovers.flatMap(({length, statement}) => {
    if (length === null) return []
    const y = heightAmong(line.points, length.value)
    const facts = [`${line.label} ${statement}`]
    return y === undefined
      ? []
      : [{x: length.value, xLow: length.low, xHigh: length.high, y, facts}]
  })
  const note = slope && {note: powerText(slope)}
  return {...line, ...note, ...(crossings.length > 0 && {crossings})}
}

/** How a line grows: `L^1.03 [0.91, 1.15]`. */
function powerText({value, low, high}: Estimate): string {
  const [middle, ...ends] = [value, low, high].map(exponent => exponent.toFixed(2))
  return `L^${middle} [${ends.join(', ')}]`
}

/** What exponents and rings say, where there are any. */
function fitTexts(series: readonly Series[], fits: readonly Fit[]): string[] {
  const grows = fits.some(({slope}) => slope !== null)
  const crosses = series.some(({crossings}) => crossings)
  return [
    ...(grows ? ['L^: how time grows over the longest lengths, with a 95 % interval.'] : []),
    ...(crosses
      ? ['Rings: where a line overtakes an exact form, with the 95 % interval of that length.']
      : []),
  ]
}

function shapeOf({cell}: TimedRecord): string {
  const {mode, model, batch, head_dim, value_dim, causal} = cell
  const values = value_dim === head_dim ? '' : ` Dv=${value_dim}`
  const layer = mode === 'layer' ? 'transformer layer, ' : ''
  const what = model ? `${modelName(model.folder)}, ` : layer
  const seen = mode === 'decode' ? '' : causal ? ', causal' : ', bidirectional'
  return `${what}B=${batch} ${headsText(cell)} D=${head_dim}${values}${seen}`
}

/** A power law next to the line that ends highest, or for a linear one lowest. */
function guideOf(exponent: number, series: readonly Series[]): Guide[] {
  const measured = series.map(({points}) => points).filter(points => points.length > 1)
  if (measured.length === 0) return []
  const ends = measured.map(points => points.at(-1)!)
  const pick = exponent > 1 ? Math.max : Math.min
  const y = pick(...ends.map(end => end.y))
  const end = ends.find(point => point.y === y)!
  // over two octaves: further down it would be far below everything
  const from = Math.max(end.x / 4, Math.min(...measured.map(points => points[0]!.x)))
  const level = exponent > 1 ? y * BESIDE : y / BESIDE
  const start = level * (from / end.x) ** exponent
  return [
    {
      label: `L^${exponent}`,
      points: [
        [from, start],
        [end.x, level],
      ],
    },
  ]
}

interface PointRow {
  row: TimedRecord
  point: Point
}

function columnsOf({x, y}: Quantity, all: readonly TimedRecord[]): ColumnSpec<PointRow>[] {
  const columns = [...VARIANT_COLUMNS, ...backendName(all)]
  const variant = columns.map(({title, align = 'right', sparse = false, cell, tells}) => ({
    ...{title, align, sparse, cell: ({row}: PointRow) => cell(row)},
    ...(tells && {tells: ({row}: PointRow) => tells(row)}),
  }))
  return [
    ...variant,
    {title: x, cell: ({point}) => String(point.x)},
    {
      title: y,
      cell: ({point: {y: value, low = null, high = null}}) => withInterval(value, low, high),
    },
  ]
}
