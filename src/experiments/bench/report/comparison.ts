/** Times and memory of two cells: of two benchmarks, or of two methods of one. */

import {modelName} from '../../../model/hub.js'
import {groupBy} from '../../../report/groups.js'
import {canonicalJson} from '../../../results/keys.js'
import {mapped, quantile, superiority} from '../../../stats/index.js'
import type {
  ComparedLine,
  Comparison,
  Place,
  Quantity,
  Sides,
  UncomparedLine,
} from '../../comparison.js'
import {methodLabel, projectionLabel} from '../../labels.js'
import type {BenchCell, TimedRecord} from '../schema.js'
import {intervalOf, PairedTimes, pDiffers} from '../times/paired-times.js'
import {medianOf} from '../times/time-estimates.js'
import {decodeTo} from './lines/decode-to.js'
import {busyText, machineVerdictOf} from './lines/machine-verdict.js'
import {rowsInOrder} from './lines/variants.js'

const TIME: Quantity = {
  name: 'time',
  title: 'Time',
  more: 'slower',
  less: 'faster',
  unit: 'ns',
  legend: {
    runs: "A, B: medians. B/A: ratio of undisturbed calls (p10 of each process) with its 95 % interval, Welch's t on their logarithms; what most times differ by, up to a factor of two, counts as the machine's. p: of that test, adjusted for all lines (Holm). P(B > A): chance that a timed run of B is slower than one of A.",
    methods:
      'A, B: medians. B/A: ratio of undisturbed calls (p10 of each process), process by process, with its 95 % interval, t on their logarithms. p: of that test, adjusted for all lines (Holm). P(B > A): chance that a timed run of B is slower than one of A.',
  },
}

const COUNTED =
  'Counted: the most bytes of tensors that a call holds at once, without inputs and output; of a decode its state. Exact, so without an interval.'

const MEMORY: Quantity = {
  name: 'memory',
  title: 'Memory',
  more: 'more',
  less: 'less',
  unit: 'bytes',
  legend: {runs: COUNTED, methods: COUNTED},
}

export const benchComparison: Comparison<BenchCell, TimedRecord> = {
  quantities: [TIME, MEMORY],
  measured({seed, backend, threads, timing, lengths, breakdown, plugin, model, ...cell}) {
    // the same model may lie elsewhere
    return {...cell, ...(model && {model: model.digest})}
  },
  place: (cell, result) => ({
    ...(cell.mode && {mode: cell.mode}),
    ...(cell.model && {model: modelName(cell.model.folder), layers: cell.layers?.join() ?? ''}),
    method: methodLabel(cell),
    projection: projectionLabel(cell) ?? '',
    redraw: cell.redraw === 'fixed' ? '' : cell.redraw,
    M: String(cell.num_features ?? ''),
    // a decode has lines by the tokens so far
    L: cell.mode === 'decode' ? '' : String(cell.seq_len),
    B: String(cell.batch),
    H: String(cell.heads),
    ...(cell.kv_heads && {Hkv: String(cell.kv_heads)}),
    D: String(cell.head_dim),
    Dv: String(cell.value_dim),
    attention: cell.causal ? 'causal' : 'bidirectional',
    backend: result?.backend ?? '',
  }),
  inOrder: rowsInOrder,
  disturbed(records) {
    const found = machineVerdictOf(records)
    return found?.verdict === 'disturbed' ? busyText(found) : undefined
  },
  between(related, all, sides = ['A', 'B']) {
    const times = new PairedTimes(all)
    const compared = related === 'methods' ? ofOneRun(times) : ofTwoRuns(times, shiftOf(times, all))
    return {
      lines: (a, b) =>
        a.cell.mode === 'decode'
          ? decodeLines(a, b, {compared, sides})
          : linesOf(forward(a), forward(b), compared),
    }
  },
}

/** What is compared of a cell, or of a decode up to some token. */
interface Timed {
  at: Place
  record: TimedRecord
  /** `null`: not counted. */
  bytes: number | null
}

function forward(record: TimedRecord): Timed {
  return {at: {}, record, bytes: record.result.live_bytes}
}

function linesOf(a: Timed, b: Timed, compared: Compared): ComparedLine[] {
  return [timeLine(a, b, compared), ...memoryLine(a, b)]
}

