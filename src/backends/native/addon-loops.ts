/** Loops of the addon over plain arrays in double precision; sizes are checked in `host-loops.ts`. */
import type {NextTokensCall, SoftmaxRowsCall} from '../../host-loops.js'

/** Arguments of `errorSums`; see `ErrorSums` in `native/rfa.h`. */
interface NativeErrorSumsCall {
  heads: number
  /** Of one head. */
  rows: number
  valueDim: number
  estimate: Float32Array
  exact: Float64Array
  mean: Float32Array
  /** 1 over the number of estimates in the mean. */
  share: number
  group: Float32Array | undefined
  groupStep: number
  /** `[heads, 7]` */
  out: Float64Array
  /** `[heads, Dv]` */
  rowsSum: Float64Array
}

/** Arguments of `pairProducts`; see `PairProducts` in `native/rfa.h`. */
interface NativePairProductsCall {
  count: number
  length: number
  /** `[count, length]` */
  vectors: Float32Array
  /** `[count (count - 1) / 2]` */
  out: Float64Array
}

/** Arguments of `nextTokens`; see `NextTokens` in `native/rfa.h`. */
interface NativeNextTokensCall extends NextTokensCall {
  places: number
  vocabulary: number
  /** `[4, places]` */
  out: Float64Array
}

/** Arguments of `exactSoftmax`; see `ExactSoftmax` in `native/rfa.h`. */
interface NativeExactSoftmaxCall extends SoftmaxRowsCall {
  queryLen: number
  keyLen: number
  keyLength?: Float64Array | undefined
}

export interface LoopsAddon {
  errorSums(call: NativeErrorSumsCall): void
  pairProducts(call: NativePairProductsCall): void
  nextTokens(call: NativeNextTokensCall): void
  exactSoftmax(call: NativeExactSoftmaxCall): void
}
