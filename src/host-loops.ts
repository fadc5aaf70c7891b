/**
 * Loops over plain arrays that a backend may bring faster code for. Each is defined in TypeScript where it is called;
 * what a backend brings computes the same, to the rounding that is stated here.
 */

/** Sums over one head of an estimate and the exact output, each `[L, Dv]`. */
export interface ErrorSums {
  /** Of squared and of absolute differences. */
  squares: number
  absolutes: number
  /** Largest absolute difference; `NaN` where an entry is not finite. */
  largest: number
  /** Sum over rows of the cosine between estimate and exact row. */
  cosines: number
  /** Entries of the estimate that are NaN or infinite. */
  notFinite: number
  /** Sum over rows of |sum of weights - 1|. */
  rowSumDeviations: number
  /** Sum over entries of the squared deviation from the mean so far (Welford), this estimate's share. */
  spread: number
  /** Sum over rows of the differences, `[Dv]`. */
  rowsSum: Float64Array
}

/** One estimate held against the exact output, and taken into running means. */
export interface ErrorSumsCall {
  /** `[heads, L, Dv + 1]`: the last column is the sum of a row's weights. */
  estimate: Float32Array
  /** `[heads, L, Dv]` */
  exact: Float64Array
  heads: number
  valueDim: number
  /** Mean difference from the exact output over the estimates before this one, `[heads, L, Dv]`; updated. */
  mean: Float32Array
  /** How many estimates the mean is of, this one included. */
  count: number
  /** Sums of differences over a group of estimates, of every `groupStep`-th row of all heads; updated. Absent: no sums. */
  group: Float32Array | undefined
  groupStep: number
}

/** Logits of two models at the same places of texts. */
export interface NextTokensCall {
  /** `[places, V]` each. */
  original: Float32Array
  exchanged: Float32Array
  /** The token that follows at each place, `[places]`; -1: the place is left out, its numbers are 0. */
  next: Int32Array
}

/** What two models say of the next token, `[places]` each. */
export interface PlaceNumbers {
  /** Nats of the token that follows. */
  original: Float64Array
  exchanged: Float64Array
  /** KL divergence of the exchanged distribution from the original one, nats. */
  kl: Float64Array
  /** 1 where both hold the same token most likely, else 0. */
  agreement: Float64Array
}

/** Queries and keys of one head, and what is wanted of their softmax. */
export interface SoftmaxRowsCall {
  /** Queries `[L, D]` and keys `[S, D]`: their products, times the square of `scale`, are the logits. */
  query: Float64Array | Float32Array
  key: Float64Array | Float32Array
  /** Factor on the entries of queries and keys, which are floats then. Absent: none, and both are doubles. */
  scale: number | undefined
  headDim: number
  /** Added to the logits of each key, `[S]`. Absent: nothing. */
  keyBias: Float64Array | undefined
  /** `[S, Dv]`; with `out`. */
  value: Float32Array | undefined
  valueDim: number
  /** Query i sees keys j <= i only. */
  causal: boolean
  /** Query i does not see key i, unless it sees no other. */
  excludesSelf: boolean
  /** Logarithm of a constant that is added to every weight of a row, `[L]`; `-Infinity`: none. Absent: none. */
  logConstant: Float64Array | undefined
  /** `[L, Dv]`; written where present. */
  out: Float64Array | undefined
  /** Logarithm of the sum of each row's weights, `[L]`; written where present. */
  lse: Float64Array | undefined
  /** Entropy of each row's weights without the constant, in nats, `[L]`; written where present. */
  entropy: Float64Array | undefined
}

/** Where the random blocks of a call begin; replicates, heads and blocks count up from there. */
interface BlockPlace {
  replicate: number
  head: number
  block: number
}

/** Normals of many streams of one key, as {@link HostLoops.normalBlocks} draws them. */
export interface NormalBlocksCall extends BlockPlace {
  /** Two words. */
  key: Uint32Array
  replicates: number
  heads: number
  /** Normals of each head of each replicate. */
  length: number
  /** Of these, from the beginning of each stream. */
  blockLength: number
  /** `[replicates, heads, length]` */
  out: Float64Array | Float32Array
}