function timeLine({at, record: a}: Timed, {record: b}: Timed, compared: Compared): ComparedLine {
  const [own, other] = [medianOf(a), medianOf(b)]
  return {
    quantity: 'time',
    at,
    ...{a: own.value, b: other.value, interval: other},
    ...compared(a, b),
    effect: superiority(b.result.samples_ns, a.result.samples_ns),
  }
}

/** The ratio of B to A, and how it is tested. */
type Compared = (a: TimedRecord, b: TimedRecord) => Pick<ComparedLine, 'ratio' | 'pValue' | 'basis'>

function ofOneRun(times: PairedTimes): Compared {
  return (a, b) => {
    const found = times.logRatio(b, a)
    const ratio = mapped(intervalOf(found), Math.exp)
    return {ratio, pValue: pDiffers(found), basis: 'processes'}
  }
}

function ofTwoRuns(times: PairedTimes, shift: number): Compared {
  return (a, b) => {
    const found = times.logRatioOfRuns(b, a, shift)
    const ratio = mapped(intervalOf(found), Math.exp)
    return {ratio, pValue: pDiffers(found), basis: 'medians'}
  }
}

/**
 * Fewest cells of two runs that can have a shift in common, and its most, as a logarithm: a thread that shares its core has half of it.
 */
const SHIFT = {cells: 6, most: Math.LN2}

/**
 * What the times of two runs differ by as a whole, as a logarithm: from one run to the next a machine is faster or slower, which no
 * process of either shows. Three quarters of the times differ by that much or more, the same way; beyond a factor of two it is the code.
 * Nothing where they were computed otherwise, which explains it.
 *
 * @param all - the records of one run before those of the other
 */
function shiftOf(times: PairedTimes, all: readonly TimedRecord[]): number {
  const same = groupBy(all, ({cell}) => canonicalJson(benchComparison.measured(cell)))
  const pairs = same.filter(({length}) => length === 2)
  const alike = pairs.every(([a, b]) => computedHow(a!) === computedHow(b!))
  if (pairs.length < SHIFT.cells || !alike) return 0
  const logs = pairs.map(([a, b]) => times.logRatioOfRuns(b!, a!).value)
  const shift = Math.max(0, quantile(logs, 0.25), -quantile(logs, 0.75))
  return shift > SHIFT.most ? 0 : shift
}

function computedHow({result: {backend, threads, instruction_set}}: TimedRecord): string {
  return JSON.stringify([backend, threads, instruction_set])
}

/** Nothing where neither holds anything, or it was not counted. */
function memoryLine({at, bytes: a}: Timed, {bytes: b}: Timed): ComparedLine[] {
  if (a === null || b === null || (a === 0 && b === 0)) return []
  const ratio = {value: b / a, low: b / a, high: b / a}
  const exact = {pValue: Number.NaN, effect: Number.NaN, basis: 'exact'} as const
  return [{quantity: 'memory', at, a, b, ratio, ...exact}]
}

/** Lines for each length that both were asked for; one that only A was looked at may hide a regression. */
function decodeLines(
  a: TimedRecord,
  b: TimedRecord,
  {compared, sides}: {compared: Compared; sides: Sides},
): (ComparedLine | UncomparedLine)[] {
  const asked = [...new Set([a, b].flatMap(({cell}) => cell.lengths ?? []))]
  return asked
    .sort((one, other) => one - other)
    .flatMap((tokens): (ComparedLine | UncomparedLine)[] => {
      const [own, other] = [upTo(a, tokens), upTo(b, tokens)]
      if (own && other) return linesOf(own, other, compared)
      return own || other ? oneSided(tokens, sides, own ? 0 : 1) : []
    })
}

function oneSided(tokens: number, sides: Sides, side: 0 | 1): UncomparedLine[] {
  const reason = `only ${sides[side]} has a time at this number of tokens`
  const settled = side === 1
  return (['time', 'memory'] as const).map(quantity => {
    return {quantity, at: {tokens: String(tokens)}, reason, settled}
  })
}

function upTo(decode: TimedRecord, tokens: number): Timed | undefined {
  if (!decode.cell.lengths?.includes(tokens)) return undefined
  const record = decodeTo(decode, tokens)
  const mark = decode.result.marks?.find(one => one.tokens === tokens)
  return record && mark && {at: {tokens: String(tokens)}, record, bytes: mark.state_bytes}
}
