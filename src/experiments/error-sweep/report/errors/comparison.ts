/** Errors of two cells: of two sweeps, or of two methods of one. */
import {pairedRatio, type TestedRatio, unpairedRatio} from '../../../../answers/index.js'
import {type Estimate, type MetricSummary, ratioOf} from '../../../../stats/index.js'
import {FLOAT32_ROUNDOFF} from '../../../../theory/rounding.js'
import type {ComparedLine, Comparison, Related, UncomparedLine} from '../../../comparison.js'
import {inputLabel, methodLabel, projectionLabel} from '../../../labels.js'
import {replicateMetricsOf} from '../../heavy-lists.js'
import type {CompletedSweep, ErrorSweepCell} from '../../schema.js'

/** Relative difference of two errors that counts as none. */
export const EQUAL = 0.01

const LEGEND =
  'rel L2; differences below 1 % count as equal. Where both have the same seed replicates are paired, as they share random numbers: B/A is the centre of their ratios with its 95 % interval (Hodges-Lehmann), p that of random signs of their logarithms. Otherwise it is the ratio of geometric means, with interval and p by the t test of Welch on logarithms. Without draws, and where the same draws gave the same errors, its interval is what the rounding of float32 may do. p is adjusted for all lines. P(B > A): chance that the error of B is higher in a replicate.'

/**
 * The error that first screens, stars and comparisons of methods go by, as it is called in records and among the metrics of replicates:
 * another one leads by its name here.
 */
const LEADING = 'rel_l2' satisfies keyof CompletedSweep['result']

/** Over replicates. */
export function leadingError({result}: Pick<CompletedSweep, 'result'>): MetricSummary {
  return result[LEADING]
}

/** Of every replicate; `undefined` where a version kept none. */
export function leadingErrors(row: CompletedSweep): readonly (number | null)[] | undefined {
  return replicateMetricsOf(row)?.[LEADING]
}

export const errorSweepComparison: Comparison<ErrorSweepCell, CompletedSweep> = {
  quantities: [
    {
      name: 'error',
      title: 'Error',
      more: 'higher',
      less: 'lower',
      unit: null,
      legend: {runs: LEGEND, methods: LEGEND},
    },
  ],
  margin: EQUAL,
  measured({
    seed,
    backend,
    replicates,
    until_ci,
    row_metrics,
    row_queries,
    predictions,
    plugin,
    input,
    tuned,
    ...cell
  }) {
    return {...cell, input: sourceOf(input), ...(tuned && {tuned: tuned.digest})}
  },
  place: (cell, result) => ({
    method: methodLabel(cell),
    projection: projectionLabel(cell) ?? '',
    M: String(cell.num_features ?? ''),
    against: result?.target_label ?? cell.target,
    input: inputLabel(cell.input),
    layer: String(cell.layer ?? ''),
    L: String(result?.query_len ?? cell.seq_len ?? ''),
    D: String(result?.head_dim ?? ''),
    scale: String(cell.scale),
    beta: String(cell.logit_scale ?? ''),
    attention: cell.causal ? 'causal' : 'bidirectional',
    backend: result?.backend ?? '',
  }),
  between: related => ({lines: (a, b) => [errorLine(a, b, related)]}),
}

/** Files are what is in them, wherever they lie. */
function sourceOf(input: ErrorSweepCell['input']): object {
  if (input.kind === 'generator' || input.digest === undefined) return input
  const {paths, ...source} = input
  return source
}

const QUANTITY = {quantity: 'error', at: {}} as const

/**
 * rel L2 of two cells, B over A, or why there is none: tables of a sweep and `rfa compare` go by it.
 *
 * @param errorsBy - {@link errorsOf}, or what remembers it where cells are compared with many
 */
export function errorLine(
  a: CompletedSweep,
  b: CompletedSweep,
  related: Related,
  errorsBy: typeof errorsOf = errorsOf,
): ComparedLine | UncomparedLine {
  const [own, other] = [errorsBy(a), errorsBy(b)]
  const reason = unsupportedReason(a, b, related) ?? brokenReason(a, b, [own, other])
  if (reason !== undefined) return {...QUANTITY, reason}
  if (bothRounding(a, b)) {
    return {...QUANTITY, reason: 'both errors are the rounding of float32', settled: true}
  }
  if (!own || !other) return lineOfMedians(a, b)
  const [{value: from}, interval] = [medianOf(a), medianOf(b)]
  const line = {...QUANTITY, a: from, b: interval.value, interval}
  const shared = a.cell.seed === b.cell.seed || !isDrawn(a) || !isDrawn(b)
  if (!shared) return {...line, ...unpairedRatio(other, own, EQUAL)}
  const rounding = roundingOf(a)
  const drawn = isDrawn(a) || isDrawn(b)
  const near = (x: number, at: number) => Math.abs(x - other[at]!) <= rounding
  const alike = own.length === other.length && own.every(near)
  return {...line, ...(drawn && !alike ? pairedRatio(other, own) : exactly(line, rounding))}
}

