/** What a benchmark found, in sentences: those of the first screen and of pages. */
import {endsOf, isTold} from '../../../answers/index.js'
import {groupBy} from '../../../report/groups.js'
import {nanoseconds, ratioWithInterval} from '../../../report/numbers.js'
import {capital, listed} from '../../../report/words.js'
import type {CrossoverAnswer} from '../../../results/findings.js'
import type {Estimate} from '../../../stats/index.js'
import {methodLabel} from '../../labels.js'
import type {BenchRecord, TimedRecord} from '../schema.js'
import {PairedTimes} from '../times/paired-times.js'
import {undisturbedTime} from '../times/time-estimates.js'
import {backendGain} from './lines/backends.js'
import {orderOf} from './lines/crossover.js'
import {fastestExact, type Line, linesByBackend, type Shape, shapeLines} from './lines/lines.js'
import {shareSentence} from './lines/model.js'
import {rowsInOrder, shapesOf} from './lines/variants.js'

export interface View {
  /** By batch size. */
  shapes: readonly Shape[]
  times: PairedTimes
}

export function benchView(records: readonly BenchRecord[]): View {
  const shapes = shapesOf(records)
  const times = new PairedTimes(shapes.flat())
  return {shapes: shapes.map(rows => shapeLines(rowsInOrder(rows), times)), times}
}

/** Sentences, the most telling first. */
export function benchAnswers({shapes, times}: View): string[] {
  const [only] = shapes
  if (!only) return []
  if (shapes.length > 1) {
    return shapes.map(
      shape => `B=${cellOf(shape).batch}: ${speedSentence(mainLines(shape), shape)}`,
    )
  }
  const main = mainLines(only)
  return [
    speedSentence(main, only),
    ...backendSentences(only, times),
    ...withoutAttention(main, only),
    ...crossoverSentences(main),
    ...breakdownSentences(main),
  ]
}

/** Those of the first backend that has methods: one in Python has none of ours. */
function mainLines(shape: Shape): readonly Line[] {
  const all = linesByBackend(shape)
  return all.find(lines => lines.some(({kind}) => kind === 'method')) ?? all[0]!
}

function cellOf({lines}: Shape): TimedRecord['cell'] {
  return lines[0]!.records[0]!.cell
}

function placeText({cell}: TimedRecord): string {
  return cell.mode === 'decode' ? `over ${cell.seq_len} tokens` : `at L=${cell.seq_len}`
}

/** A method at a length where an exact form was measured, too. */
interface Rival {
  line: Line
  row: TimedRecord
  gain: Estimate
}

/** Which methods are faster than exact attention, at the longest length where both were measured. */
function speedSentence(lines: readonly Line[], shape: Shape): string {
  const methods = lines.filter(({kind}) => kind === 'method')
  const place = shape.lengths.findLast(length => methods.some(({gains}) => gains.has(length)))
  if (place === undefined) return withoutRivals(lines, shape)
  const rivals = methods.flatMap((line): Rival[] => {
    const gain = line.gains.get(place)
    return gain ? [{line, row: line.times.get(place)!, gain}] : []
  })
  const where = placeText(rivals[0]!.row)
  const best = rivals
    .filter(({gain}) => isTold(gain))
    .toSorted((a, b) => b.gain.value - a.gain.value)[0]
  if (!best) return `The machine was too busy to compare methods with exact attention ${where}.`
  const all = lines.flatMap(({times}) => times.get(place) ?? [])
  const exact = fastestExact(all, best.row)!
  const form = `exact attention (${exact.cell.method}, ${nanoseconds(exact.result.median_ns)})`
  const faster = rivals.filter(({gain}) => orderOf(endsOf(gain)) === 'faster')
  if (rivals.length === 1) return onlyText(best, form, where)
  const lead = `${best.line.name}, ${ratioWithInterval(best.gain)}`
  if (faster.length === 1) {
    return `${manyText(1, rivals)} is faster than ${form} ${where}: ${lead}.`
  }
  if (faster.length > 1) {
    return `${manyText(faster.length, rivals)} are faster than ${form} ${where}; the fastest is ${lead}.`
  }
  const open = rivals.filter(({gain}) => orderOf(endsOf(gain)) === 'open').length
  const rest = open > 0 ? ` (${open} of ${rivals.length} inconclusive)` : ''
  return `None of ${rivals.length} ${nounOf(rivals)} is faster than ${form} ${where}${rest}; the fastest is ${lead}.`
}

function manyText(count: number, rivals: readonly Rival[]): string {
  const noun = nounOf(rivals)
  if (count < rivals.length) return `${count} of ${rivals.length} ${noun}`
  return count === 2 ? `Both ${noun}` : `All ${count} ${noun}`
}

function nounOf(rivals: readonly Rival[]): string {
  const methods = new Set(rivals.map(({row}) => methodLabel(row.cell)))
  return methods.size === rivals.length ? 'methods' : 'variants'
}

