/** What an estimator declares, what it is given and what it returns. */
import type {Tensor, Tensor3D, Tensor4D} from '@tensorflow/tfjs-core'
import type {z} from 'zod'
import type {Moments} from '../../theory/moments.js'
import type {VarianceLaw} from '../../theory/predictor.js'
import type {CosineHead} from '../../theory/ratio-error/cosines.js'
import type {PlainHead, ProposalHead} from '../../theory/ratio-error/proposals.js'
import type {PositiveHead} from '../../theory/ratio-error/types.js'
import type {RowProduct} from '../../theory/row-product.js'
import type {RowTilt} from '../../theory/row-tilt.js'
import type {TargetKernelName} from '../../theory/target-kernels.js'
import type {ProjectionName} from '../projections/index.js'
import type {
  AttendResult,
  Calibration,
  CalibrationPairs,
  CallShape,
  CausalAlign,
  Cost,
  Decoder,
  ExactTarget,
  HostParameters,
  InputSpace,
  KeyMask,
  Parameters,
  PresetName,
  Projection,
} from '../types.js'
import type {Noise, NoiseSpec} from './noise.js'

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
  /** Query `i` sees keys `j <= i` only. */
  causal: boolean
  keyMask?: KeyMask | undefined
  /** `[B, L]`, which queries are tokens; where masked tokens were not left out before ({@link Estimator.maskedTokens}). */
  queryMask?: KeyMask | undefined
  /** Which corner of the L x S weights is causal, where L is less than S. Default `start`. */
  causalAlign?: CausalAlign | undefined
  /** Queries at the beginning that are no tokens and are not read: statistics pass over them. Default 0. */
  blankQueries?: number | undefined
  /** Present exactly when the estimator declares `projection`. */
  projection?: Projection | undefined
  /** Forget gates in (0, 1), `[B, H, S]`; only for estimators that declare `takesGate`. */
  gate?: Tensor3D | undefined
  /** M: the rows of the projection, or without one what the caller asked for (proposals, landmarks). */
  numFeatures: number
  /** Every array that the estimator's `noise` names. */
  noise: Noise
  /** Those of the estimator's `parameters` that the caller gave. */
  parameters: Parameters
  /** Tokens to take statistics from, where the caller gave some. */
  calibration?: Calibration | undefined
  options: Options
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
  /**
   * What one row adds as a function of one of its products, where it is one: variances of rows that depend on each other then
   * have a closed form. Default: it is none, or not known.
   */
  product?(x: Float64Array, y: Float64Array, options: Options): RowProduct | undefined
  /**
   * What the products of rows are at their tails, z = x + y: draws are then made where they have their moments. Default: what
   * {@link product} says; without either, draws are as rows are.
   */
  tilt?(x: Float64Array, y: Float64Array, draw: MomentDraw<Options>): RowTilt | undefined
  /** The product of one row is bounded by a few standard deviations, so that a sample's kurtosis may be believed. Default false. */
  bounded?: boolean
  /**
   * All that features take from a row w of the projection, and from rows of normal noise: its products with x
   * (`products`), or these and its length (`lengths`), and D. Such features are the same in every orthonormal
   * basis, so rows need only the columns of the vectors, and one for the rest of their length. Default:
   * anything.
   */
  rowsBy?: 'products' | 'lengths'
  /** Why a pair by itself has no kernel estimate with these options. */
  refuses?(options: Options): string | undefined
  /** Options that do not change phi(x).phi(y), given the others, each with the reason. */
  idle(options: Options): Partial<Record<keyof Options & string, string>>
}

/** What moments depend on in addition to the pair. */
export interface MomentDraw<Options = unknown> {
  numFeatures: number
  options: Options
  calibration: CalibrationPairs
}

/** What features can depend on in addition to the vector. */
export interface FeatureDraw {
  side: 'query' | 'key'
  /** The arrays that the estimator's `noise` names. */
  noise: Noise
  calibration: CalibrationPairs
  /**
   * D, where x and the rows are given by fewer coordinates ({@link KernelFacts.rowsBy}). Default: their number of
   * columns.
   */
  headDim?: number | undefined
}

/** phi of both sides of a call as whole tensors: weights are `phi(x_i).phi(y_j)`, times those of the query and the key. */
export interface ExplicitFeatures {
  /** `[B, H, L, F]` */
  query: Tensor4D
  /** `[B, H, S, F]` */
  key: Tensor4D
  /** Both are logarithms of positive features. */
  logarithmic: boolean
  /** Log of each query's weight, `[B, H, L]`: it cancels in outputs, not in kernel estimates. Default 0. */
  queryLogWeight?: Tensor3D | undefined
  /** Log of each key's weight, `[B, H, S]`. Default 0. */
  keyLogWeight?: Tensor3D | undefined
}

