/** What the native addon exports. It trusts its caller: sizes, strides and types are checked in `kernels/`. */

import type {AttentionSizes} from '../../attention/fused-kernels.js'
import type {HostLoops} from '../../host-loops.js'
import type {LoopsAddon} from './addon-loops.js'

/** Memory of a tensor of numbers or truth values. */
export type NumberArray = Float32Array | Int32Array | Uint8Array

/** `[B, H, rows, columns]`, columns contiguous; strides in floats, 0 repeats. */
export interface Array4 {
  data: Float32Array
  batchStride: number
  headStride: number
  rowStride: number
}

/** `[B, H, n]`, n contiguous. */
export interface Array3 {
  data: Float32Array
  batchStride: number
  headStride: number
}

/** Tokens and the map to apply to them; `kind` is one of `codes.feature`. */
export interface NativeFeatures {
  kind: number
  /** Absent in a decoder: tokens come with each step. */
  x: Array4 | undefined
  /** `[1 or B, 1 or H, M, D]` by strides; a decoder's is transposed, `[.., D, M]`. */
  projection: Array4 | undefined
  /** M */
  numFeatures: number
  inputScale: number
  featureScale: number
  unitNorm: boolean
  normEpsilon: number
}

interface SoftmaxAttentionCall extends AttentionSizes {
  query: Array4
  key: Array4
  value: Array4
  keyBias: Array3 | undefined
  /** `[B, S]`, nonzero = present. */
  keyMask: Uint8Array | undefined
  scale: number
  causal: boolean
  out: Array4
  lse: Array3 | undefined
}

interface SampleKeysCall extends Omit<AttentionSizes, 'valueDim'> {
  /** n, per query */
  draws: number
  query: Array4
  key: Array4
  /** `[B, H, L, n]` */
  uniform: Array4
  /** `[B, S]`, nonzero = present. */
  keyMask: Uint8Array | undefined
  scale: number
  causal: boolean
  /** Dense `[B, H, L, n]`. */
  index: Int32Array
  /** `[B, H, L n, D]` */
  keys: Array4
}

interface OptimalMixtureCall extends Omit<AttentionSizes, 'keyLen'> {
  /** C' */
  count: number
  /** C */
  proposals: number
  query: Array4
  vectors: Array4
  values: Array4
  bias: Array3
  balance: Array3
  /** `[B, H, C, L]` */
  affinity: Array4
  /** `[B, C]`, nonzero = present. */
  present: Uint8Array | undefined
  scale: number
  coefficient: number
  floor: number
  out: Array4
}

interface FeatureMapCall {
  batch: number
  heads: number
  length: number
  headDim: number
  input: NativeFeatures
  out: Array4
}

/** Arguments of `featureMapGradient`, arrays dense. */
interface FeatureMapGradientCall extends Omit<FeatureMapCall, 'out'> {
  slopes: Float32Array
  toX: Float32Array
  /** `[B, H, M, D]`, of each head by itself. */
  toProjection: Float32Array
}

export interface LinearAttentionCall extends AttentionSizes {
  query: NativeFeatures
  key: NativeFeatures
  value: Array4
  keyMask: Uint8Array | undefined
  keyLogWeight: Array3 | undefined
  logGate: Array3 | undefined
  initialState: Array4 | undefined
  initialNormalizer: Array3 | undefined
  causal: boolean
  /** Whether `out` is the quotient instead of the numerator. */
  normalize: boolean
  guard: number
  guardBound: number
  out: Array4
  denominator: Array3 | undefined
}

/**
 * Slopes of both outputs of `linearAttention`, and where gradients go, by the names of inputs. All arrays dense, those of
 * projections `[B, H, M, D]`, of each head by itself.
 */
export interface LinearGradientArrays {
  slopes: Float32Array
  denominatorSlopes: Float32Array
  [input: string]: Float32Array
}

type CausalFeatureAttentionCall = AttentionSizes &
  Pick<LinearAttentionCall, 'query' | 'key' | 'value' | 'keyMask' | 'out'>

/**
 * Slopes of the output of `causalFeatureAttention`, and where gradients go, by the names of inputs. All arrays dense, those
 * of projections `[B, H, M, D]`, of each head by itself.
 */
export interface FeatureGradientArrays {
  slopes: Float32Array
  [input: string]: Float32Array
}

/** The same of `softmaxAttention`, which has two outputs. Shared axes of inputs are not summed over. */
export interface SoftmaxGradientArrays extends FeatureGradientArrays {
  lseSlopes: Float32Array
}

/** What every decoder is made from. */
type DecoderCall = Omit<AttentionSizes, 'queryLen' | 'keyLen'>

