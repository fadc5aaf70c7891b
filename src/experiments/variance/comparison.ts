/** Variances of kernel estimates of two cells: of two experiments, or of two methods of one. */
import {logInterval, ratioPValue} from '../../stats/index.js'
import type {ComparedLine, Comparison, Place, UncomparedLine} from '../comparison.js'
import {methodLabel} from '../labels.js'
import {NO_PROJECTION} from './batch.js'
import type {CompletedVariance, VarianceCell} from './schema.js'

const LEGEND =
  'Variance of the kernel estimate over the square of its expectation. B/A: with a 95 % interval from the standard errors of both variances, taken as independent: of shared draws it is too wide. p: of the same, adjusted for all lines (Holm).'

/** How variance experiments are compared. */
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
  measured({seed, backend, replicates, precision, max_draws, plugin, projections, ...cell}) {
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
  lines(a, b) {
    const names = a.result.per_projection.map(({projection}) => projection)
    return names.flatMap(name => lineOf(a, b, name) ?? [])
  },
}

/** Where a pair of an input stands. */
function pairOf({batch, head, query_index, key_index}: VarianceCell): string {
  return [batch, head, query_index, key_index].filter(at => at !== undefined).join('.')
}

function lineOf(
  a: CompletedVariance,
  b: CompletedVariance,
  projection: string,
): ComparedLine | UncomparedLine | undefined {
  const [own, other] = [a, b].map(({result}) =>
    result.per_projection.find(row => row.projection === projection),
  )
  if (!own || !other) return undefined
  const at: Place = projection === NO_PROJECTION ? {} : {projection}
  const line = {quantity: 'variance', at} as const
  const withheld = own.withheld ?? other.withheld
  if (withheld !== null) {
    // a variance is told all the same where it is the rounding that varies
    const settled = [own, other].every(row => row.withheld !== null && row.variance !== null)
    return {...line, reason: withheld, settled}
  }
  const [of, against] = [relative(a, own.variance), relative(b, other.variance)]
  if (!of || !against) return {...line, reason: 'an expectation is beyond doubles, or zero'}
  const value = against / of
  const error = Math.hypot(
    own.variance_relative_standard_error ?? Number.NaN,
    other.variance_relative_standard_error ?? Number.NaN,
  )
  const ratio = {value, ...logInterval(value, error)}
  const effect = Number.NaN
  return {...line, a: of, b: against, ratio, pValue: ratioPValue(ratio), effect, basis: 'spreads'}
}

/** Over the square of the expectation: what methods of different kernels have in common. */
function relative({result}: CompletedVariance, variance: number | null): number | undefined {
  const {expectation} = result
  if (variance === null || expectation === null || expectation === 0) return undefined
  return variance / expectation ** 2
}
