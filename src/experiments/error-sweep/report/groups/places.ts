/** Where errors of a sweep are compared: on one input at one length, scale, causality and layer. */
import {groupBy, spanOf} from '../../../../report/groups.js'
import {significant} from '../../../../report/numbers.js'
import {listed, shortened} from '../../../../report/words.js'
import {viewOf} from '../../../axes.js'
import {causalLabel, cornerText, inputLabel, inputsLabel} from '../../../labels.js'
import {unusualScale} from '../../../logit-scale.js'
import type {CompletedSweep} from '../../schema.js'

/** Rows that are compared, at least one. */
export type Place = readonly [CompletedSweep, ...CompletedSweep[]]

/**
 * Those against softmax of the given q and k; without any, one place for each limit that methods converge to.
 *
 * @param completed - records of a sweep
 */
export function placesOf(completed: readonly CompletedSweep[]): Place[] {
  const raw = completed.filter(({cell}) => cell.target === 'raw')
  const rows = raw.length > 0 ? raw : completed
  const groups = groupBy(rows, row => {
    const label = row.cell.target === 'raw' ? '' : row.result.target_label
    return `${placeKey(row)} ${label}`
  })
  return groups.map(([first, ...others]) => [first!, ...others])
}

/** The same of rows on one input at one length, scale, causality and layer, whatever they are compared with. */
export function placeKey({cell}: CompletedSweep): string {
  const {input, seq_len, scale, logit_scale, causal, layer} = cell
  return JSON.stringify([input, seq_len, scale, logit_scale, causal, layer])
}

export interface PlaceAxis {
  title: string
  align: 'left' | 'right'
  /** Of several places that differ in nothing else. */
  plural: string
  value(row: CompletedSweep): string
  /** A value within a sentence. */
  phrase(value: string): string
  /** How two places that differ in it alone are called side by side; absent: they are not shown so. */
  contrast?: {preposition: 'at' | 'in' | 'with'; name(row: CompletedSweep): string}
}

const INPUT: PlaceAxis = {
  title: 'input',
  align: 'left',
  plural: 'inputs',
  value: ({cell}) => shortened(inputLabel(cell.input), 28),
  phrase: value => value,
}

const AXES: readonly PlaceAxis[] = [
  INPUT,
  {
    title: 'D',
    align: 'right',
    plural: 'head dimensions',
    value: ({result}) => String(result.head_dim),
    phrase: value => `D=${value}`,
    contrast: {preposition: 'with', name: ({result}) => `D=${result.head_dim}`},
  },
  {
    title: 'layer',
    align: 'right',
    plural: 'layers',
    value: ({cell}) => String(cell.layer ?? '-'),
    phrase: value => `layer ${value}`,
    contrast: {preposition: 'in', name: ({cell}) => `layer ${cell.layer}`},
  },
  {
    title: 'tokens',
    align: 'right',
    plural: 'lengths',
    value: ({result}) => String(result.query_len),
    phrase: value => `${value} tokens`,
    contrast: {preposition: 'at', name: ({result}) => `${result.query_len} tokens`},
  },
  {
    title: 'q, k times',
    align: 'right',
    plural: 'scales',
    value: ({cell}) => shortNumber(cell.scale),
    phrase: value => `q and k times ${value}`,
    contrast: {preposition: 'with', name: ({cell}) => logitsTimes(cell.scale)},
  },
  {
    title: 'compared with',
    align: 'left',
    plural: 'targets',
    value: ({cell, result}) => (cell.target === 'raw' ? 'softmax' : result.target_label),
    phrase: value => value,
  },
]

/** `logits / 16` of a factor 0.25 on q and k. */
function logitsTimes(scale: number): string {
  if (scale === 1) return 'logits as given'
  const factor = Number((scale < 1 ? scale ** -2 : scale ** 2).toPrecision(2))
  return `logits ${scale < 1 ? '/' : 'x'} ${factor}`
}

/** Two places that differ in one axis alone, which names them side by side; `undefined` of others. */
export function contrastOf(places: readonly Place[]): PlaceAxis['contrast'] {
  const [axis, ...others] = axesOf(places)
  return places.length === 2 && others.length === 0 ? axis?.contrast : undefined
}

