/** Bias and variance of outputs over replicates, from a few sums of the outputs' size. */

import {finiteOrNull, pairMeanError} from '../../stats/index.js'
import {LEAST_FOR_ERRORS} from './schema.js'

/** A number and its standard error; `null` where not known. */
export interface Estimate {
  value: number | null
  standardError: number | null
}

/** The two parts of the mean squared error. */
export interface ErrorSplit {
  biasSquared: Estimate
  variance: Estimate
}

/** Most groups of replicates whose errors are added up apart. */
const MOST_GROUPS = 10

/** How many groups so many replicates make: none where they are too few for standard errors. */
function groupCount(replicates: number): number {
  return replicates < LEAST_FOR_ERRORS ? 0 : Math.min(replicates, MOST_GROUPS)
}

/** Bytes of the sums for every entry of an output: a mean in double precision, groups in single. */
export function momentBytes(replicates: number): number {
  return 8 + 4 * groupCount(replicates)
}

const UNKNOWN: Estimate = {value: null, standardError: null}

/**
 * Splits the mean squared error over replicates, averaged over entries. With d the difference of a
 * replicate from the exact output and products averaged over entries, `bias^2` is the mean of `d_r . d_s` over all
 * pairs of different replicates, equal to `|mean d|^2 - variance / R`: unbiased, and therefore negative
 * at times. `variance` is the sample variance, `|d|^2 - bias^2` on average.
 *
 * Standard errors come from pairs of at most ten groups of replicates (see `pairMeanError`). The sizes of groups
 * differ by one at most; where they do, what single replicates add to the errors comes out too large, by 6 % at
 * most.
 */
export class OutputMoments {
  private count = 0
  private readonly mean: Float64Array
  /** Sum over entries of squared deviations from the mean (Welford). */
  private squares = 0
  /** Summed differences from the exact output: only their scatter is read from them. */
  private readonly groups: readonly Float32Array[]
  private readonly groupSizes: Float64Array
  private readonly groupSquares: Float64Array

  /**
   * @param exact - the exact output; not changed
   * @param replicates - how many there will be; below {@link LEAST_FOR_ERRORS} no group is kept
   */
  constructor(
    private readonly exact: Float64Array,
    replicates: number,
  ) {
    const groups = groupCount(replicates)
    this.mean = new Float64Array(exact.length)
    this.groups = Array.from({length: groups}, () => new Float32Array(exact.length))
    this.groupSizes = new Float64Array(groups)
    this.groupSquares = new Float64Array(groups)
  }

  /** Takes in the output of one replicate. */
  add(output: ArrayLike<number>): void {
    this.addToGroup(output)
    this.count++
    let squares = 0
    for (let i = 0; i < this.mean.length; i++) {
      const delta = output[i]! - this.mean[i]!
      this.mean[i]! += delta / this.count
      squares += delta * (output[i]! - this.mean[i]!)
    }
    this.squares += squares
  }

  private addToGroup(output: ArrayLike<number>): void {
    if (this.groups.length === 0) return
    const at = this.count % this.groups.length
    const sums = this.groups[at]!
    let squares = 0
    for (let i = 0; i < sums.length; i++) {
      const difference = output[i]! - this.exact[i]!
      sums[i]! += difference
      squares += difference * difference
    }
    this.groupSizes[at]!++
    this.groupSquares[at]! += squares
  }

  /** The split so far; all `null` with fewer than two replicates or entries that are not finite. */
  split(): ErrorSplit {
    const {length} = this.exact
    const variance = this.squares / (this.count - 1) / length
    const bias = this.mean.reduce((sum, mean, i) => sum + (mean - this.exact[i]!) ** 2, 0)
    const biasSquared = bias / length - variance / this.count
    if (this.count < 2 || !Number.isFinite(variance) || !Number.isFinite(biasSquared)) {
      return {biasSquared: UNKNOWN, variance: UNKNOWN}
    }
    const errors = this.standardErrors()
    return {
      biasSquared: {value: biasSquared, standardError: errors.biasSquared},
      variance: {value: variance, standardError: errors.variance},
    }
  }

  /** From pairs of groups: products for the bias, mean squares less products for the variance. */
  private standardErrors(): {biasSquared: number | null; variance: number | null} {
    if (this.count < LEAST_FOR_ERRORS || this.groups.length === 0) {
      return {biasSquared: null, variance: null}
    }
    const {groups, groupSizes: sizes, groupSquares: squares} = this
    const {length} = this.exact
    const products = groups.map((a, j) =>
      groups.slice(0, j).map((b, i) => dot(a, b) / length / (sizes[i]! * sizes[j]!)),
    )
    const product = (i: number, j: number) => products[j]![i]!
    const square = (i: number) => squares[i]! / length / sizes[i]!
    const spread = (i: number, j: number) => (square(i) + square(j)) / 2 - product(i, j)
    return {
      biasSquared: finiteOrNull(pairMeanError(groups.length, product)),
      variance: finiteOrNull(pairMeanError(groups.length, spread)),
    }
  }
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
