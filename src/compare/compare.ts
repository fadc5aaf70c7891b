/** Two runs, or two methods of one, line by line. */
import {adjustedPValues, byTest} from '../answers/index.js'
import type {
  ComparedLine,
  Comparison,
  LinesOf,
  MeasuredRecord,
  Place,
  UncomparedLine,
} from '../experiments/comparison.js'
import {canonicalJson} from '../results/keys.js'
import type {CellRecord} from '../results/record.js'
import {finiteOrNull} from '../stats/index.js'
import {judged, type Limit} from './limits.js'
import {
  type ComparisonRequest,
  type Matching,
  type MeasuredPair,
  matchMethods,
  matchRuns,
  type Side,
} from './match.js'
import type {ComparedRow, ComparedSide, ComparisonFacts, LeftRow} from './schema.js'
import {warningsOf} from './warnings.js'

/** Compares what is matched, and names the rest. */
export function compare(request: ComparisonRequest): ComparisonFacts {
  const {experiment, comparison, related, a, b, limits, strict} = request
  const matching =
    related === 'runs'
      ? matchRuns(a.records, b.records, comparison)
      : matchMethods([a.records, b.records])
  const measured = ordered(measuredPairs(matching), comparison)
  const all = [...new Set([...a.records, ...b.records])].filter(isMeasured)
  const between = comparison.between(related, all)
  const found = measured.flatMap(pair => linesOf(pair, comparison, between))
  const rows = rowsOf(found, request)
  const left = [
    ...found.flatMap(one => ('reason' in one.line ? [leftLine(one.line, one.at)] : [])),
    ...leftCells(matching, comparison),
  ]
  return {
    ...{experiment, related, a: factsOf(a), b: factsOf(b)},
    warnings: warningsOf(request, measured, rows),
    ...{rows, left, limits: [...limits], strict},
    passed: isPassed(rows, left, request),
  }
}

/** Pairs in the order in which tables have the cells of A. */
function ordered(pairs: readonly MeasuredPair[], {inOrder}: Comparison): readonly MeasuredPair[] {
  if (!inOrder) return pairs
  const own = [...new Set(pairs.map(([a]) => a))]
  const ranks = new Map(inOrder(own).map((record, at) => [record, at]))
  return pairs.toSorted(([a], [b]) => ranks.get(a)! - ranks.get(b)!)
}

/** Those that were measured on both sides. */
export function measuredPairs({pairs}: Matching): MeasuredPair[] {
  return pairs.filter((pair): pair is MeasuredPair => pair.every(isMeasured))
}

export function isMeasured(record: CellRecord): record is MeasuredRecord {
  return record.status === 'completed'
}

/** A line with its cells. */
export interface Found {
  pair: MeasuredPair
  line: ComparedLine | UncomparedLine
  at: Place
}

/** The lines of two cells, and where each is. */
export function linesOf(pair: MeasuredPair, {place}: Comparison, between: LinesOf<MeasuredRecord>) {
  const [a, b] = pair
  const where = joined(place(a.cell, a.result), place(b.cell, b.result))
  return between.lines(a, b).map((line): Found => ({pair, line, at: {...where, ...line.at}}))
}

/** Names of both: values that differ stand side by side, and a missing value is taken from the other. */
function joined(a: Place, b: Place): Place {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return Object.fromEntries(
    [...names].map(name => {
      const values = [a[name], b[name]].filter(Boolean)
      return [name, [...new Set(values)].join(' / ')]
    }),
  )
}

/** Lines that could be compared, tested together. */
export function rowsOf(
  found: readonly Found[],
  {comparison: {quantities, margin = 0}, limits}: Pick<ComparisonRequest, 'comparison' | 'limits'>,
): ComparedRow[] {
  const lines = found.flatMap(({pair, line, at}) => ('reason' in line ? [] : [{pair, line, at}]))
  const compared = lines.map(({line}) => line)
  const adjusted = adjustedPValues(compared, margin)
  return lines.map(({pair, line, at}, place) => {
    const p = isOpposed(line) ? 1 : adjusted[place]!
    const limit = limits.find(({quantity}) => quantity === line.quantity)
    const {a, b, ratio, basis} = line
    return {
      quantity: line.quantity,
      at,
      key_a: pair[0].key,
      key_b: pair[1].key,
      unit: quantities.find(({name}) => name === line.quantity)!.unit,
      ...{a, b, ratio: finiteOrNull(ratio.value)},
      ratio_low: finiteOrNull(ratio.low),
      ratio_high: finiteOrNull(ratio.high),
      p_value: finiteOrNull(p),
      effect: finiteOrNull(line.effect),
      basis,
      pairs: line.pairs ?? null,
      answer: byTest(ratio, p, margin),
      limit_percent: limit?.percent ?? null,
      judgement: limit ? judged(line, limit) : null,
    }
  })
}

