/** Bias and variance of outputs over replicates, from a few sums of the outputs' size. */

import type {ErrorSums} from '../../../host-loops.js'
import {finiteOrNull, pairMeanError} from '../../../stats/index.js'
import {LEAST_FOR_ERRORS} from '../schema.js'
import {dot, type ExactSums, errorSums, pairProducts} from './metrics.js'

/** A number and its standard error; `null` where not known. */
interface Estimate {
  value: number | null
  standardError: number | null
}

export interface ErrorSplit {
  biasSquared: Estimate
  variance: Estimate
}

/** Most groups of replicates with separate sums of errors. */
const MOST_GROUPS = 10

/** Most entries of a group's sums: of a larger output evenly spaced rows are taken. */
const GROUP_ENTRIES = 2 ** 19

/** Number of groups of replicates: 0 if they are too few for standard errors. */
function groupCount(replicates: number): number {
  return replicates < LEAST_FOR_ERRORS ? 0 : Math.min(replicates, MOST_GROUPS)
}

/** Every n-th row goes into the sums of groups, by the number of entries. */
function groupStep(entries: number): number {
  return Math.ceil(entries / GROUP_ENTRIES)
}

/** Bytes of the sums for an output, by its entries: a mean, and groups. */
export function momentBytes(entries: number, replicates: number): number {
  return 4 * entries + (4 * groupCount(replicates) * entries) / groupStep(entries)
}

/** Sizes of an output, or of a part of it with the same number of rows in every head; batch and heads together. */
export interface OutputSizes {
  heads: number
  queryLen: number
  valueDim: number
}

/** Heads one after the other that have equally many rows, together. */
export function runsOfHeads(exact: readonly ExactSums[]): OutputSizes[] {
  const runs: OutputSizes[] = []
  for (const {rows: queryLen, valueDim} of exact) {
    const run = runs.at(-1)
    if (run?.queryLen === queryLen) run.heads++
    else runs.push({heads: 1, queryLen, valueDim})
  }
  return runs
}

/** A part of an output: where its entries begin, and its rows in the sums of groups. */
interface Part extends OutputSizes {
  first: number
  groupFirst: number
}

const UNKNOWN: Estimate = {value: null, standardError: null}

/** The parts of squared errors over a square. */
export function relativeTo(split: ErrorSplit, square: number): ErrorSplit {
  const over = (value: number | null) => value && finiteOrNull(value / square)
  const of = ({value, standardError}: Estimate) => ({
    value: over(value),
    standardError: over(standardError),
  })
  return {biasSquared: of(split.biasSquared), variance: of(split.variance)}
}

/**
 * Splits the mean squared error over replicates, averaged over entries. With d the difference of a
 * replicate from the exact output and products averaged over entries, `bias^2` is the mean of `d_r . d_s` over all
 * pairs of different replicates, equal to `|mean d|^2 - variance / R`: unbiased, and therefore negative
 * at times. `variance` is the sample variance, `|d|^2 - bias^2` on average.
 *
 * The mean of d is kept in single precision: an error e of it, at most 2^-24 of the largest difference for each of R
 * updates, changes bias^2 by 2 e |mean d| and the variance by e^2.
 *
 * Standard errors come from pairs of at most ten groups of replicates (see `pairMeanError`). The sizes of groups
 * differ by one at most; where they do, what single replicates add to the errors comes out too large, by 6 % at
 * most. Of an output of more than 2^19 entries the products of groups are of evenly spaced rows, which vary more
 * than all rows do: errors come out no smaller.
 *
 * Without bias, bias^2 is above 1.645 of its errors in 0.1 to 3 % of runs (in 6 % with six skewed draws of one dimension),
 * of nominally 5 %; with a bias the interval of 1.96 errors covers it in 90 to 99 %. `test/statistical/bias-noise.test.ts`
 */