/** Why the errors of two cells cannot be compared. */
function unsupportedReason(
  a: CompletedSweep,
  b: CompletedSweep,
  related: Related,
): string | undefined {
  if (related === 'methods' && a.result.target_label !== b.result.target_label) {
    return `they are held against different targets: ${a.result.target_label}; ${b.result.target_label}`
  }
  if (a.cell.input.kind === 'generator' && a.cell.seed !== b.cell.seed) {
    return 'generated inputs of another seed are other inputs: give both runs one seed, or read a file'
  }
  return undefined
}

/** Why there is no ratio of what was measured. @param errors - of the replicates of both */
function brokenReason(
  a: CompletedSweep,
  b: CompletedSweep,
  errors: readonly (readonly number[] | undefined)[],
): string | undefined {
  if ([a, b].some(row => leadingError(row).median === null)) return 'an estimate is not finite'
  const all = errors.flatMap(own => own ?? [])
  if (all.some(Number.isNaN)) return 'an estimate is not finite'
  if (bothRounding(a, b)) return undefined
  if (all.some(error => error === 0)) return 'a replicate without error has no ratio'
  return undefined
}

function bothRounding(a: CompletedSweep, b: CompletedSweep): boolean {
  return isRounding(a) && isRounding(b)
}

/** Whether a cell has no error but that of rounding. */
export function isRounding(row: CompletedSweep): boolean {
  const {median} = row.result.rel_l2
  return median !== null && median <= roundingOf(row)
}

/**
 * What rounding to float32 may add to or take from rel L2, and so what a norm of a difference moves by at most: the
 * relative error of an average of S values with weights from products of D terms. This is the bound of
 * theory/rounding.ts without the factors that are 1 for small logits and weights that are not negative.
 */
function roundingOf({result: {key_len, head_dim}}: CompletedSweep): number {
  return 2 * (key_len + head_dim) * FLOAT32_ROUNDOFF
}

/**
 * Of every replicate, or the one of a cell that draws nothing; `undefined` where a version kept none. What is not finite is
 * `NaN`.
 */
export function errorsOf(row: CompletedSweep): number[] | undefined {
  const errors = leadingErrors(row) ?? (isDrawn(row) ? undefined : [leadingError(row).median])
  return errors?.map(error => error ?? Number.NaN)
}

/** Whether there is more than one value that the cell might have shown. */
export function isDrawn({result}: CompletedSweep): boolean {
  return result.mse_standard_error !== 0
}

/** Nothing is drawn, or the same was: what remains is rounding. */
function exactly({a, b}: {a: number; b: number}, rounding: number): TestedRatio {
  const value = b / a
  const ratio =
    a === b
      ? {value, low: value, high: value}
      : {
          value,
          low: Math.max(0, b - rounding) / (a + rounding),
          high: a > rounding ? (b + rounding) / (a - rounding) : Number.POSITIVE_INFINITY,
        }
  return {ratio, pValue: Number.NaN, effect: Number.NaN, basis: 'exact'}
}

/** Where single replicates are not known. */
function lineOfMedians(a: CompletedSweep, b: CompletedSweep): ComparedLine {
  const [own, other] = [medianOf(a), medianOf(b)]
  const none = {pValue: Number.NaN, effect: Number.NaN}
  const ratio = ratioOf(other, own)
  const line = {...QUANTITY, a: own.value, b: other.value, interval: other}
  return {...line, ratio, ...none, basis: 'medians'}
}

/** The median of the error with its interval, which has no width where nothing is drawn; `NaN`: not known. */
export function medianOf(row: CompletedSweep): Estimate {
  const {median, low, high} = leadingError(row)
  const value = median ?? Number.NaN
  if (!isDrawn(row)) return {value, low: value, high: value}
  return {value, low: low ?? Number.NaN, high: high ?? Number.NaN}
}
