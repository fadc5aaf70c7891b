/** Advice as figures: error over time, and the error of each head. */
import {YARDSTICK} from '../experiments/averaging.js'
import {table} from '../report/document.js'
import {errorOverTime, type TimedError} from '../report/figures/error-over-time.js'
import type {Figure, Point} from '../report/figures/figure.js'
import {nanoseconds, significant, withInterval} from '../report/numbers.js'
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
  const {metric, tolerance, exact} = advice
  const all = layer.candidates.filter(isPlaced)
  const placed = all.filter(({method}) => method !== YARDSTICK)
  const average = all.find(({method}) => method === YARDSTICK)
  const isRelative = metric === 'rel_l2'
  return errorOverTime({
    title: `Error over time, ${place(layer, advice)}`,
    error: isRelative ? {label: 'error, % of the exact output', percent: true} : {label: metric},
    points: placed.map(pointOf),
    exact: exact.flatMap(({form, time_ns}) => (time_ns === null ? [] : [{form, ms: time_ns / MS}])),
    levels: [
      {label: 'tolerance', error: tolerance},
      ...(average ? [{label: 'averaging V', error: average.error}] : []),
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
  })
}

function pointOf(one: Placed): TimedError {
  const {method, projection, error, error_low: errorLow, error_high: errorHigh} = one
  const {time_ns, time_low_ns, time_high_ns} = one
  return {
    ...{method, projection, error, errorLow, errorHigh},
    ms: time_ns / MS,
    msLow: time_low_ns === null ? null : time_low_ns / MS,
    msHigh: time_high_ns === null ? null : time_high_ns / MS,
    facts: [
      one.label,
      `error: ${withInterval(error, errorLow, errorHigh)}`,
      `time: ${nanoseconds(time_ns)}, ${one.time_from}`,
      `speed-up: ${speedText(gainOf(one))}`,
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
