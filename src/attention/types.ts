/**
 * The vocabulary of the kernel package.
 *
 * Axes, used in every comment, name and error: B batch · H heads · L query length · S key length ·
 * D head dimension · Dv value dimension · M number of projection rows (`numFeatures`) · F length of
 * a feature vector (`featureDim`). Layout is `[B, H, L, D]`, row-major, float32.
 *
 * Callers hand over a plain `Tensor`, as tf.tensor or tf.randomNormal give it: shapes are checked when it comes. What is
 * returned, and what goes on inside, has its rank in its type.
 */
import type {Tensor, Tensor2D, Tensor3D, Tensor4D} from '@tensorflow/tfjs-core'
import type {TargetKernelName} from '../theory/target-kernels.js'

/** Projection rows: shared by all heads `[M, D]` or one matrix per head `[H, M, D]`. */
export type Projection = Tensor

/** Which keys exist: `[B, S]`, nonzero = present. Masked keys take no part at all. */
export type KeyMask = Tensor2D

export {CAUSAL_ALIGNS, type CausalAlign} from '../causal-view.js'

/**
 * How raw queries and keys become the inputs of an estimator (done once, at the boundary):
 * `canonical` multiplies both by `sqrt(logitScale)`; `raw` leaves them.
 */
export type InputSpace = 'canonical' | 'raw'

/** Presets: the public implementation to reproduce. `exact` is the mathematically right form. */
export const PRESET_NAMES = [
  'exact',
  'performer-pytorch',
  'google-jax',
  'google-slim',
  'fast-transformers',
  'xformers',
  'hku',
  'noahs-ark',
  'fla',
  'linear-attention-transformer',
  'nystrom-attention',
  'reformer-pytorch',
  'tf-models',
] as const
export type PresetName = (typeof PRESET_NAMES)[number]

/** Learned arrays by name. */
export type Parameters = Readonly<Record<string, Tensor>>

/** Learned arrays by name, on the host, row-major. */
export type HostParameters = Readonly<Record<string, ArrayLike<number>>>

/** Held-out or earlier tokens that data-dependent features take their statistics from. */
export interface Calibration {
  /** `[B, H, n, D]`, raw */
  query: Tensor4D
  /** `[B, H, n, D]`, raw */
  key: Tensor4D
}

/** What an estimator returns. */
export interface AttendResult {
  /** `[B, H, L, Dv]` */
  out: Tensor4D
  /** The normaliser before any guard, `[B, H, L]`, where the estimator has one that can vanish or be negative. */
  denominator?: Tensor3D
  /** 1 where the guard changed the denominator, `[B, H, L]`. */
  guarded?: Tensor3D
}

/**
 * Attention one token at a time. The state is updated in place: `next` first takes the new key and
 * value in, then reads, so position t sees itself.
 */
export interface Decoder {
  /** @param query - `[B, H, 1, D]` raw @param key - `[B, H, 1, D]` raw @param value - `[B, H, 1, Dv]` @returns `[B, H, 1, Dv]` */
  next(query: Tensor, key: Tensor, value: Tensor, gate?: Tensor): Tensor4D
  /** Bytes held between two tokens. */
  readonly stateBytes: number
  /** The tensors carried between tokens, by name, e.g. `state` `[B, H, F, Dv]` and `normalizer` `[B, H, F]`. Owned by the decoder. */
  readonly state: Readonly<Record<string, Tensor>>
  dispose(): void
}

/** Sizes of one call. */
export interface CallShape {
  batch: number
  heads: number
  queryLen: number
  keyLen: number
  headDim: number
  valueDim: number
  numFeatures: number
  causal: boolean
}

/** Predicted cost of one forward call. */
export interface Cost {
  /** Floating-point operations, a multiply-add counting two. */
  flops: number
}

/** The exact attention that an estimator converges to. */
export interface ExactTarget {
  /** What weights are made of: a name of `TARGET_KERNELS`, so that a target is plain data. */
  kernel: TargetKernelName
  /**
   * `unit` divides each vector by its Euclidean norm. `shared`: keys are the unit vectors of queries, given
   * keys are not looked at, and logits are beta q.k.
   */
  inputs: InputSpace | 'unit' | 'shared'
  /** A token sees itself only where it sees nothing else. Default false. */
  excludesSelf?: boolean
  /** Multiplies x and y (after `inputs`), e.g. `1/tau`. */
  inputScale: number
  /** `unit` only: added to each norm before dividing by it. Default 0. */
  normEpsilon?: number
  /** Added to a kernel with row weights given by logarithms. Default 0. */
  constant?: number
  /** Multiplies the dimensions of x and y besides, `[H, D]`, row-major. Default 1. */
  dimensionScale?: ArrayLike<number>
  /** As legends and tables show it. */
  label: string
}

/** Vectors that data-dependent features take their statistics from, in the estimator's input space, at least one of each. */
export interface CalibrationPairs {
  query: readonly Float64Array[]
  key: readonly Float64Array[]
}
