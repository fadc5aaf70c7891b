/**
 * The vocabulary of the kernel package.
 *
 * Axes, used in every comment, name and error: B batch · H heads · L query length · S key length ·
 * D head dimension · Dv value dimension · M number of projection rows (`numFeatures`) · F length of
 * a feature vector (`featureDim`). Layout is `[B, H, L, D]`, row-major, float32.
 */
import type {Tensor, Tensor2D, Tensor3D, Tensor4D} from '@tensorflow/tfjs-core'
import type {z} from 'zod'
import type {Moments} from '../theory/moments.js'
import type {VarianceLaw} from '../theory/predictor.js'
import type {Noise, NoiseSpec} from './noise.js'
import type {ProjectionName} from './projections/index.js'

/** Projection rows: shared by all heads `[M, D]` or one matrix per head `[H, M, D]`. */
export type Projection = Tensor2D | Tensor3D

/** Which keys exist: `[B, S]`, nonzero = present. Masked keys take no part at all. */
export type KeyMask = Tensor2D

/**
 * How raw queries and keys become the inputs of an estimator (done once, at the boundary):
 * `canonical` multiplies both by `sqrt(logitScale)`; `raw` leaves them.
 */
export type InputSpace = 'canonical' | 'raw'

/** Presets: whose public implementation is reproduced. `exact` is the mathematically right form. */
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

/**
 * What an estimator receives: queries and keys as given, and the factor that takes them to its
 * {@link InputSpace}. Kernels take that factor along, so that no scaled copy is made.
 */
export interface AttendInputs<Options = unknown> {
  /** `[B, H, L, D]` */
  query: Tensor4D
  /** `[B, H, S, D]` */
  key: Tensor4D
  /** `[B, H, S, Dv]` */
  value: Tensor4D
  /** x = inputScale q and y = inputScale k: sqrt(logitScale), or 1 for raw inputs. */
  inputScale: number
  /** Query `i` sees keys `j <= i` only (aligned at the start when L differs from S). */
  causal: boolean
  keyMask?: KeyMask | undefined
  /** Present exactly when the estimator declares `projection`. */
  projection?: Projection | undefined
  /** Forget gates in (0, 1), `[B, H, S]`; only for estimators that declare `takesGate`. */
  gate?: Tensor3D | undefined
  /** What the caller asked for: rows of a projection, proposals, landmarks. */
  numFeatures: number
  /** Every array that the estimator's `noise` names. */
  noise: Noise
  /** Those of the estimator's `parameters` that the caller gave. */
  parameters: Parameters
  /** Tokens to take statistics from, where the caller gave some. */
  calibration?: Calibration | undefined
  options: Options
}

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
  next(query: Tensor4D, key: Tensor4D, value: Tensor4D, gate?: Tensor3D): Tensor4D
  /** Bytes held between two tokens. */
  readonly stateBytes: number
  /** The tensors carried between tokens, by name, e.g. `S`, `z`. Owned by the decoder. */
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
  /**
   * `softmax`: weights exp(scale x.y); `arc-cosine`: order-1 arc-cosine kernel of x and y; `gaussian`:
   * exp(-|x-y|^2/2); `exponential`: exp(|x+y|^2/2); `smreg`: exp(-(|x|^2+|y|^2)/2) E exp(w.(x+y)), w uniform
   * of length sqrt(D).
   */
  kernel: 'softmax' | 'arc-cosine' | 'gaussian' | 'exponential' | 'smreg'
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
  /** Added to the kernel: `softmax` (of exp(x.y)) and `gaussian` only. Default 0. */
  constant?: number
  /** Multiplies the dimensions of x and y besides, `[H, D]`, row-major. Default 1. */
  dimensionScale?: ArrayLike<number>
  /** As legends and tables show it. */
  label: string
}

/**
 * Kernel-level facts: what phi(x).phi(y) estimates and how well, phi being the features that `attend` forms
 * with the same options, but for factors that all features share and that cancel in its ratio. x and y are in
 * the estimator's input space: canonical, or raw.
 */
export interface KernelFacts<Options = unknown> {
  /** The kernel that the features estimate, as a formula. */
  formula(options: Options): string
  /** Moments of phi(x).phi(y) for M i.i.d. rows, exact or integrated to rounding. */
  moments(x: Float64Array, y: Float64Array, draw: MomentDraw<Options>): Moments
  /** phi(x) `[.., F]`, so that inner products of a query's with a key's features have these moments. */
  features(x: Tensor4D, projection: Projection, options: Options, draw: FeatureDraw): Tensor4D
  /** The product of one row is bounded by a few standard deviations, so that a sample's kurtosis may be believed. Default false. */
  bounded?: boolean
  /** Why a pair by itself has no kernel estimate with these options. */
  refuses?(options: Options): string | undefined
  /** Options that, beside the others, are no part of phi(x).phi(y), each with the reason. */
  idle(options: Options): Partial<Record<keyof Options & string, string>>
}

/** What moments depend on beside the pair. */
export interface MomentDraw<Options = unknown> {
  numFeatures: number
  options: Options
  calibration: CalibrationPairs
}

