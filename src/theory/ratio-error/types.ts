import type {CausalView} from '../../causal-view.js'

/**
 * One head as its features see it: in coordinates in which they are
 * `phi(x) = D0 exp(sum_d (a_d w_d^2 + b_d w_d x_d) - |x|^2/2)`, `b_d^2 = 1 - 4 a_d`, rows w ~ N(0, I).
 */
export interface PositiveHead extends CausalView {
  /** Queries `[L, D]` and keys `[S, D]`, canonical: their products are the logits. */
  query: Float64Array
  key: Float64Array
  /** `[S, Dv]` */
  value: Float64Array | Float32Array
  headDim: number
  valueDim: number
  /** a of each axis, `[D]`, below 1/8. Default: 0, positive features. */
  exponents?: Float64Array | undefined
  /** Features lack the factor `exp(-|x|^2/2)`: keys weigh `exp(x.y + |y|^2/2)`. Default false. */
  longKeysCount?: boolean | undefined
  /** Rows come as pairs w, -w, as those of hyperbolic features do; they count once. Default false. */
  paired?: boolean | undefined
}

/** The queries that stand for all, and which keys they see. */
export interface SampledQueries {
  /** R of them, evenly spaced. */
  places: Int32Array
  /** Keys of each view, ascending; one view for all queries unless causal. */
  ends: Int32Array
  /** View of each query, `[R]`. */
  viewOf: Int32Array
}