function onlyText({line, gain}: Rival, form: string, where: string): string {
  const ratio = ratioWithInterval(gain)
  const order = orderOf(endsOf(gain))
  if (order === 'faster') return `${line.name} is ${ratio} faster than ${form} ${where}.`
  if (order === 'slower') return `${line.name} is slower than ${form} ${where}: ${ratio} its speed.`
  return `${line.name} is not distinguishable from ${form} ${where}: ${ratio} its speed.`
}

/** Where methods or exact forms are missing. */
function withoutRivals(lines: readonly Line[], {lengths}: Shape): string {
  const place = lengths.findLast(length => lines.some(({times}) => times.has(length)))!
  const rows = lines.flatMap(line => {
    const row = line.times.get(place)
    return row ? [{line, row}] : []
  })
  rows.sort((a, b) => undisturbedTime(a.row) - undisturbedTime(b.row))
  const [{line, row}, second] = rows as [(typeof rows)[number], (typeof rows)[number] | undefined]
  const time = nanoseconds(row.result.median_ns)
  const where = placeText(row)
  if (line.kind !== 'exact') {
    const many = rows.length > 1 ? ` is the fastest of ${rows.length} and` : ''
    return `${line.name}${many} takes ${time} ${where}; no exact form was measured to compare with.`
  }
  const gain = second?.line.gains.get(place)
  const other = gain ? `; ${second!.line.name} runs at ${ratioWithInterval(gain)} its speed` : ''
  return `${line.name} takes ${time} ${where}${other}.`
}

/** The most telling answers first. */
const ORDER: readonly CrossoverAnswer[] = ['overtakes', 'faster', 'mixed', 'slower', 'unsettled']

/** From which length on methods are faster, those with one answer together. */
function crossoverSentences(lines: readonly Line[]): string[] {
  const told = lines.filter(({gains}) => [...gains.values()].some(isTold))
  const found = told.flatMap(({name, crossover}) => (crossover ? [{name, ...crossover}] : []))
  const inTurn = found.toSorted((a, b) => ORDER.indexOf(a.answer) - ORDER.indexOf(b.answer))
  const groups = groupBy(inTurn, ({statement}) => statement)
  return groups.map(group => {
    const {statement} = group[0]!
    const names = listed(group.map(({name}) => name))
    return `${names} ${group.length > 1 ? inPlural(statement) : statement}.`
  })
}

/** A statement of several: its first word is a verb. */
function inPlural(statement: string): string {
  return statement.replace(/^\w+/, verb => (verb === 'is' ? 'are' : verb.replace(/s$/, '')))
}

/** How fast other backends, or peers, are. */
function backendSentences(shape: Shape, times: PairedTimes): string[] {
  const [main, ...others] = linesByBackend(shape) as [Line[], ...Line[][]]
  const all = shape.lines.flatMap(line => [...line.times.values()])
  return others.flatMap(lines => {
    const gainsAt = (length: number) =>
      lines.flatMap(line => {
        const row = line.times.get(length)
        const gain = row && backendGain(row, all, times)
        return gain ? [{row, gain}] : []
      })
    const found = shape.lengths.map(gainsAt).findLast(gains => gains.length > 0)
    if (!found) return []
    found.sort((a, b) => a.gain.value - b.gain.value)
    const ends = [...new Set([found[0]!, found.at(-1)!])]
    const speeds = ends.map(
      ({row, gain}) => `${ratioWithInterval(gain)} (${methodLabel(row.cell)})`,
    )
    const own = `the speed of ${main[0]!.backend}`
    return [
      `${capital(placeText(found[0]!.row))} ${lines[0]!.backend} runs at ${speeds.join(' to ')} ${own}.`,
    ]
  })
}

/** Of a layer, or a model: how much there is to gain. */
function withoutAttention(lines: readonly Line[], {lengths}: Shape): string[] {
  return lines.flatMap(({kind, times, gains}) => {
    const last = kind === 'yardstick' ? lengths.findLast(length => gains.has(length)) : undefined
    if (last === undefined) return []
    const row = times.get(last)!
    if (row.cell.mode === 'model') return [shareSentence(gains.get(last)!, row)]
    const time = nanoseconds(row.result.median_ns)
    return [
      `Without attention the layer takes ${time} ${placeText(row)}: no method can gain more than ${ratioWithInterval(gains.get(last)!)}.`,
    ]
  })
}

/** Where the time of forwards goes, at the longest length. */
function breakdownSentences(lines: readonly Line[]): string[] {
  return lines.flatMap(({name, records}) => {
    const row = records.at(-1)!
    const parts = row.result.breakdown?.parts ?? []
    const shares = parts
      .filter(({share}) => share !== null)
      .toSorted((a, b) => b.share! - a.share!)
      .map(({part, share}) => `${part} ${Math.round(100 * share!)} %`)
    if (shares.length === 0) return []
    return [
      `Of the time of ${name} ${placeText(row)}, parts timed alone take: ${shares.join(', ')}.`,
    ]
  })
}
