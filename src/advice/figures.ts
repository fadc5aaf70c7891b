/** Advice as figures: error against time with what nothing else beats, and the error of each head. */
import {table} from '../report/document.js'
import type {Figure, Guide, Point, Series} from '../report/figures/figure.js'
import {groupBy} from '../report/groups.js'
import {nanoseconds, significant, withInterval} from '../report/numbers.js'
import {paretoFront} from './pareto.js'
import {gainOf} from './report.js'
import type {Advice, AdviceCandidate, LayerAdvice} from './schema.js'
import {speedText} from './words.js'

const MS = 1e6
/** Rows and columns of tiles that can be read. */
const [MOST_HEADS, MOST_CANDIDATES] = [64, 16]

/** Two for each layer. */
export function adviceFigures(advice: Advice): Figure[] {
  return advice.layers.flatMap(layer => [...front(layer, advice), ...heads(layer, advice)])
}

function place({layer}: LayerAdvice, {input, seq_len: L}: Advice): string {
  return `${input}${layer === null ? '' : `, layer ${layer}`}, L=${L}`
}

type Placed = AdviceCandidate & {error: number; time_ns: number}
const isPlaced = (one: AdviceCandidate): one is Placed =>
  one.error !== null && one.error > 0 && one.time_ns !== null

function front(layer: LayerAdvice, advice: Advice): Figure[] {
  const placed = layer.candidates.filter(isPlaced)
  if (placed.length < 2) return []
  const {metric, tolerance, exact} = advice
  const errors = placed.map(({error}) => error)
  const times = exact.flatMap(({form, time_ns: time}) =>
    time === null ? [] : [{form, time: time / MS}],
  )
  const span = [Math.min(...errors, tolerance), Math.max(...errors, tolerance)] as const
  const range = [...placed.map(one => one.time_ns / MS), ...times.map(({time}) => time)]
  return [
    {
      name: 'error-against-time',
      title: `Error against time, ${place(layer, advice)}`,
      caption:
        'Each method at each M; bars are 95 % intervals. The dotted line joins what nothing else is better than in both; upright the tolerance, level the exact forms.',
      x: {label: metric, scale: 'log'},
      y: {label: 'time of a call, ms', scale: 'log'},
      series: groupBy(placed, ({method, projection}) => `${method} ${projection}`).map(seriesOf),
      guides: [
        ...frontLine(placed),
        upright('tolerance', tolerance, range),
        ...times.map(({form, time}) => level(form, time, span)),
      ],
      table: table<Placed>(
        [
          {title: 'candidate', align: 'left', cell: ({label}) => label},
          {title: metric, cell: one => withInterval(one.error, one.error_low, one.error_high)},
          {title: 'time', cell: ({time_ns: time}) => nanoseconds(time)},
          {title: 'speed-up', cell: one => speedText(gainOf(one))},
          {title: 'on the front', align: 'left', cell: one => (one.on_front ? 'yes' : 'no')},
        ],
        placed,
      ),
    },
  ]
}

function seriesOf(own: readonly Placed[]): Series {
  const {method, projection} = own[0]!
  const points = own.map(pointOf).toSorted((a, b) => a.x - b.x)
  return {
    label: [method, projection ?? []].flat().join(' '),
    method,
    projection,
    points,
    joined: false,
  }
}

function pointOf(one: Placed): Point {
  const {error, error_low: xLow, error_high: xHigh, time_ns, time_low_ns, time_high_ns} = one
  return {
    ...{x: error, xLow, xHigh, y: time_ns / MS},
    low: time_low_ns === null ? null : time_low_ns / MS,
    high: time_high_ns === null ? null : time_high_ns / MS,
    facts: [
      one.label,
      `error: ${withInterval(error, xLow, xHigh)}`,
      `time: ${nanoseconds(time_ns)}, ${one.time_from}`,
      `speed-up: ${speedText(gainOf(one))}`,
    ],
  }
}

/** Through candidates that no other one beats in error and in time. */
function frontLine(placed: readonly Placed[]): Guide[] {
  const front = paretoFront(placed, ({error, time_ns}) => [error, time_ns])
  const best = front.toSorted((a, b) => a.error - b.error)
  if (best.length < 2) return []
  return [{label: 'front', points: best.map(one => [one.error, one.time_ns / MS] as const)}]
}

function upright(label: string, x: number, range: readonly number[]): Guide {
  return {
    label,
    points: [
      [x, Math.min(...range)],
      [x, Math.max(...range)],
    ],
  }
}

function level(label: string, y: number, [from, to]: readonly [number, number]): Guide {
  return {
    label,
    points: [
      [from, y],
      [to, y],
    ],
  }
}

/** Errors of candidates on the front, head by head. */
function heads(layer: LayerAdvice, advice: Advice): Figure[] {
  const {metric} = advice
  const shown = layer.candidates.filter(one => one.on_front && one.heads.length > 1)
  const rows = shown[0]?.heads.length ?? 0
  if (shown.length === 0 || shown.length > MOST_CANDIDATES || rows > MOST_HEADS) return []
  const names = Array.from({length: rows}, (_, head) => `head ${head}`)
  const points = shown.flatMap(({label, heads: own}, x) =>
    own.flatMap(({error, error_low: low, error_high: high}, y): Point[] =>
      error === null || !(error > 0)
        ? []
        : [
            {
              ...{x, y, value: error},
              facts: [names[y]!, label, `${metric}: ${withInterval(error, low, high)}`],
            },
          ],
    ),
  )
  return [
    {
      name: 'error-by-head',
      title: `Error of each head, ${place(layer, advice)}`,
      caption: `Median ${metric} over draws, of what is on the front; the darker the larger.`,
      x: {label: 'candidate', scale: 'linear', names: shown.map(({label}) => label)},
      y: {label: 'head', scale: 'linear', names},
      shade: {label: metric, scale: 'log'},
      series: [{label: '', method: 'softmax', projection: null, joined: false, points}],
      guides: [],
      table: table(
        [
          {title: 'head', align: 'left' as const, cell: (head: number) => names[head]!},
          ...shown.map(({label, heads: own}) => ({
            title: label,
            cell: (head: number) => significant(own[head]?.error),
          })),
        ],
        [...names.keys()],
      ),
    },
  ]
}
