/** The first screen of advice: the answer, what would change it, and the methods that it is about. */
import {YARDSTICK} from '../experiments/error-sweep/report/ranking.js'
import {type Block, list, table, text} from '../report/document.js'
import {groupBy} from '../report/groups.js'
import {nanoseconds, plural} from '../report/numbers.js'
import {firstOf, listed, numbersListed} from '../report/words.js'
import {
  capital,
  errorOf,
  exactRows,
  type FrontRow,
  gainOf,
  headList,
  headsText,
  shownOf,
  takeText,
  titleOf,
  warnings,
} from './report.js'
import type {Advice, AdviceCandidate, HeadAdvice, LayerAdvice} from './schema.js'
import {errorText, speedText} from './words.js'

/** Candidates of the table beside the exact form and averaging V. */
const MOST_CANDIDATES = 3
/** Kinds of heads that have a line. */
const MOST_KINDS = 3
/** Warnings that are shown. */
const MOST_WARNINGS = 2
/** Layers of the table. */
const MOST_LAYERS = 12

/** At most 20 lines of 80 columns, for one layer or many. */
export function adviceScreen(advice: Advice): Block[] {
  const [only, ...others] = advice.layers
  const answer = only && others.length === 0 ? layerBlocks(only, advice) : layersBlocks(advice)
  return [titleOf(advice), ...answer]
}

function layerBlocks(layer: LayerAdvice, advice: Advice): Block[] {
  const kinds = kindsOf(layer.heads)
  const heads = kinds.length > 1 ? [headsText(layer, advice)] : []
  return [
    text([layer.statement, ...changesText(layer), ...heads].join(' ')),
    methodTable(layer, advice),
    ...list([...(kinds.length > 1 ? kindLines(kinds, advice) : []), ...ranked(advice)]),
  ]
}

/** What would change the answer; what is known not to, in one sentence. */
function changesText({changes, mixed, candidate}: LayerAdvice): string[] {
  const useless = changes.flatMap(({ruled_out}) => ruled_out ?? [])
  const all = candidate === null && mixed === null && useless.length > 0
  const names = [...(all ? ['head'] : []), ...useless].map(name => `no ${name}`)
  return [
    ...changes.filter(({ruled_out}) => ruled_out === null).map(({statement}) => statement),
    ...(names.length > 0 ? [`${capital(listed(names))} changes that.`] : []),
  ]
}

/** Heads with the same choice. */
function kindsOf(heads: readonly HeadAdvice[]): HeadAdvice[][] {
  return groupBy(heads, takeText).sort((a, b) => b.length - a.length)
}

/** `heads 0, 3: elu, up to 4.1 % off`. */
function kindLines(kinds: readonly HeadAdvice[][], {metric}: Advice): string[] {
  const line = (heads: readonly HeadAdvice[]) => {
    const errors = heads.map(errorOf).filter(({value}) => Number.isFinite(value))
    const worst = errors.reduce((a, b) => (b.value > a.value ? b : a), errors[0]!)
    const off = worst
      ? `, up to ${errorText(metric, {...worst, low: worst.value, high: worst.value})} off`
      : ''
    const numbers = heads.map(({head}) => head)
    const names = numbers.length > 8 ? plural(numbers.length, 'head') : headList(numbers)
    return `${names}: ${takeText(heads[0]!)}${off}`
  }
  const rest = kinds.slice(MOST_KINDS).flat().length
  return [
    ...kinds.slice(0, MOST_KINDS).map(line),
    ...(rest > 0 ? [`${plural(rest, 'other head')}: other choices`] : []),
  ]
}

/** The fastest exact form, what is recommended or comes nearest, and averaging V. */
function methodTable(layer: LayerAdvice, advice: Advice): Block {
  const {metric} = advice
  const [fastest] = exactRows(advice).sort((a, b) => (a.time_ns ?? 0) - (b.time_ns ?? 0))
  return table<FrontRow>(
    [
      {title: 'method', align: 'left', cell: ({label}) => nameOf(label)},
      {title: metric === 'rel_l2' ? 'error' : metric, cell: row => shortError(row, advice)},
      {title: 'time', cell: ({time_ns}) => nanoseconds(time_ns)},
      {title: 'speed-up', cell: row => (row.error === 0 ? '' : speedText(gainOf(row)))},
    ],
    [...(fastest ? [fastest] : []), ...candidatesOf(layer)],
  )
}

function nameOf(label: string): string {
  return label === YARDSTICK ? `${label} (averages V)` : label
}

function shortError(row: FrontRow, {metric}: Advice): string {
  const {value} = errorOf(row)
  return row.error === 0 ? 'exact' : errorText(metric, {value, low: value, high: value})
}

/** The recommended one first, then those of lowest error; averaging V last. */
function candidatesOf(layer: LayerAdvice): AdviceCandidate[] {
  const shown = shownOf(layer).filter(({label}) => label !== YARDSTICK)
  const taken = shown.filter(({label}) => label === layer.candidate)
  const others = shown
    .filter(({label}) => label !== layer.candidate)
    .sort((a, b) => (a.error ?? Infinity) - (b.error ?? Infinity))
  const mean = layer.candidates.filter(({label}) => label === YARDSTICK)
  return [...[...taken, ...others].slice(0, MOST_CANDIDATES), ...mean]
}

/** The warnings that matter most: what was left out is named first. */
function ranked(advice: Advice): string[] {
  const {left_out} = advice
  const others = warnings({...advice, left_out: []})
  const missing = left_out.length > 0 ? [`left out: ${firstOf(left_out, 1)}`] : []
  return [...missing, ...others].slice(0, MOST_WARNINGS)
}

/** Layers side by side. */
function layersBlocks(advice: Advice): Block[] {
  const {layers, metric} = advice
  const replaced = layers.filter(({candidate}) => candidate !== null)
  const shown = layers.slice(0, MOST_LAYERS)
  const rest = layers.length - shown.length
  return [
    text(layersText(layers, replaced)),
    table<LayerAdvice>(
      [
        {title: 'layer', cell: ({layer}) => String(layer)},
        {title: 'take', align: 'left', cell: takeText},
        {
          title: 'nearest',
          align: 'left',
          cell: layer => rowOf(layer)?.label ?? '-',
          tells: ({candidate}) => candidate === null,
        },
        {
          title: metric === 'rel_l2' ? 'error' : metric,
          cell: layer => {
            const row = rowOf(layer)
            return row ? shortError(row, advice) : '-'
          },
        },
        {title: 'speed-up', cell: layer => speedText(gainOf(rowOf(layer) ?? {}))},
      ],
      shown,
    ),
    ...list([...(rest > 0 ? [`and ${plural(rest, 'more layer')}`] : []), ...ranked(advice)]),
  ]
}

/** What is taken for a layer, or the method of lowest error. */
function rowOf(layer: LayerAdvice): AdviceCandidate | undefined {
  return candidatesOf(layer)[0]
}

function layersText(layers: readonly LayerAdvice[], replaced: readonly LayerAdvice[]): string {
  if (replaced.length === 0) return `Keep exact attention in all ${layers.length} layers.`
  if (replaced.length === layers.length) return `Replace attention in all ${layers.length} layers.`
  const numbers = numbersListed(replaced.map(({layer}) => layer!))
  return `Replace attention in ${plural(replaced.length, 'layer').replace(/^\d+ /, '')} ${numbers}; keep exact attention in the other ${layers.length - replaced.length}.`
}
