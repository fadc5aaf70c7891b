/** Means over tokens of the errors of all heads, over replicates. */
import type {ErrorSums} from '../../../host-loops.js'
import type {ExactSums} from './metrics.js'
import {type ErrorSplit, OutputMoments, relativeTo} from './moments.js'

/** Keeps bias and variance of the mean error of each head of each sequence: an output with a row for each. */
export class TokenMeans {
  private readonly moments: OutputMoments
  private readonly valueDim: number

  /** @param exact - of all heads of all sequences @param replicates - how many there will be */
  constructor(
    private readonly exact: readonly ExactSums[],
    replicates: number,
  ) {
    const {valueDim} = exact[0]!
    this.valueDim = valueDim
    const size = {heads: 1, queryLen: exact.length, valueDim}
    this.moments = new OutputMoments(new Float64Array(exact.length * valueDim), [size], replicates)
  }

  /** Takes in one replicate. @param sums - of all heads, as `exact` */
  add(sums: readonly ErrorSums[]): void {
    const width = this.valueDim + 1 // where outputs have the sum of weights
    const means = new Float32Array(sums.length * width)
    for (let head = 0; head < sums.length; head++) {
      const {rowsSum} = sums[head]!
      const {rows} = this.exact[head]!
      for (let d = 0; d < this.valueDim; d++) means[head * width + d] = rowsSum[d]! / rows
    }
    this.moments.add(means)
  }

  /** Parts of the mean of `token_mean_rel_l2^2` over replicates. */
  split(): ErrorSplit {
    const squares = this.exact.reduce((sum, {meanSquares}) => sum + meanSquares, 0)
    return relativeTo(this.moments.split(), squares / (this.exact.length * this.valueDim))
  }
}