/** Blocks of orthogonal rows, as {@link HostLoops.orthogonalRows} draws them. */
export interface OrthogonalRowsCall extends BlockPlace {
  /** Of the streams of directions, two words. */
  directionKey: Uint32Array
  /** Of the streams of lengths, two words. Absent: every row has length sqrt(D). */
  lengthKey: Uint32Array | undefined
  replicates: number
  heads: number
  /** M */
  numFeatures: number
  /** D */
  headDim: number
  /** `[replicates, heads, M, D]` */
  out: Float64Array | Float32Array
}

/** Queries and keys of one head, and values to be weighted by the arc-cosine kernel of each pair. */
export interface ArcCosineRowsCall
  extends Pick<SoftmaxRowsCall, 'headDim' | 'valueDim' | 'causal' | 'excludesSelf'> {
  query: Float64Array
  key: Float64Array
  /** Lengths of the keys, `[S]`: queries and keys are unit vectors, or zero. */
  keyLength: Float64Array
  value: Float32Array
  /** `[L, Dv]`; written. */
  out: Float64Array
}

/** What a backend may bring. */
export interface HostLoops {
  /**
   * Takes back what `dataSync` gave of a disposed tensor, once nothing reads it any more: the next output of its
   * size is written there. Memory that does not belong to the backend is left alone.
   */
  recycle(data: Float32Array): void
  /** Frees the memory that loops, kernels and outputs keep between calls. */
  release(): void
  /**
   * Overwrites `out` with the normals of consecutive blocks of random words, two of each, as `normalPairs` of `random/`
   * defines them: words are the same, normals within `6 * 2^-52` of themselves (log, sine and cosine round otherwise)
   * and `2^-100`; floats are the doubles rounded. The bits do not depend on the number of threads.
   *
   * @param stream - six words: two of the key, four of the counter of the first block, counting by its first word
   * @returns the second normal of the last block where `out` has an odd length, else 0
   */
  normals(stream: Uint32Array, out: Float64Array | Float32Array): number
  /**
   * The first normals of the streams of all blocks, `[replicate, head, block]` their indices: bit for bit those of
   * {@link normals}.
   */
  normalBlocks(call: NormalBlocksCall): void
  /**
   * Projection `orth` (with lengths) or `orth-sqrt-d`, with Haar signs. Sums of D products, too, round in another
   * order: a matrix differs by about D units in the last place of doubles, times the condition number of the
   * Gaussian block. The bits of a block do not depend on other draws or on the number of threads.
   */
  orthogonalRows(call: OrthogonalRowsCall): void
  /**
   * Gram-Schmidt over the rows, in place, as `orthonormalizeRows` of the projections; rows are orthogonal to `4 (D + 4)`
   * half units in the last place.
   *
   * @param matrix - `[R, columns]`, R <= columns
   */
  orthonormalizeRows(matrix: Float64Array, columns: number): void
  /**
   * Metrics of one estimate in a single pass, in double precision: sums of n terms within `2 (n + 2) 2^-53` of the sum of
   * their sizes; mean and group to the bit.
   */
  errorSums(call: ErrorSumsCall): ErrorSums[]
  /**
   * Inner products of all pairs of vectors, `[count, n]`, in double precision: sums of n terms within `2 (n + 2)
   * 2^-53` of the sum of their sizes. Bits do not depend on the number of threads.
   *
   * @returns the product of j and i at `j (j - 1) / 2 + i`, i < j
   */
  pairProducts(vectors: Float32Array, count: number): Float64Array
  /**
   * Next-token distributions by logits of two models: exponentials round otherwise, by `(|x| + 2) 2^-53` at a distance x from
   * the largest logit; sums of n terms are within `2 (n + 2) 2^-53` of the sum of their sizes.
   */
  nextTokens(call: NextTokensCall): PlaceNumbers
  /**
   * Exact softmax attention of one head in double precision, for finite numbers of any size: outputs within
   * `4 2^-53 (size of logits + S + S / 40 + 16)` of the largest value.
   */
  softmaxRows(call: SoftmaxRowsCall): void
  /**
   * The same with weights `|y| (sin t + (pi - t) cos t)`, t the angle between x and y, |x| > 0; the cosine is exact up
   * to rounding.
   */
  arcCosineRows(call: ArcCosineRowsCall): void
}

let brought: Partial<HostLoops> = {}

export function hostLoops(): Readonly<Partial<HostLoops>> {
  return brought
}

/** Takes the loops of a backend in use, in place of those before. */
export function bringHostLoops(loops: Partial<HostLoops>): void {
  brought = loops
}
