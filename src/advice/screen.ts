/** The first screen of advice: the answer, what would change it, and the methods that it is about. */
import {YARDSTICK} from '../experiments/averaging.js'
import {type Block, list, table, text} from '../report/document.js'
import {groupBy} from '../report/groups.js'
import {nanoseconds, plural} from '../report/numbers.js'
import {capital, firstOf, listed} from '../report/words.js'
import {
  exactRows,
  type FrontRow,
  gainOf,
  headList,
  headsText,
  takeText,
  titleOf,
  warnings,
} from './report.js'
import type {Advice, AdviceCandidate, HeadAdvice, LayerAdvice} from './schema.js'
import {exactError, speedText} from './words.js'

/** Candidates of the table, without the exact form and averaging V. */
const MOST_CANDIDATES = 3
/** The same beside choices that differ from head to head. */
const FEWER_CANDIDATES = 2
/** Lines for choices that differ from head to head. */
const MOST_CHOICES = 3
const MOST_WARNINGS = 2
const MOST_LAYERS = 8

/** At most 20 lines of 80 columns, for one layer or many. */
export function adviceScreen(advice: Advice): Block[] {
  const [only, ...others] = advice.layers
  const answer = only && others.length === 0 ? layerBlocks(only, advice) : layersBlocks(advice)
  return [titleOf(advice), ...answer]
}

function layerBlocks(layer: LayerAdvice, advice: Advice): Block[] {
  const choices = choicesOf(layer.heads)
  const differ = choices.length > 1
  return [
    text(answerText(layer, advice)),
    methodTable(layer, advice, differ ? FEWER_CANDIDATES : MOST_CANDIDATES),
    ...list([
      ...(differ ? choiceLines(choices, advice) : []),
      ...ranked(advice).slice(0, differ ? 1 : MOST_WARNINGS),
    ]),
  ]
}

/** The answer for a layer, what would change it, and whether heads differ: the sentences of the screen and of pages. */
export function answerText(layer: LayerAdvice, advice: Advice): string {
  const {statement, candidate, heads} = layer
  const agree = candidate === null ? [] : [`All ${heads.length} heads agree.`]
  const differ = choicesOf(heads).length > 1
  return [statement, ...changesText(layer), ...(differ ? [headsText(layer, advice)] : agree)].join(
    ' ',
  )
}

/** What would change the answer, but for averaging V; what is known not to, in one sentence. */
function changesText({changes, mixed, candidate}: LayerAdvice): string[] {
  const helpful = changes.filter(
    change => change.candidate !== null && change.candidate !== YARDSTICK,
  )
  const useless = changes.flatMap(({ruled_out}) => ruled_out ?? [])
  const all = candidate === null && mixed === null && useless.length > 0
  const names = [...(all ? ['head'] : []), ...useless].map(name => `no ${name}`)
  return [
    ...(names.length > 0 ? [`${capital(listed(names))} changes that.`] : []),
    ...helpful.map(({statement}) => statement),
  ]
}

/** Heads with the same choice. */
function choicesOf(heads: readonly HeadAdvice[]): HeadAdvice[][] {
  return groupBy(heads, takeText).sort((a, b) => b.length - a.length)
}

/** `heads 0, 3: elu, up to 4.1 % off`. */
function choiceLines(choices: readonly HeadAdvice[][], {metric}: Advice): string[] {
  const line = (heads: readonly HeadAdvice[]) => {
    const {candidate = null} = heads[0] ?? {}
    const worst = Math.max(...heads.map(({error}) => error ?? 0))
    const off = candidate === null ? '' : `, up to ${exactError(metric, worst)} off`
    return `${headList(heads.map(({head}) => head))}: ${takeText(heads[0]!)}${off}`
  }
  const lines = choices.length > MOST_CHOICES ? MOST_CHOICES - 1 : MOST_CHOICES
  const rest = choices.slice(lines).flat().length
  return [
    ...choices.slice(0, lines).map(line),
    ...(rest > 0 ? [`${plural(rest, 'other head')}: other choices`] : []),
  ]
}

/** The fastest exact form, what is recommended or comes nearest, and averaging V. */
function methodTable(layer: LayerAdvice, advice: Advice, most: number): Block {
  const {metric} = advice
  const [fastest] = exactRows(advice).sort((a, b) => (a.time_ns ?? 0) - (b.time_ns ?? 0))
  return table<FrontRow>(
    [
      {title: 'method', align: 'left', cell: ({label}) => nameOf(label)},
      {title: metric === 'rel_l2' ? 'error' : metric, cell: row => shortError(row, advice)},
      {title: 'time', cell: ({time_ns}) => nanoseconds(time_ns)},
      {title: 'speed-up', cell: row => (row.error === 0 ? '' : speedText(gainOf(row)))},
    ],
    [...(fastest ? [fastest] : []), ...candidatesOf(layer, most)],
  )
}

function nameOf(label: string): string {
  return label === YARDSTICK ? `${label} (averages V)` : label
}

function shortError(row: FrontRow, {metric}: Advice): string {
  return row.error === 0 ? 'exact' : exactError(metric, row.error ?? Number.NaN)
}

/** What is recommended, or else what has the lowest error; then others of low error; averaging V last. */
function candidatesOf({candidate, candidates}: LayerAdvice, most: number): AdviceCandidate[] {
  const rows = candidates
    .filter(({method, unfit}) => method !== YARDSTICK && unfit === null)
    .sort((a, b) => (a.error ?? Number.POSITIVE_INFINITY) - (b.error ?? Number.POSITIVE_INFINITY))
  const [first] = [...rows.filter(({label}) => label === candidate), ...rows]
  const others = rows.filter(row => row.on_front && row !== first)
  const mean = candidates.filter(({method}) => method === YARDSTICK)
  return [...(first ? [first] : []), ...others.slice(0, most - 1), ...mean]
}

/** The warnings that matter most: what was left out is named first. */
function ranked(advice: Advice): string[] {
  const {left_out} = advice
  const others = warnings({...advice, left_out: []})
  const missing = left_out.length > 0 ? [`left out: ${firstOf(left_out, 1)}`] : []
  return [...missing, ...others]
}

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
        {title: 'take', align: 'left', cell: layerTake},
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
    ...list([
      ...(rest > 0 ? [`and ${plural(rest, 'more layer')}`] : []),
      ...ranked(advice).slice(0, MOST_WARNINGS),
    ]),
  ]
}

/** `elu`, or `exact (nearest: elu)`. */
function layerTake(layer: LayerAdvice): string {
  const nearest = rowOf(layer)?.label
  return layer.candidate ?? (nearest === undefined ? 'exact' : `exact (nearest: ${nearest})`)
}

/** What is taken for a layer, or the method of lowest error. */
function rowOf(layer: LayerAdvice): AdviceCandidate | undefined {
  return candidatesOf(layer, 1)[0]
}

function layersText(layers: readonly LayerAdvice[], replaced: readonly LayerAdvice[]): string {
  if (replaced.length === 0) return `Keep exact attention in every layer (${layers.length}).`
  if (replaced.length === layers.length)
    return `Replace attention in every layer (${layers.length}).`
  const numbers = replaced.map(({layer}) => String(layer))
  const names = listed(numbers, 9)
  const noun = replaced.length === 1 ? 'layer' : 'layers'
  return `Replace attention in ${noun} ${names}; keep exact attention in the other ${layers.length - replaced.length}.`
}