/** Features of tokens `[B, H, 1, headDim]`; explicit ones have `headDim` features. */
interface FeatureDecoderCall extends DecoderCall {
  query: NativeFeatures
  key: NativeFeatures
  state: Array4
  normalizer: Array3
}

interface LinearDecoderCall extends FeatureDecoderCall {
  normalizerEpsilon: number
  guard: number
  guardBound: number
  logScale: Array3 | undefined
}

interface LogFeatureDecoderCall extends FeatureDecoderCall {
  top: Array3
}

interface CacheDecoderCall extends DecoderCall {
  scale: number
  keyCache: Array4
  valueCache: Array4
}

/** One token in, one token out; the state given to the constructor is updated in place. */
export interface LinearDecoder {
  step(
    query: Float32Array,
    key: Float32Array,
    value: Float32Array,
    out: Float32Array,
    gate: Float32Array | undefined,
    keyLogWeight: Float32Array | undefined,
  ): void
}

export interface LogFeatureDecoder {
  step(query: Float32Array, key: Float32Array, value: Float32Array, out: Float32Array): void
}

export interface CacheDecoder {
  /** @param length - tokens already in the caches */
  step(
    query: Float32Array,
    key: Float32Array,
    value: Float32Array,
    out: Float32Array,
    length: number,
  ): void
}

/** Arguments of `matMul`; the output is dense `[batch, rows, columns]`. */
interface MatMulCall {
  batch: number
  rows: number
  columns: number
  inner: number
  a: Float32Array
  b: Float32Array
  aBatchStride: number
  aRowStride: number
  bBatchStride: number
  bRowStride: number
  transposeA: boolean
  transposeB: boolean
  /** `[columns]` */
  bias: Float32Array | undefined
  activation: number
  out: Float32Array
}

/** Arguments of `normRows`, all arrays dense. */
interface NormRowsCall {
  rows: number
  columns: number
  input: Float32Array
  /** `[columns]`, as is the bias. */
  weight: Float32Array
  bias: Float32Array | undefined
  epsilon: number
  centred: boolean
  out: Float32Array
}

/** Arguments of `normRowsGradient`, all arrays dense. */
interface NormRowsGradientCall extends Omit<NormRowsCall, 'bias' | 'out'> {
  /** `[rows, columns]` */
  slopes: Float32Array
  /** `[rows, columns]` */
  toInput: Float32Array
  /** `[columns]` */
  toWeight: Float32Array
  toBias: Float32Array
}

/** Which columns the rows of matrices on top of each other see, for `softmaxRows`. */
interface RowVisibility {
  /** Rows of one matrix, in which row i sees columns 0 to i only; 0: not causal. */
  causalRows: number
  /** 0 hides a column; absent: all are there. */
  present: Float32Array | undefined
  /** Rows that share one row of `present`. */
  sharedRows: number
}

interface NativeRuntime {
  /** `avx512`, `avx2`, `neon` or `scalar`. */
  isa: string
  /** Every usable set, best first, comma-separated. */
  available: string
  /** Floats per vector. */
  lanes: number
  /** Whether RFA_ISA or `selectIsa` chose it. */
  forced: boolean
  /** Why RFA_ISA cannot be honoured; empty when it can. */
  error: string
  compiler: string
  /** `release`, `debug` or `sanitize`. */
  build: string
}

type Codes = Readonly<Record<string, number>>

/** Random draws; arrays and sizes are checked in `draws.ts`. See `native/random.h`. */
export type DrawsAddon = Pick<
  HostLoops,
  'normals' | 'normalBlocks' | 'orthogonalRows' | 'orthonormalizeRows'
>