/** Whether the mean of paired differences, which is tested, lies on the other side of none than the centre that is shown. */
function isOpposed({differences, ratio}: ComparedLine): boolean {
  if (!differences) return false
  return differences.reduce((sum, x) => sum + x, 0) * Math.log(ratio.value) < 0
}

/** What cannot be compared between two cells, and why. */
export function leftLine({quantity, reason, settled}: UncomparedLine, at: Place): LeftRow {
  return {where: 'both', quantity, at: {...at}, reason, open: !settled}
}

/** Cells without a partner, and those of pairs that were not both measured. */
function leftCells({pairs, onlyA, onlyB}: Matching, {place, measured}: Comparison): LeftRow[] {
  const left = (
    where: LeftRow['where'],
    record: CellRecord,
    rest: Pick<LeftRow, 'reason' | 'open'>,
  ): LeftRow => {
    const result = isMeasured(record) ? record.result : undefined
    return {where, quantity: null, at: {...place(record.cell, result)}, ...rest}
  }
  const keyOf = ({cell}: CellRecord) => canonicalJson(measured(cell))
  const [inA, inB] = [new Set(onlyA.map(keyOf)), new Set(onlyB.map(keyOf))]
  const alone = (one: CellRecord, side: 'A' | 'B', others: ReadonlySet<string>) => {
    const what = others.has(keyOf(one)) ? 'several cells measure the same' : `only in ${side}`
    return `${what}${endOf(one)}`
  }
  return [
    ...onlyA.map(one => left('a', one, {reason: alone(one, 'A', inB), open: isMeasured(one)})),
    ...onlyB.map(one => left('b', one, {reason: alone(one, 'B', inA), open: false})),
    ...pairs
      .filter(pair => !pair.every(isMeasured))
      .map(([a, b]) => {
        const [own, other] = [a, b].map(record => endOf(record) || ': measured')
        const reason = own === other ? `in both${own}` : `in A${own}; in B${other}`
        return left('both', a, {reason, open: isMeasured(a)})
      }),
  ]
}

/** How a cell ended that has no numbers; of others nothing. */
export function endOf(record: CellRecord): string {
  if (record.status === 'skipped') return `: skipped, ${record.reason}`
  return record.status === 'failed' ? `: failed, ${record.error.message}` : ''
}

function factsOf({directory, method, manifest, records, cells}: Side): ComparedSide {
  const completed = records.filter(isMeasured).length
  const {created_at, machine} = manifest
  return {directory, method, created_at, commit: machine.commit, cells, completed}
}

/** Whether the limits let lines pass. */
export function isPassed(
  rows: readonly ComparedRow[],
  left: readonly LeftRow[],
  {limits, strict}: Pick<ComparisonRequest, 'limits' | 'strict'>,
): boolean {
  if (limits.length === 0) return true
  if (rows.some(({judgement}) => judgement === 'regression')) return false
  const within = rows.filter(({judgement}) => judgement === 'within').length
  if (within + settled(left, limits).length === 0) return false
  return !strict || unjudged(rows, left, limits).length === 0
}

/** What a limit applies to and could not be judged: lines, and pairs without a line. */
export function unjudged(
  rows: readonly ComparedRow[],
  left: readonly LeftRow[],
  limits: readonly Limit[],
): (ComparedRow | LeftRow)[] {
  return [
    ...rows.filter(({judgement}) => judgement === 'cannot_be_told'),
    ...left.filter(
      ({open, quantity}) => open && (quantity === null || isLimited(quantity, limits)),
    ),
  ]
}

/** Lines that a limit speaks of and that need no numbers to be within it. */
export function settled(left: readonly LeftRow[], limits: readonly Limit[]): LeftRow[] {
  return left.filter(
    ({where, open, quantity}) =>
      where === 'both' && !open && quantity !== null && isLimited(quantity, limits),
  )
}

function isLimited(quantity: LeftRow['quantity'], limits: readonly Limit[]): boolean {
  return limits.some(limit => limit.quantity === quantity)
}