/** Some queries of every head. */
export interface RowChoice {
  /** Their places among the L of their head, `[B, H, n]`, heads one after the other. */
  places: Int32Array
  /** n */
  count: number
}

/** What parts of {@link Estimator.attend} there can be, in their order. */
const ATTEND_PARTS = ['features', 'contraction', 'guard'] as const

/** One of them. */
export interface AttendPart {
  name: (typeof ATTEND_PARTS)[number]
  /** @param given - what the part before gave */
  run(given: readonly Tensor[]): Tensor[]
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
  unbiasedFor: `${TargetKernelName}-kernel` | 'output' | 'exact' | 'none'
  /** Every attention weight is >= 0, so outputs stay within the range of the values. */
  nonNegative: boolean
  /** Weights of a row sum to one in exact arithmetic with the `exact` preset. */
  rowsSumToOne: boolean
  /** The forms that there are with default options. */
  supports: Supports
  /** Why forms that it supports are missing with these options. Default: none is. */
  refuses?(options: z.output<Schema>): Partial<Record<keyof Supports, string>>
  /** Causal rows use no later token, but which earlier ones they use depends on later tokens. Default false. */
  causalSelectionLeaks?: boolean
  /** Permuting keys with their values changes nothing (bidirectional). */
  keyOrderMatters: boolean
  takesGate?: boolean
  /** What outputs do not depend on, each with the reason: there is no gradient by it. Default: nothing. */
  ignores?: Partial<Record<'query' | 'key', string>>
  /** Outputs move in steps when queries or keys do, with the reason: there are no gradients by them. Default: they do not. */
  stepwise?: string
  /** The file that computes it outside of this program: numbers may round otherwise in tensors of another shape. */
  python?: PythonFile
  /** Its option for the number of tokens to come, which the recurrent form needs beforehand. */
  lengthOption?: string
  /** Declared by random estimators: there is a projection with M rows. */
  projection?: {
    default: ProjectionName
    /** Whether these options use it. Default: always. */
    used?(options: z.output<Schema>): boolean
  }
  /** What `numFeatures` counts for a method without a projection, e.g. `proposals`. Default: it is not used. */
  sizedBy?: string
  /** Whether `numFeatures` is used, for a method with {@link sizedBy}. Default: always. */
  sized?(call: {causal: boolean}, options: z.output<Schema>): boolean
  /**
   * Options with which a sequence is cut in the same places whatever its length, so that masked padding
   * changes nothing. Default: any options.
   */
  lengthFreeOptions?: Partial<z.input<Schema>>
  /** Random arrays it takes in addition to a projection, by name; they may depend on the options. */
  noise?(shape: CallShape, options: z.output<Schema>): Record<string, NoiseSpec>
  /** Learned arrays it can take, by name, with their shapes. Without them it does without. */
  parameters?(shape: CallShape, options: z.output<Schema>): Record<string, number[]>
  /**
   * What happens to masked tokens: `left-out`, `attend` is called with the tokens of each text alone, without masks; `in-place`,
   * it is given the masks. Default: left out where outputs depend on statistics of tokens or on their places, as `calibrates`,
   * `keyOrderMatters` and `couplesHeads` say.
   */
  maskedTokens?(options: z.output<Schema>): 'left-out' | 'in-place'
  /** Its features depend on statistics of queries and keys: from the call, or from `calibration`. */
  calibrates?: boolean
  /** What one head gives depends on the queries and keys of other heads with these options. Default: it does not. */
  couplesHeads?(options: z.output<Schema>): boolean
  /** Length of phi for M projection rows; 0 for methods without features. */
  featureDim(numFeatures: number, headDim: number, options: z.output<Schema>): number
  options: Schema
  /** Options that change no output with these, each with the reason; to set one is a slip. Default: none is known. */
  unused?(options: z.output<Schema>): Partial<Record<string, string>>
  inputs(options: z.output<Schema>): InputSpace
  /** What it converges to with its options and learned arrays, `undefined` when that is nothing but itself. */
  target(options: z.output<Schema>, parameters?: HostParameters): ExactTarget | undefined
  kernel?: KernelFacts<z.output<Schema>>
  /** Which law its relative kernel variance follows; what the error predictor uses. */
  varianceLaw?: VarianceLaw
  /**
   * One head as its features see it, where outputs are ratios of sums over independent rows, each with a weight and
   * a value: the error of outputs is predicted from this. `undefined` where the options break this form.
   *
   * @param head - canonical, none of its tokens hidden
   */
  positiveHead?(head: PositiveHead, options: z.output<Schema>): PositiveHead | undefined
  /** The same of features that are sines and cosines. */
  cosineHead?(head: CosineHead, options: z.output<Schema>): CosineHead | undefined
  /** The same of proposals with a random row each. */
  proposalHead?(head: PlainHead, options: z.output<Schema>): ProposalHead | undefined
  cost(shape: CallShape, options: z.output<Schema>): Cost
  /** Bytes of decode state after `length` tokens, per batch and head. */
  stateBytes?(
    shape: {headDim: number; valueDim: number; numFeatures: number; length: number},
    options: z.output<Schema>,
  ): number
  attend(inputs: AttendInputs<z.output<Schema>>): AttendResult
  /** A causal call whose fewer queries are the last tokens, in less time than with a blank query for each earlier key. */
  attendEnd?(inputs: AttendInputs<z.output<Schema>>): AttendResult
  /** The features of a call, where `attend` is nothing but attention with them. Default: it is not. */
  features?(inputs: AttendInputs<z.output<Schema>>): ExplicitFeatures
  /**
   * Weights of single queries as `attend` uses them, guard included, in less time than those of all. Default: there are none but
   * what `attend` makes of values.
   *
   * @returns `[B, H, n, S]`, 0 at keys that a query does not see
   */
  rowWeights?(inputs: AttendInputs<z.output<Schema>>, rows: RowChoice): Tensor4D
  /** Whether it has {@link rowWeights} with these options. Default: where it is defined. */
  givesRows?(options: z.output<Schema>): boolean
  /**
   * What `attend` does, in parts: each takes what the one before gave, the last one gives the output. Kernels that are fused do
   * several of them in one. Default: it is one whole.
   */
  parts?(inputs: AttendInputs<z.output<Schema>>): AttendPart[]
  decoder?(inputs: DecoderInputs<z.output<Schema>>): Decoder
  /** Options that reproduce a public implementation, with the quirk and its price in one line each. */
  presets: Partial<Record<PresetName, Preset<Schema>>>
}