export interface Addon extends DrawsAddon, LoopsAddon {
  codes: {
    feature: Codes
    guard: Codes
    activation: Codes
    unary: Codes
    binary: Codes
    reduction: Codes
  }
  maxRank: number
  softmaxAttention(call: SoftmaxAttentionCall): void
  /** @param forward - as it was called; its outputs as they were written */
  softmaxAttentionGradient(forward: SoftmaxAttentionCall, arrays: SoftmaxGradientArrays): void
  sampleKeys(call: SampleKeysCall): void
  /** Means of runs of rows of dense planes. @param starts - where segments begin, and where the last one ends */
  segmentMeans(
    input: Float32Array,
    out: Float32Array,
    planes: number,
    columns: number,
    starts: Int32Array,
  ): void
  optimalMixture(call: OptimalMixtureCall): void
  featureMap(call: FeatureMapCall): void
  featureMapGradient(call: FeatureMapGradientCall): void
  linearAttention(call: LinearAttentionCall): void
  /** @param forward - as it was called; its outputs as they were written, where it divides */
  linearAttentionGradient(forward: LinearAttentionCall, arrays: LinearGradientArrays): void
  causalFeatureAttention(call: CausalFeatureAttentionCall): void
  /** @param forward - as it was called; its output as it was written */
  causalFeatureGradient(forward: CausalFeatureAttentionCall, arrays: FeatureGradientArrays): void
  LinearDecoder: new (call: LinearDecoderCall) => LinearDecoder
  LogFeatureDecoder: new (call: LogFeatureDecoderCall) => LogFeatureDecoder
  CacheDecoder: new (call: CacheDecoderCall) => CacheDecoder
  matMul(call: MatMulCall): void
  unary(code: number, input: Float32Array, out: Float32Array): void
  /** @param layout - shape of `out`, strides of `a`, strides of `b` (0 repeats) */
  binary(
    code: number,
    a: Float32Array,
    b: Float32Array,
    out: Float32Array | Uint8Array,
    layout: Float64Array,
  ): void
  /** @param factors - both decays, both shares, rate, scale and epsilon; see `AdamStep` in `native/rfa.h` */
  adamStep(
    value: Float32Array,
    gradient: Float32Array,
    first: Float32Array,
    second: Float32Array,
    toValue: Float32Array,
    toFirst: Float32Array,
    toSecond: Float32Array,
    factors: Float64Array,
  ): void
  /** Elements of `yes` where the condition is 1, else of `no`. */
  select(condition: Uint8Array, yes: Float32Array, no: Float32Array, out: Float32Array): void
  /** Over the middle one of three axes. */
  reduce(
    code: number,
    input: Float32Array,
    out: Float32Array,
    outer: number,
    length: number,
    inner: number,
  ): void
  /** Running sums along the middle one of three axes. */
  cumulativeSums(
    input: Float32Array,
    out: Float32Array,
    outer: number,
    length: number,
    inner: number,
    exclusive: boolean,
    reverse: boolean,
  ): void
  /** Logarithms of running sums of exponentials along the middle one of three axes. */
  runningLogSums(
    input: Float32Array,
    out: Float32Array,
    outer: number,
    length: number,
    inner: number,
  ): void
  softmaxRows(
    input: Float32Array,
    out: Float32Array,
    rows: number,
    columns: number,
    seen?: RowVisibility,
  ): void
  /** @param labels - of each row, below `columns` */
  crossEntropy(
    logits: Float32Array,
    labels: Int32Array,
    losses: Float32Array,
    columns: number,
  ): void
  /** @param slope - of the loss of each row */
  crossEntropyGradient(
    logits: Float32Array,
    labels: Int32Array,
    out: Float32Array,
    columns: number,
    slope: number,
  ): void
  normRows(call: NormRowsCall): void
  normRowsGradient(call: NormRowsGradientCall): void
  /** @param layout - length, stride in `from` and stride in `to` of each axis, in elements */
  stridedCopy(
    from: NumberArray,
    fromOffset: number,
    to: NumberArray,
    toOffset: number,
    layout: Float64Array,
    rank: number,
  ): void
  /**
   * Rows of `[batch, outer, length, columns]` by their index.
   *
   * @param index - `[batch, count]`, each below `length`
   * @param out - `[batch, outer, count, columns]`
   */
  gatherRows(
    input: Float32Array,
    index: Int32Array,
    out: Float32Array,
    batch: number,
    outer: number,
    length: number,
    columns: number,
  ): void
  /** Sums of rows with the same index. @param out - `[segments, columns]` */
  segmentSums(input: Float32Array, index: Int32Array, out: Float32Array, columns: number): void
  runtime(): NativeRuntime
  /** Chooses an instruction set by name (empty: the best); an empty string, or why not. */
  selectIsa(name: string): string
  /** Of the whole process, worker threads included, as is the choice of an instruction set. */
  setThreads(count: number): void
  threads(): number
  /** Keeps the calling thread and each other one on a processor, one for each thread. @returns whether the system did so */
  bindThreads(processors: readonly number[]): boolean
  /** Float32 multiply-add peak of one thread, GFLOP/s. @param seconds - how long to measure */
  fmaPeak(seconds: number): number
  /** Asks the system for large pages under an array that has not been written yet. */
  adviseLargePages(array: Float32Array): void
  /** Bytes between the start of a cache line (64 bytes) and that of the array's memory. */
  lineOffset(array: Float32Array): number
  /** Bytes that the threads keep between calls. */
  workspaceBytes(): number
  releaseWorkspace(): void
}