export function axesOf(places: readonly Place[]): PlaceAxis[] {
  const firsts = places.map(([first]) => first)
  const ofLayers = new Set(firsts.map(({cell}) => cell.layer))
  const pairs = new Set(firsts.map(({cell}) => `${cell.layer} ${inputLabel(cell.input)}`))
  // files of layers have the numbers of these
  const isTold = !ofLayers.has(undefined) && pairs.size === ofLayers.size
  return AXES.filter(
    axis => !(isTold && axis === INPUT) && new Set(firsts.map(row => axis.value(row))).size > 1,
  )
}

/** A place among others: `layer 3, 256 tokens`. */
export function placeLabel([first]: Place, axes: readonly PlaceAxis[]): string {
  return axes.map(({value, phrase}) => phrase(value(first))).join(', ')
}

/** What was measured, in a line: `minilm-layer5.safetensors: 12 heads, 256 tokens, bidirectional`. */
export function measuredLabel(places: readonly Place[]): string {
  const firsts = places.map(([first]) => first)
  const {cell, result} = firsts[0]!
  const layers = [...new Set(firsts.flatMap(({cell}) => cell.layer ?? []))].sort((a, b) => a - b)
  const unusual = firsts.flatMap(({result}) => unusualScale(result) ?? [])
  const scales = firsts.map(({cell}) => cell.scale)
  const name = shortened(inputsLabel(firsts.map(({cell}) => cell.input)), 40)
  const alike = firsts.every(one => one.result.ran_causal === result.ran_causal)
  const parts = [
    ...(layers.length > MOST_NUMBERS ? [`${layers.length} layers`] : layersText(layers)),
    ranged(
      firsts.map(({result}) => result.heads),
      value => `${value} head${value === '1' ? '' : 's'}`,
    ),
    lengths(firsts),
    causalLabel(cell.causal, alike ? result.ran_causal : null) +
      cornerText({queryLen: result.query_len, keyLen: result.key_len}, viewOf(cell)),
    ...(unusual.length > 0 ? [ranged(unusual, value => `logits ${value} q.k`)] : []),
    ...(scales.some(scale => scale !== 1) && !contrastOf(places)
      ? [ranged(scales, value => `q and k times ${value}`)]
      : []),
  ]
  return `${name}: ${parts.join(', ')}`
}

/** What rows at one place have in common, in words. @param without - what is left out */
export function placeFacts(
  {cell, result}: CompletedSweep,
  without: readonly (keyof CompletedSweep['cell'])[] = [],
): string[] {
  const {input, layer, scale, causal, target} = cell
  return [
    inputLabel(input),
    ...(layer === undefined ? [] : [`layer ${layer}`]),
    ...(without.includes('seq_len') ? [] : [`L=${result.query_len}`]),
    ...(scale === 1 || without.includes('scale') ? [] : [`q and k times ${significant(scale)}`]),
    ...(causal && !without.includes('causal') ? ['causal'] : []),
    ...(target === 'raw' ? [] : ['from random vectors alone']),
  ]
}

/** Layers that are named by their numbers. */
const MOST_NUMBERS = 4

function layersText(layers: readonly number[]): string[] {
  if (layers.length === 0) return []
  return [`layer${layers.length > 1 ? 's' : ''} ${listed(layers.map(String))}`]
}

function lengths(firsts: readonly CompletedSweep[]): string {
  const queryLens = firsts.map(({result}) => result.query_len)
  const queries = ranged(queryLens, String)
  const keyLens = firsts.map(({result}) => result.key_len)
  const keys = ranged(keyLens, String)
  return queries === keys ? `${queries} tokens` : `${queries} queries, ${keys} keys`
}

/** `12 heads`, or `8 to 12 heads`. */
function ranged(values: readonly number[], named: (value: string) => string): string {
  const [low, high] = spanOf(values)
  const text = low === high ? shortNumber(low) : `${shortNumber(low)} to ${shortNumber(high)}`
  return named(text)
}

/** A number as it was typed, unless that is long. */
function shortNumber(value: number): string {
  const typed = String(value)
  return typed.length <= 6 ? typed : significant(value)
}
