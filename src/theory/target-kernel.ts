/** A query and a key as target kernels see them: they depend on nothing else. */
interface Pair {
  /** x.y */
  dot: number
  /** |x| */
  xLength: number
  /** |y| */
  yLength: number
  /** D */
  dim: number
}

/** A kernel that attention weights are made of, before a row of them is normalised. */
export interface TargetKernel {
  /** k(x, y) */
  weight(x: Float64Array, y: Float64Array): number
  /** Row weights are given by their logarithms: the kernel is an exponential, which may leave the range of doubles. */
  logarithmic: boolean
  /** k(x, y), or its logarithm, but for a factor that depends on x alone and cancels in a row. */
  rowWeight(pair: Pair): number
  /** Logarithm of that factor, given |x|. */
  logRowFactor(xLength: number): number
  /** Where the logarithm of a row weight is `x.y + keyBias(|y|)`: a softmax with biases on keys. */
  keyBias?(yLength: number): number
}