export class OutputMoments {
  private count = 0
  /** Mean of d. */
  private readonly mean: Float32Array
  /** Sum over entries of squared deviations from the mean (Welford). */
  private squares = 0
  /** Differences from the exact output, summed over each group, `[groups, entries]`: only their scatter is read. */
  private readonly groups: Float32Array
  private readonly groupSizes: Float64Array
  /** Sums of |d|^2 over all entries. */
  private readonly groupSquares: Float64Array
  private readonly step: number
  private readonly parts: readonly Part[]

  /**
   * @param exact - the exact output, `[heads, L, Dv]`, of each part after the other; not changed
   * @param sizes - of the parts
   * @param replicates - how many there will be; below {@link LEAST_FOR_ERRORS} no group is kept
   */
  constructor(
    private readonly exact: Float64Array,
    sizes: readonly OutputSizes[],
    replicates: number,
  ) {
    const groups = groupCount(replicates)
    this.step = groupStep(exact.length)
    let [first, groupFirst] = [0, 0]
    this.parts = sizes.map(part => {
      const own = {...part, first, groupFirst}
      first += part.heads * part.queryLen * part.valueDim
      groupFirst += this.groupLength(part)
      return own
    })
    this.mean = new Float32Array(exact.length)
    this.groups = new Float32Array(groups * groupFirst)
    this.groupSizes = new Float64Array(groups)
    this.groupSquares = new Float64Array(groups)
  }

  /**
   * Takes in the output of one replicate.
   *
   * @param estimate - `[heads, L, Dv + 1]` of each part, the last column the sum of a row's weights
   * @returns its error sums, per head
   */
  add(estimate: Float32Array): ErrorSums[] {
    const count = this.groupSizes.length
    const at = this.count % count
    const length = this.groups.length / count
    const group = count > 0 ? this.groups.subarray(at * length, (at + 1) * length) : undefined
    this.count++
    const sums = this.parts.flatMap(part => this.partSums(part, estimate, group))
    for (const {spread} of sums) this.squares += spread
    if (group) {
      this.groupSizes[at]!++
      for (const {squares} of sums) this.groupSquares[at]! += squares
    }
    return sums
  }

  private partSums(
    part: Part,
    estimate: Float32Array,
    group: Float32Array | undefined,
  ): ErrorSums[] {
    const {heads, queryLen, valueDim, first, groupFirst} = part
    const rows = heads * queryLen
    const start = (first / valueDim) * (valueDim + 1)
    const end = first + rows * valueDim
    return errorSums({
      estimate: estimate.subarray(start, start + rows * (valueDim + 1)),
      exact: this.exact.subarray(first, end),
      mean: this.mean.subarray(first, end),
      group: group?.subarray(groupFirst, groupFirst + this.groupLength(part)),
      ...{heads, valueDim, count: this.count, groupStep: this.step},
    })
  }

  /** Entries of a part in the sums of a group. */
  private groupLength({heads, queryLen, valueDim}: OutputSizes): number {
    return Math.ceil((heads * queryLen) / this.step) * valueDim
  }

  /** The split so far; all `null` with fewer than two replicates or entries that are not finite. */
  split(): ErrorSplit {
    const {length} = this.exact
    const variance = this.squares / (this.count - 1) / length
    const biasSquared = dot(this.mean, this.mean) / length - variance / this.count
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
    const {groups, groupSizes: sizes, groupSquares: squares} = this
    const count = sizes.length
    if (this.count < LEAST_FOR_ERRORS || count === 0) return {biasSquared: null, variance: null}
    const products = pairProducts(groups, count)
    const length = groups.length / count
    const product = (i: number, j: number) =>
      products[(j * (j - 1)) / 2 + i]! / length / (sizes[i]! * sizes[j]!)
    const square = (i: number) => squares[i]! / this.exact.length / sizes[i]!
    const spread = (i: number, j: number) => (square(i) + square(j)) / 2 - product(i, j)
    return {
      biasSquared: finiteOrNull(pairMeanError(count, product)),
      variance: finiteOrNull(pairMeanError(count, spread)),
    }
  }
}
