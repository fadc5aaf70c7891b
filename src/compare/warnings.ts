/** What else differs between two runs than what is to be compared. */

import type {Related} from '../experiments/comparison.js'
import {fewPairsNote} from '../experiments/few-pairs.js'
import {spanOf} from '../report/groups.js'
import {plural, ratio as ratioText} from '../report/numbers.js'
import type {Machine} from '../results/folder/manifest.js'
import {endedRecords} from '../results/record.js'
import {median} from '../stats/index.js'
import type {ComparisonRequest, MeasuredPair, Side} from './match.js'
import type {ComparedRow} from './schema.js'

/** Sentences, those about the machine first. */
export function warningsOf(
  request: ComparisonRequest,
  pairs: readonly MeasuredPair[],
  rows: readonly ComparedRow[],
): string[] {
  const {related, a, b, comparison} = request
  const timed = comparison.quantities.some(({name}) => name === 'time')
  const differing = related === 'runs' ? [...machines(a, b), ...computedBy(pairs)] : []
  const what = timed
    ? 'measure both on one machine to compare code'
    : 'numbers may differ by more than rounding'
  return [
    ...(differing.length === 0 ? [] : [`A and B differ: ${differing.join('; ')}; ${what}`]),
    ...disturbed(request, 'A', 0, pairs),
    ...(related === 'runs' ? disturbed(request, 'B', 1, pairs) : []),
    ...unfinished(a, 'A'),
    ...(related === 'runs' ? unfinished(b, 'B') : []),
    ...otherwise(pairs, related),
    ...(related === 'runs' ? commonShift(rows) : []),
    ...fewPairs(rows),
  ]
}

/** What a run of a history and one before it differ in other than the machine, and what looks like chance. */
export function stepWarnings(
  pairs: readonly MeasuredPair[],
  rows: readonly ComparedRow[],
): string[] {
  return [
    ...computedBy(pairs, (name, a, b) => (a === b ? [] : [`${name} ${a}, then ${b}`])),
    ...otherwise(pairs, 'runs'),
    ...commonShift(rows),
    ...fewPairs(rows),
  ]
}

/** Facts by the words for them. */
type Facts = readonly (readonly [string, (machine: Machine) => unknown])[]

/** What makes a machine another one. */
const HARDWARE: Facts = [
  ['processor', ({cpu}) => cpu],
  ['processors to use', machine => machine.available_parallelism],
  ['system', ({platform, arch}) => `${platform} ${arch}`],
]

/** What else of a machine matters. */
export const SOFTWARE: Facts = [
  ['best instruction set', machine => machine.instruction_set ?? 'unknown'],
  ['Node', ({node}) => node],
  ['rfa', ({rfa}) => rfa],
  ['TensorFlow.js', ({tfjs}) => tfjs],
]

/** A machine in words: times of two that differ in them are not compared in a history. */
export function machineText(machine: Machine): string {
  return HARDWARE.map(([name, of]) => `${name} ${of(machine)}`).join(', ')
}

function machines({manifest: a}: Side, {manifest: b}: Side): string[] {
  return [...HARDWARE, ...SOFTWARE].flatMap(([name, of]) =>
    differing(name, of(a.machine), of(b.machine)),
  )
}

function differing(name: string, a: unknown, b: unknown): string[] {
  return a === b ? [] : [`${name} ${a} in A, ${b} in B`]
}

/** What computed the cells, where that was not the same. */
function computedBy(pairs: readonly MeasuredPair[], texts = differing): string[] {
  const facts = [
    ['backend', 'backend'],
    ['instruction set', 'instruction_set'],
    ['threads', 'threads'],
  ] as const
  return facts.flatMap(([name, field]) => {
    const told = pairs.map(([a, b]) =>
      texts(name, a.result[field] ?? 'unknown', b.result[field] ?? 'unknown').join(),
    )
    return counted(told.filter(Boolean), pairs.length)
  })
}

/** Each text once, with how many cells it is of where that is not all. */
function counted(texts: readonly string[], all: number): string[] {
  return [...new Set(texts)].map(text => {
    const count = texts.filter(other => other === text).length
    return count === all ? text : `${text} (${count} of ${plural(all, 'cell')})`
  })
}

/** @param side - of a pair */
function disturbed(
  {comparison, related}: ComparisonRequest,
  name: string,
  side: 0 | 1,
  pairs: readonly MeasuredPair[],
): string[] {
  const records = related === 'methods' ? pairs.flat() : pairs.map(pair => pair[side])
  const statement = comparison.disturbed?.([...new Set(records)])
  return statement === undefined ? [] : [`${related === 'runs' ? `${name}: ` : ''}${statement}`]
}

function unfinished({records, cells, directory}: Side, name: string): string[] {
  const ended = endedRecords(records).length
  if (cells === null || ended >= cells) return []
  return [`${name} is not finished: ${ended} of ${plural(cells, 'cell')} in ${directory}`]
}

/** Fields of cells that may differ in a match, and what that means. */
const FREE: readonly (readonly [string, string])[] = [
  ['seed', 'seeds differ, so that draws are not shared'],
  ['timing', 'times were taken by other protocols (warm-up, runs, least time)'],
  ['threads', 'other numbers of threads were asked for'],
  ['plugin', 'the plug-in of a method is another version'],
]

function otherwise(pairs: readonly MeasuredPair[], related: Related): string[] {
  if (related === 'methods') return []
  return FREE.flatMap(([field, meaning]) => {
    const count = pairs.filter(([a, b]) => {
      const [own, other] = [a, b].map(({cell}) => JSON.stringify((cell as Cell)[field]))
      return own !== other
    }).length
    if (count === 0) return []
    return [
      count === pairs.length
        ? meaning
        : `${meaning}, in ${count} of ${plural(pairs.length, 'cell')}`,
    ]
  })
}
type Cell = Record<string, unknown>

/** Cells that may all have moved one way by chance, in less than one case of twenty: 2^(1 - n). */
const LEAST_SHIFTED = 6

/** Times that all moved one way. */
function commonShift(rows: readonly ComparedRow[]): string[] {
  const ratios = rows.flatMap(({quantity, ratio}) =>
    quantity === 'time' && ratio !== null ? [ratio] : [],
  )
  const oneWay = ratios.every(ratio => ratio > 1) || ratios.every(ratio => ratio < 1)
  if (ratios.length < LEAST_SHIFTED || !oneWay) return []
  const shift = ratioText(median(ratios))
  return [
    `all ${ratios.length} times moved one way, by ${shift} in the median: one run may have had a busier machine; repeat both, one after the other`,
  ]
}

function fewPairs(rows: readonly ComparedRow[]): string[] {
  const pairs = rows.flatMap(row => row.pairs ?? [])
  return pairs.length === 0 ? [] : fewPairsNote(spanOf(pairs)[1], 'replicate')
}
