/**
 * Paired differences: whether one variant errs less than another on the same replicates.
 *
 * Replicate r of every cell of a seed has the same random numbers, as far as cells draw the same: all methods of one
 * projection have the same rows, at any M the first ones of the larger draw, and `iid`, `orth` and `orth-sqrt-d` are
 * made of the same Gaussians in every block of D rows. What two cells do not share is independent: pairs are valid
 * then, too, and only gain nothing.
 */
import {groupBy} from '../../report/groups.js'
import {type Estimate, holm, logRatios, mapped, signedRank} from '../../stats/index.js'
import {methodLabel, projectionLabel} from '../labels.js'
import {type CompletedSweep, type MeansUnknown, replicatesOf} from './schema.js'

/** Chance of any false verdict among the comparisons of one table. */
const ALPHA = 0.05

/** One variant against another, of one layer. */
export interface Comparison {
  a: CompletedSweep
  b: CompletedSweep
  pairs: number
  /** MSE of a over that of b: centre of the paired ratios, with a 95 % interval of its own. */
  ratio: Estimate
  /** Of the signed-rank test of log MSE, adjusted for all comparisons of the table (Holm). */
  pValue: number
  /** Whether a errs less. */
  answer: 'yes' | 'no' | 'cannot_be_told'
}

/** A variant that is not compared, and why. */
export interface LeftOut {
  row: CompletedSweep
  reason: Exclude<MeansUnknown, 'not_recorded'> | 'no_error'
}

/** The comparisons of one table. */
export interface PairedTable {
  comparisons: readonly Comparison[]
  left: readonly LeftOut[]
  /** Replicates that it takes for any verdict, where there are too few; else `undefined`. */
  needed: number | undefined
}

/**
 * Compares, at the largest M, each projection of a method with its first one, and each method with the first one of the
 * plan under the same projection.
 *
 * @param variants - of one table, a row for each method, projection and layer, at its largest M; in the order of the plan
 */
export function pairedTable(variants: readonly CompletedSweep[]): PairedTable {
  const recorded = variants.filter(({result}) => result.replicate_metrics !== null)
  const left = recorded.flatMap(row => {
    const reason = whyLeft(row)
    return reason === undefined ? [] : [{row, reason}]
  })
  const usable = recorded.filter(row => !left.some(own => own.row === row))
  const pairs = groupBy(usable, ({cell}) => String(cell.layer)).flatMap(pairsOf)
  const tested = pairs.map(([a, b]) => ratioOf(a, b))
  const adjusted = holm(tested.map(({test}) => test.pValue))
  const comparisons = tested.map(({a, b, pairs, ratio}, at): Comparison => {
    const pValue = adjusted[at]!
    const answer = pValue > ALPHA ? 'cannot_be_told' : ratio.value < 1 ? 'yes' : 'no'
    return {a, b, pairs, ratio, pValue, answer}
  })
  return {comparisons, left, needed: neededFor(comparisons)}
}

/** Ratios of a heavy tail are no numbers to compare, nor are those of what is zero. */
function whyLeft({result}: CompletedSweep): LeftOut['reason'] | undefined {
  const {means_unknown: unknown, replicate_metrics: metrics} = result
  if (unknown !== null && unknown !== 'not_recorded') return unknown
  return metrics!.mse.every(error => error !== null && error > 0) ? undefined : 'no_error'
}

/** Which variants of one layer are compared. */
function pairsOf(variants: readonly CompletedSweep[]): [CompletedSweep, CompletedSweep][] {
  const methods = groupBy(variants, ({cell}) => methodLabel(cell))
  const [reference = []] = methods
  const projections = methods.flatMap(([first, ...others]) =>
    others.map((other): [CompletedSweep, CompletedSweep] => [other, first!]),
  )
  const across = methods.slice(1).flatMap(group =>
    group.flatMap((row): [CompletedSweep, CompletedSweep][] => {
      const drawn = projectionLabel(row.cell)
      const same = reference.find(({cell}) => projectionLabel(cell) === drawn)
      // what draws no projection stands beside the first one of the other
      const other = same ?? (drawn === null || isAlone(reference) ? reference[0] : undefined)
      return other ? [[row, other]] : []
    }),
  )
  return [...projections, ...across].filter(([a, b]) => replicatesOf(a) > 1 || replicatesOf(b) > 1)
}

/** Whether a method draws no projection. */
function isAlone([first]: readonly CompletedSweep[]): boolean {
  return first?.cell.projection === null
}

function ratioOf(a: CompletedSweep, b: CompletedSweep) {
  const errors = [a, b].map(({result}) => result.replicate_metrics!.mse as number[])
  const drawn = errors.map(({length}) => length).filter(length => length > 1)
  const pairs = Math.min(...drawn)
  const [above, below] = errors.map(own =>
    Float64Array.from({length: pairs}, (_, at) => (own.length > 1 ? own[at]! : own[0]!)),
  )
  const test = signedRank(logRatios(above!, below!))
  return {a, b, pairs, test, ratio: mapped(test.estimate, Math.exp)}
}

/** Signed ranks of n pairs have no p-value below 2^(1 - n), times as many as are compared. */
function neededFor(comparisons: readonly Comparison[]): number | undefined {
  if (comparisons.length === 0) return undefined
  const needed = Math.ceil(1 + Math.log2(comparisons.length / ALPHA))
  return comparisons.some(({pairs}) => pairs >= needed) ? undefined : needed
}