/** What features can depend on beside the vector itself. */
export interface FeatureDraw {
  side: 'query' | 'key'
  /** The arrays that the estimator's `noise` names. */
  noise: Noise
  calibration: CalibrationPairs
}

/** Vectors that data-dependent features take their statistics from, in the estimator's input space, at least one of each. */
export interface CalibrationPairs {
  query: readonly Float64Array[]
  key: readonly Float64Array[]
}

/** One estimator: facts first, from which options, help, tests, tables and costs derive. */
export interface Estimator<Schema extends z.ZodObject = z.ZodObject> {
  name: string
  title: string
  /** Authors, year, arXiv or venue. */
  citation: string
  /** The estimator in one line of mathematics. */
  formula: string
  /** When to use it, when not: one or two sentences. */
  advice: string
  /** What is estimated without bias: kernel entries, whole outputs, or nothing. */
  unbiasedFor:
    | 'softmax-kernel'
    | 'gaussian-kernel'
    | 'arc-cosine-kernel'
    | 'smreg-kernel'
    | 'exponential-kernel'
    | 'output'
    | 'exact'
    | 'none'
  /** Every attention weight is >= 0, so outputs stay within the range of the values. */
  nonNegative: boolean
  /** Weights of a row sum to one in exact arithmetic with the `exact` preset. */
  rowsSumToOne: boolean
  supports: {
    bidirectional: boolean
    causal: boolean
    /** L different from S. */
    cross: boolean
    decode: boolean
    keyMask: boolean
  }
  /** Causal rows use no later token, but which earlier ones they use depends on later tokens. Default false. */
  causalSelectionLeaks?: boolean
  /** Permuting keys with their values changes nothing (bidirectional). */
  keyOrderMatters: boolean
  takesGate?: boolean
  /** Its option for the number of tokens to come, which the recurrent form must be told beforehand. */
  lengthOption?: string
  /** Declared by random estimators: there is a projection with M rows. */
  projection?: {
    default: ProjectionName
    /** Whether these options use it. Default: always. */
    used?(options: z.output<Schema>): boolean
  }
  /** What `numFeatures` counts for a method without a projection, e.g. `proposals`. Default: it is not used. */
  sizedBy?: string
  /** Whether `numFeatures` is used, for a method that {@link sizedBy} tells of. Default: always. */
  sized?(call: {causal: boolean}, options: z.output<Schema>): boolean
  /**
   * Options with which a sequence is cut in the same places whatever its length, so that masked padding
   * changes nothing. Default: any options.
   */
  lengthFreeOptions?: Partial<z.input<Schema>>
  /** Random arrays it takes beside a projection, by name; they may depend on the options. */
  noise?(shape: CallShape, options: z.output<Schema>): Record<string, NoiseSpec>
  /** Learned arrays it can take, by name, with their shapes. Without them it does without. */
  parameters?(shape: CallShape, options: z.output<Schema>): Record<string, number[]>
  /** Its features depend on statistics of queries and keys: from the call, or from `calibration`. */
  calibrates?: boolean
  /** Length of phi for M projection rows; 0 for methods without features. */
  featureDim(numFeatures: number, headDim: number, options: z.output<Schema>): number
  options: Schema
  inputs(options: z.output<Schema>): InputSpace
  /** What it converges to with its options and learned arrays, `undefined` when that is nothing but itself. */
  target(options: z.output<Schema>, parameters?: HostParameters): ExactTarget | undefined
  kernel?: KernelFacts<z.output<Schema>>
  /** Which law its relative kernel variance follows; what the error predictor uses. */
  varianceLaw?: VarianceLaw
  cost(shape: CallShape, options: z.output<Schema>): Cost
  /** Bytes of decode state after `length` tokens, per batch and head. */
  stateBytes?(
    shape: {headDim: number; valueDim: number; numFeatures: number; length: number},
    options: z.output<Schema>,
  ): number
  attend(inputs: AttendInputs<z.output<Schema>>): AttendResult
  decoder?(inputs: DecoderInputs<z.output<Schema>>): Decoder
  /** Options that reproduce a public implementation, with the quirk and its price in one line each. */
  presets: Partial<Record<PresetName, Preset<Schema>>>
}

/** What a decoder needs to know before the first token. */
export interface DecoderInputs<Options = unknown> {
  batch: number
  heads: number
  headDim: number
  valueDim: number
  logitScale: number
  projection?: Projection | undefined
  numFeatures: number
  /** The rows of a noise array that belong to the next tokens: `spec.rows` rows from `firstRow` on. */
  noiseRows(name: string, spec: NoiseSpec, firstRow: number): Tensor4D
  parameters: Parameters
  calibration?: Calibration | undefined
  options: Options
}

/** One preset of one estimator. */
export interface Preset<Schema extends z.ZodObject = z.ZodObject> {
  options: Partial<z.input<Schema>>
  /** What differs from the exact form and what that costs. */
  quirk: string
}

/** Keeps the option types of an estimator file while it joins the untyped registry. */
export function defineEstimator<Schema extends z.ZodObject>(
  estimator: Estimator<Schema>,
): Estimator<Schema> {
  return estimator
}
