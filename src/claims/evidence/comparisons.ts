/** Errors of cells against those of others, replicate by replicate. */

import type {ConditionAnswer} from '../../answers/index.js'
import {replicateMetricsOf} from '../../experiments/error-sweep/heavy-lists.js'
import type {CompletedSweep, ErrorSweepCell} from '../../experiments/error-sweep/schema.js'
import {
  type Estimate,
  hodgesLehmann,
  mapped,
  mean,
  pairsNeeded,
  signedRank,
  variance,
} from '../../stats/index.js'
import type {Quantity, Test} from '../claim.js'
import {Unmeasured} from '../runs.js'
import {PLANNED_ALPHA} from './tests.js'

/** The one cell of these properties. @throws {Unmeasured} where there is none */
export function cellOf(
  records: readonly CompletedSweep[],
  wanted: Partial<ErrorSweepCell>,
): CompletedSweep {
  const entries = Object.entries(wanted) as [keyof ErrorSweepCell, unknown][]
  const record = records.find(({cell}) => entries.every(([name, value]) => cell[name] === value))
  if (record) return record
  throw new Unmeasured(`there is no cell of ${entries.map(entry => entry.join(' ')).join(', ')}`)
}

/**
 * Logarithms of the mean squared error of every replicate.
 *
 * @throws {Unmeasured} where a replicate has no finite error above zero, or none was recorded
 */
export function logErrors(record: CompletedSweep): Float64Array {
  return logsOf(record.cell, replicateMetricsOf(record)?.mse ?? [])
}

/** The same, in the mean over heads: of each head as much. @throws {Unmeasured} likewise */
export function logHeadErrors(record: CompletedSweep): Float64Array {
  const {cell} = record
  const heads = (replicateMetricsOf(record)?.head_mse ?? []).map(errors => logsOf(cell, errors))
  if (heads.length === 0) throw new Unmeasured(`${cell.method}: no errors of heads were recorded`)
  return heads[0]!.map((_, replicate) => mean(heads.map(head => head[replicate]!)))
}

function logsOf({method}: ErrorSweepCell, errors: readonly (number | null)[]): Float64Array {
  const positive = errors.length > 0 && errors.every(error => error !== null && error > 0)
  if (positive) return Float64Array.from(errors as number[], Math.log)
  throw new Unmeasured(`${method}: replicates without a finite error above zero`)
}

interface ComparisonPlan {
  /** `error of a over that of b` */
  name: string
  /** Ratio below which the claim is right. Default 1. */
  below?: number
  /** Ratio above which it is wrong; at most `below`. Default `below`. */
  above?: number
  /** Mean difference of logarithms that pairs are planned for, over its standard deviation. */
  effect: number
}

/** One error against another, with a test in each direction. */
export interface Comparison {
  name: string
  /** Centre of the ratios of pairs, with its 95 % interval. */
  ratio: Estimate
  /** Rejected: the claim is right; the other: it is wrong. */
  tests: [Test, Test]
  /** Pairs that a test needs to distinguish these differences from the nearer margin. */
  needed: number
}

/**
 * Signed ranks of the differences of logarithms.
 *
 * @throws {Unmeasured} for fewer pairs than the effect takes, with their number
 */
export function compared(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  {name, below = 1, above = below, effect}: ComparisonPlan,
): Comparison {
  const planned = pairsNeeded({effect, alpha: PLANNED_ALPHA})
  const pairs = Math.min(a.length, b.length)
  if (pairs < planned) throw new Unmeasured(`${name}: of ${pairs} pairs, where it takes ${planned}`)
  const differences = Float64Array.from({length: pairs}, (_, at) => a[at]! - b[at]!)
  const shifted = (margin: number) => differences.map(value => value - Math.log(margin))
  const p = (margin: number, alternative: 'less' | 'greater') =>
    signedRank(shifted(margin), {alternative}).pValue
  return {
    name,
    ratio: mapped(hodgesLehmann(differences), Math.exp),
    tests: [
      {hypothesis: `${name} is ${below} or more`, p: p(below, 'less')},
      {hypothesis: `${name} is ${above} or less`, p: p(above, 'greater')},
    ],
    needed: Math.max(planned, Math.min(neededFor(shifted(below)), neededFor(shifted(above)))),
  }
}

/** Pairs that differences as these take. */
function neededFor(differences: Float64Array): number {
  const effect = Math.abs(mean(differences)) / Math.sqrt(variance(differences))
  return effect > 0 ? pairsNeeded({effect, alpha: PLANNED_ALPHA}) : Number.POSITIVE_INFINITY
}

/** Its ratio as a number that a verdict rests on. */
export function ratioQuantity({name, ratio}: Comparison): Quantity {
  return {name, ...ratio}
}

/** `; inconclusive: a (takes about 90 pairs)`, where there is one. */
export function openText(
  comparisons: readonly Comparison[],
  answers: readonly ConditionAnswer[],
): string {
  const open = comparisons.filter((_, at) => answers[at] === 'open')
  if (open.length === 0) return ''
  const parts = open.map(({name, needed}) => `${name} (takes about ${needed} pairs)`)
  return `; inconclusive: ${parts.join(', ')}`
}
