/** Is an estimator biased? Squared bias without the bias of its own, from half means that share no draw. */
import {expected} from '../errors.js'
import {variance} from './descriptive.js'
import type {Estimate} from './estimate.js'
import {studentNoncentrality} from './power.js'
import {studentTest} from './student-test.js'
import {CONFIDENCE} from './tests.js'

/** Blocks that {@link squaredBias} is known to do well with. */
export const BIAS_BLOCKS = 20

/**
 * Collects what {@link squaredBias} tests while replicates come in, in the memory of two of them: for each block of two halves
 * the inner product `<A - o, B - o>` of their means' distances to the exact output o. A block whose replicates have not all
 * come yet does not count.
 */
export class BiasBlocks {
  private readonly products: number[] = []
  private readonly halves: readonly [Float64Array, Float64Array]
  private count = 0

  /**
   * @param exact - the output without error, any shape laid flat; kept, not copied
   * @param half - replicates of half a block, at least 1: of R replicates and K blocks `R / (2 K)`
   * @throws {BAD_OPTION} for a half that is no whole number
   */
  constructor(
    private readonly exact: ArrayLike<number>,
    private readonly half: number,
  ) {
    if (!(Number.isInteger(half) && half > 0)) {
      throw expected('BAD_OPTION', 'bias blocks, `half`', 'a positive whole number', String(half))
    }
    this.halves = [new Float64Array(exact.length), new Float64Array(exact.length)]
  }

  /**
   * One more replicate, independent of the others.
   *
   * @throws {SHAPE_MISMATCH} for another number of entries than the exact output has
   */
  add(output: ArrayLike<number>): void {
    if (output.length !== this.exact.length) {
      const what = `${this.exact.length} entries, as the exact output has`
      throw expected('SHAPE_MISMATCH', 'bias blocks', what, String(output.length))
    }
    const sum = this.halves[this.count < this.half ? 0 : 1]
    for (let at = 0; at < output.length; at++) sum[at]! += output[at]!
    this.count++
    if (this.count === 2 * this.half) this.close()
  }

  /** Of the blocks so far; in squared units of the output, summed over its entries. */
  innerProducts(): Float64Array {
    return Float64Array.from(this.products)
  }

  private close(): void {
    const [first, second] = this.halves
    let product = 0
    for (let at = 0; at < first.length; at++) {
      const exact = this.exact[at]!
      product += (first[at]! / this.half - exact) * (second[at]! / this.half - exact)
    }
    this.products.push(product)
    first.fill(0)
    second.fill(0)
    this.count = 0
  }
}

/** What a block test found. */
export interface SquaredBias {
  blocks: number
  /** Of the squared length of the bias, unbiased, negative by chance where there is none. */
  estimate: Estimate
  standardError: number
  /** Of the null hypothesis that there is none, against the only alternative. */
  pValue: number
}

/**
 * Squared length of the bias and a one-sided t test that there is none. With independent means A and B of the halves of a block,
 * `E <A - o, B - o>` is the squared length of the bias: noise adds nothing to it, as it does to `|A - o|^2`. Where
 * outputs are skewed the products are skewed upwards, which costs the test power, not false alarms.
 *
 * Source: means of products of independent draws, Gretton et al. 2012, "A Kernel Two-Sample Test", JMLR 13, section 6;
 * the t test is Student's 1908.
 *
 * @param products - of one block each, see {@link BiasBlocks}
 * @param confidence - of the two-sided interval; default 0.95
 * @returns `NaN` below two blocks and where a product is not finite
 */
export function squaredBias(products: ArrayLike<number>, confidence = CONFIDENCE): SquaredBias {
  const {pValue, standardError, estimate} = studentTest(products, {
    alternative: 'greater',
    confidence,
  })
  return {blocks: products.length, estimate, standardError, pValue}
}

/**
 * The spread `sqrt(tr(S S))` of single replicates, S being the covariance of their entries, from the products of a pilot: their
 * standard deviation times `half`. Bias makes it larger than it is, so that a power calculation asks for more.
 */
export function spreadOfProducts(products: ArrayLike<number>, half: number): number {
  return half * Math.sqrt(variance(products))
}

/** What {@link replicatesForBias} plans for. */
export interface BiasPower {
  /** Squared length of the bias that is to be seen, in squared units of the output; positive. */
  squaredBias: number
  /**
   * Spread of single replicates in the same unit, see {@link spreadOfProducts}. The total variance `tr(S)` is never less and
   * may stand for it; over n equal independent entries it is sqrt(n) times too large.
   */
  spread: number
  /** Default 20. */
  blocks?: number
  /** Chance of a false alarm; default 0.05. */
  alpha?: number
  /** Chance of seeing the bias; default 0.9. */
  power?: number
}

/**
 * Replicates with which {@link squaredBias} sees a bias b of a given size: with halves of h replicates a product has the
 * variance `2 b'Sb / h + tr(S S) / h^2`, in which `b'Sb` is at most `|b|^2 sqrt(tr(S S))`; its mean over K blocks
 * is taken for normal.
 *
 * @returns `2 K h` with the least h
 * @throws {BAD_OPTION} for sizes that are not positive, or probabilities that are none
 */
export function replicatesForBias({
  squaredBias: size,
  spread,
  blocks = BIAS_BLOCKS,
  alpha,
  power,
}: BiasPower): number {
  for (const [name, value] of Object.entries({squaredBias: size, spread})) {
    if (value > 0 && Number.isFinite(value)) continue
    throw expected('BAD_OPTION', `power, \`${name}\``, 'a positive number', String(value))
  }
  if (!(Number.isInteger(blocks) && blocks > 1)) {
    throw expected('BAD_OPTION', 'power, `blocks`', 'a whole number above 1', String(blocks))
  }
  const square = studentNoncentrality({degrees: blocks - 1, alpha, power}) ** 2
  // r = |b|^2 h / spread solves sqrt(K) r / sqrt(2 r + 1) = noncentrality
  const ratio = (square + Math.sqrt(square ** 2 + blocks * square)) / blocks
  return 2 * blocks * Math.max(1, Math.ceil((ratio * spread) / size))
}
