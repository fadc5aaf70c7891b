/** Variances of kernel estimates of two cells: of two experiments, or of two methods of one. */
import {logInterval, ratioPValue} from '../../../stats/index.js'
import type {ComparedLine, Comparison, Place, Sides, UncomparedLine} from '../../comparison.js'
import {methodLabel} from '../../labels.js'
import {NO_PROJECTION} from '../measure/batch.js'
import {rowsText} from '../pair-text.js'
import type {CompletedVariance, VarianceCell} from '../schema.js'

const LEGEND =
  'Variance of the kernel estimate over the square of its expectation. B/A: with a 95 % interval from the standard errors of both variances, taken as independent: of shared draws it is too wide, unless they gave the same variance: then nothing differs. p: of the same, adjusted for all lines (Holm).'

export const varianceComparison: Comparison<VarianceCell, CompletedVariance> = {
  quantities: [
    {
      name: 'variance',
      title: 'Relative variance',
      more: 'varies more',
      less: 'varies less',
      unit: null,
      legend: {runs: LEGEND, methods: LEGEND},
    },
  ],
  measured({
    seed,
    backend,
    replicates,
    until_ci,
    precision,
    max_draws,
    plugin,
    projections,
    ...cell
  }) {
    return cell
  },
  place: (cell, result) => ({
    method: methodLabel(cell),
    signs: cell.orth_sign === 'raw' ? 'raw' : '',
    M: String(cell.num_features),
    D: String(cell.head_dim),
    '|x|': String(cell.norm),
    '|y|': String(cell.key_norm ?? cell.norm),
    angle: String(cell.angle_deg),
    pair: pairOf(cell),
    backend: result?.backend ?? '',
  }),
  between: (_related, _all, sides = ['A', 'B']) => ({lines: (a, b) => linesOf(a, b, sides)}),
}

/** Where a pair of an input stands. */
function pairOf({batch, head, query_index, key_index}: VarianceCell): string {
  return [batch, head, query_index, key_index].filter(at => at !== undefined).join('.')
}

type Line = ComparedLine | UncomparedLine

/** A line for each random matrix of both; a method without any is compared with each of the other. */
function linesOf(a: CompletedVariance, b: CompletedVariance, sides: Sides): Line[] {
  const [own, other] = [a, b].map(rowsByName) as [Rows, Rows]
  const pairs = [...own].flatMap(([name, row]) => partnersOf(name, other).map(to => [row, to]))
  const compared = new Set(pairs.flat())
  const alone = (rows: Rows, side: 0 | 1) =>
    [...rows.values()].filter(row => !compared.has(row)).map(row => oneSided(row, sides, side))
  const lines = pairs.map(([row, to]) => lineOf([a, row!], [b, to!]))
  return [...lines, ...alone(own, 0), ...alone(other, 1)]
}

type Row = CompletedVariance['result']['per_projection'][number]
type Rows = ReadonlyMap<string, Row>

function rowsByName({result}: CompletedVariance): Rows {
  return new Map(result.per_projection.map(row => [rowsText(row), row]))
}

function partnersOf(name: string, others: Rows): Row[] {
  if (name === NO_PROJECTION) return [...others.values()]
  const partner = others.get(name) ?? others.get(NO_PROJECTION)
  return partner ? [partner] : []
}

/** What only A has may hide a regression. */
function oneSided(row: Row, sides: Sides, side: 0 | 1): UncomparedLine {
  const at = placeOf(row)
  const reason = `a random matrix of ${sides[side]} alone`
  return {quantity: 'variance', at, reason, settled: side === 1}
}

function placeOf(...rows: Row[]): Place {
  const row = rows.find(({projection}) => projection !== NO_PROJECTION)
  return row ? {projection: rowsText(row)} : {}
}

type Measured = readonly [CompletedVariance, Row]

function lineOf([a, own]: Measured, [b, other]: Measured): Line {
  const at = placeOf(own, other)
  const line = {quantity: 'variance', at} as const
  const withheld = own.withheld ?? other.withheld
  if (withheld !== null) {
    // a variance is given all the same where only rounding varies
    const settled = [own, other].every(row => row.withheld !== null && row.variance !== null)
    return {...line, reason: withheld, settled}
  }
  const [of, against] = [relative(a, own.variance), relative(b, other.variance)]
  if (of === undefined || against === undefined) {
    return {...line, reason: 'an expectation is beyond doubles, or zero'}
  }
  if (of === 0 && against === 0) return {...line, reason: 'neither varies', settled: true}
  const interval = logInterval(against, other.variance_relative_standard_error ?? Number.NaN)
  const both = {...line, a: of, b: against, interval, effect: Number.NaN}
  const value = against / of
  // the same draws to the last bit, or none that vary
  if (of === 0 || against === 0 || (a.cell.seed === b.cell.seed && of === against)) {
    const ratio = {value, low: value, high: value}
    return {...both, ratio, pValue: Number.NaN, basis: 'exact'}
  }
  const error = Math.hypot(
    own.variance_relative_standard_error ?? Number.NaN,
    other.variance_relative_standard_error ?? Number.NaN,
  )
  const ratio = {value, ...logInterval(value, error)}
  return {...both, ratio, pValue: ratioPValue(ratio), basis: 'spreads'}
}

/** Over the square of the expectation: what methods of different kernels have in common. */
function relative({result}: CompletedVariance, variance: number | null): number | undefined {
  const {expectation} = result
  if (variance === null || expectation === null || expectation === 0) return undefined
  return variance / expectation ** 2
}
