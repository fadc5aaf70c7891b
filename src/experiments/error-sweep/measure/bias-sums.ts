/** The squared bias of outputs to order 1/M, by draws of two seeds: of all heads together. */
import {type CosineErrors, LARGEST_SPREAD} from '../../../theory/ratio-error/cosines.js'
import type {PositiveHead} from '../../../theory/ratio-error/types.js'
import {COUNTS} from '../curve.js'

interface DrawnHead {
  head: Pick<PositiveHead, 'query' | 'headDim' | 'valueDim'>
  /** Queries that each sampled one stands for. */
  weight: number
  /** Rows that depend on each other: 1, or those of a block. */
  block: number
  /** Of two seeds; `undefined`: none were worth it. */
  seeds: readonly (Pick<CosineErrors, 'bias' | 'spread'> | undefined)[]
}

/** Sums over heads. */
export class BiasSums {
  /** Products of the biases of two seeds, and means of their squares, at each of {@link COUNTS}. */
  private readonly products = new Float64Array(COUNTS.length)
  private readonly squares = new Float64Array(COUNTS.length)
  /** Largest M Var(den) / den^2 of a head; `NaN` where a head is not known. */
  private spread = 0
  private entries = 0
  /** The largest M that biases are known for. */
  private most = Number.POSITIVE_INFINITY

  add({head: {query, headDim, valueDim}, weight, block, seeds}: DrawnHead): void {
    const [one, other] = seeds
    this.spread = Math.max(this.spread, one?.spread ?? Number.NaN, other?.spread ?? Number.NaN)
    if (!one || !other) return
    this.entries += (query.length / headDim) * valueDim
    const last = one.bias.length - 1
    // less than a block says nothing of whole ones
    if (COUNTS[last]! < block) this.most = Math.min(this.most, COUNTS[last]!)
    for (const [k, M] of COUNTS.entries()) {
      const level = Math.min(k, last)
      const by = weight * (COUNTS[level]! / M) ** 2
      const [a, b] = [one.bias[level]!, other.bias[level]!]
      for (let at = 0; at < a.length; at++) {
        this.products[k]! += by * a[at]! * b[at]!
        this.squares[k]! += (by / 2) * (a[at]! ** 2 + b[at]! ** 2)
      }
    }
  }

  /** Mean over entries at each of {@link COUNTS}; `null` where denominators vary by too much, blocks are not whole, or seeds are mostly noise. */
  mean(): (number | null)[] {
    return COUNTS.map((M, k) => {
      const [product, square] = [this.products[k]!, this.squares[k]!]
      const isNoise = square > MOST_NOISE * product
      const holds = this.entries > 0 && this.spread <= LARGEST_SPREAD ** 2 * M && M <= this.most
      return holds && !isNoise ? product / this.entries : null
    })
  }
}

/** How many times as large as the product of two seeds their mean square may be: the noise of a seed is no larger than the bias. */
const MOST_NOISE = 2