/** A file of Python that has an estimator. */
export interface PythonFile {
  path: string
  library: 'numpy' | 'torch'
  /** Options that its function takes. */
  options: readonly string[]
}

/** Which forms there are. */
export interface Supports {
  bidirectional: boolean
  causal: boolean
  /** L different from S. */
  cross: boolean
  decode: boolean
  keyMask: boolean
}

/** The forms of a method that has them all. */
export const EVERY_FORM: Supports = {
  bidirectional: true,
  causal: true,
  cross: true,
  decode: true,
  keyMask: true,
}

/** The forms that there are with these options. */
export function supportsOf(
  {supports, refuses}: Pick<Estimator, 'supports' | 'refuses'>,
  options: Record<string, unknown>,
): Supports {
  const missing = Object.keys(refuses?.(options) ?? {})
  return {...supports, ...Object.fromEntries(missing.map(form => [form, false]))}
}

/** Whether weights of single queries are known with these options. */
export function givesRows(
  {rowWeights, givesRows}: Pick<Estimator, 'rowWeights' | 'givesRows'>,
  options: Record<string, unknown>,
): boolean {
  return rowWeights !== undefined && (givesRows?.(options) ?? true)
}

/** What a decoder needs to know before the first token. */
export interface DecoderInputs<Options = unknown> {
  batch: number
  heads: number
  headDim: number
  valueDim: number
  /** Tokens that a cache should have room for from the start, where the caller said so. More may come. */
  capacity?: number | undefined
  /** Multiplies q.k: `inputScale` squared, for canonical inputs. */
  logitScale: number
  /** x = inputScale q and y = inputScale k, as in {@link AttendInputs}. */
  inputScale: number
  projection?: Projection | undefined
  /** M, as in {@link AttendInputs}. */
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
  /** The difference from the exact form and its cost. */
  quirk: string
}

/** Keeps the option types of an estimator file while it joins the untyped registry. */
export function defineEstimator<Schema extends z.ZodObject>(
  estimator: Estimator<Schema>,
): Estimator<Schema> {
  return estimator
}
