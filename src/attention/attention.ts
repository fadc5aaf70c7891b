import type {z} from 'zod'
import {expected, RfaError} from '../errors.js'
import {tf} from '../tf.js'
import {
  checkCalibration,
  checkCausalAlign,
  checkMasksAndGate,
  checkProjection,
  checkShapes,
  checkSupport,
} from './call-checks.js'
import {checkFeatures, checkObject, checkSizes} from './check-tensor.js'
import {checkedDecoder} from './checked-decoder.js'
import type {Estimators, MethodName} from './estimators/index.js'
import {requireFinite} from './finite-output.js'
import {extendedDecoder} from './forms/decoders/stateful.js'
import {type AttendInputs, type Estimator, supportsOf} from './forms/estimator.js'
import {callNoise, checkArrays, type Noise, noiseTensor} from './forms/noise.js'
import {attendCall} from './present-tokens.js'
import type {OrthSign, ProjectionName} from './projections/index.js'
import {projectionTensor} from './projections/tensor.js'
import type {RegisteredName} from './registered.js'
import {estimatorNamed, resolveOptions, usesProjection} from './resolve.js'
import type {
  AttendResult,
  Calibration,
  CallShape,
  CausalAlign,
  Decoder,
  KeyMask,
  Parameters,
  PresetName,
  Projection,
} from './types.js'

/** Options every method understands. */
export interface CommonOptions {
  /**
   * M, the number of random vectors, or what the method counts instead (proposals, landmarks). Default 256;
   * ignored by methods that have no use for it.
   */
  numFeatures?: number
  /** Which projection to draw, or one already drawn, `[M, D]` or `[H, M, D]`. Default: the method's own. */
  projection?: ProjectionName | Projection
  /**
   * Signs of orthogonal factors: uniform (`haar`, default) or as LAPACK leaves them (`raw`), which official codes
   * do and which biases positive features. Projections without such factors ignore it.
   */
  orthSign?: OrthSign
  /** Seed of the draw. Default 0. */
  seed?: number
  /** Index of an independent repetition under the same seed. Default 0. */
  replicate?: number
  /** beta, the factor on q.k. Default `1 / sqrt(D)`. */
  scale?: number
  /** The released implementation to reproduce. Default `exact`. */
  preset?: PresetName
  /** Random arrays in place of drawn ones, by the names that the method declares. */
  noise?: Readonly<Record<string, tf.Tensor>>
  /** Learned arrays, by the names that the method declares. Default none. */
  parameters?: Parameters
  /** Tokens that set data-dependent features by their statistics. Default: the tokens of the call. */
  calibration?: {query: tf.Tensor; key: tf.Tensor}
}

/** Options of one call of {@link attention}. */
export interface CallOptions extends CommonOptions {
  /** Query i sees keys j <= i only. Default false. */
  causal?: boolean
  /**
   * Which keys a causal query sees where there are fewer queries (L) than keys (S), which is refused without it. `start`:
   * query i sees keys 0 to i. `end`: queries are the last tokens, query i sees keys 0 to `i + S - L`.
   */
  causalAlign?: CausalAlign
  /** `[B, S]`, nonzero = present. Default: all present. */
  keyMask?: tf.Tensor
  /**
   * `[B, L]`, nonzero = a token. Masked queries say nothing to any statistic; their rows mean nothing. Methods with statistics of
   * tokens refuse (`UNSUPPORTED`) causal calls in which queries are masked and their keys are not. Default: the mask of
   * keys, where there are as many queries as keys; else all are tokens.
   */
  queryMask?: tf.Tensor
  /** Forget gates in (0, 1), `[B, H, S]`, for methods that take them. */
  gate?: tf.Tensor
}

const CALL_OPTIONS: Readonly<Record<'method' | keyof CallOptions, true>> = {
  method: true,
  numFeatures: true,
  projection: true,
  orthSign: true,
  seed: true,
  replicate: true,
  scale: true,
  preset: true,
  noise: true,
  parameters: true,
  calibration: true,
  causal: true,
  causalAlign: true,
  keyMask: true,
  queryMask: true,
  gate: true,
}

/** The name of an estimator of this package, or of one that was registered. */
export type AnyMethod = MethodName | RegisteredName

/** The options that method `Name` adds to the common ones. */
export type MethodOptions<Name extends AnyMethod> = OptionsOf<z.input<SchemaOf<Name>>>
type SchemaOf<Name extends AnyMethod> =
  Name extends RegisteredName<infer Schema>
    ? Schema
    : Name extends MethodName
      ? Estimators[Name] extends {options: infer Schema}
        ? Schema
        : never
      : never
/** zod types an empty object as `Record<string, never>`, which would forbid the common options too. */
type OptionsOf<Input> = string extends keyof Input ? unknown : Partial<Input>

/** All options of {@link attention} for one method. */
export type AttentionOptions<Name extends AnyMethod = MethodName> = {method: Name} & CallOptions &
  MethodOptions<Name>

/**
 * Attention with any method of the registry, those of {@link registerEstimator} among them.
 *
 * @param query - `[B, H, L, D]`, raw (the scale is applied inside)
 * @param key - `[B, H, S, D]`
 * @param value - `[B, H, S, Dv]`
 * @param options - method, its options and the common ones
 * @returns `[B, H, L, Dv]`; rows that see no key are zero
 * @throws {SHAPE_MISMATCH} when shapes do not fit together
 * @throws {BAD_OPTION} for a tensor that is not float32, or was disposed
 * @throws {UNKNOWN_NAME | BAD_OPTION} for a method, preset or option that does not exist or is out of range
 * @throws {UNSUPPORTED} when the method has no causal, cross or masked form
 * @throws {BAD_OPTION} for a causal call with fewer queries than keys that does not say which corner is meant
 * @throws {NOT_FINITE} where finite inputs are too large for float32: squares, products or sums of them leave its range
 * @throws {BACKEND_NOT_READY} before `await useBackend(...)`
 */
export function attention<Name extends AnyMethod>(
  query: tf.Tensor,
  key: tf.Tensor,
  value: tf.Tensor,
  options: AttentionOptions<Name>,
): tf.Tensor4D {
  return tf.tidy(() => {
    const {estimator, inputs} = attendInputs(query, key, value, options as AnyOptions)
    const {out} = attendCall(estimator, inputs)
    requireFinite(estimator.name, out, inputs, options as unknown as tf.TensorContainer)
    return out
  })
}

/** Options with names that are checked at run time. */
type AnyOptions = {method: string} & CallOptions & Record<string, unknown>

/** {@link attention} with the denominator and where a guard changed it, for diagnostics; an output is given as it came. */
export function attend(
  query: tf.Tensor,
  key: tf.Tensor,
  value: tf.Tensor,
  options: AnyOptions,
): AttendResult {
  const {estimator, inputs} = attendInputs(query, key, value, options)
  return attendCall(estimator, inputs)
}

/** What the estimator of a call is given, all of it checked. */
export function attendInputs(
  query: tf.Tensor,
  key: tf.Tensor,
  value: tf.Tensor,
  options: AnyOptions,
): {estimator: Estimator; inputs: AttendInputs<Record<string, unknown>>} {
  checkObject('options', options)
  estimatorNamed(options.method) // what is wrong first, where there is no backend yet
  const {causal = false, causalAlign, keyMask, gate, calibration} = options
  const shape = {...checkShapes(query, key, value), causal}
  const prepared = prepare(options, shape)
  const {estimator, inputScale, methodOptions, numFeatures, parameters} = prepared
  checkSupport(estimator, methodOptions, {
    causal,
    keyMask,
    gate,
    cross: shape.queryLen !== shape.keyLen,
  })
  checkCausalAlign(shape, causalAlign)
  const {queryMask = shape.queryLen === shape.keyLen ? keyMask : undefined} = options
  checkMasksAndGate(shape, {keyMask, queryMask, gate})
  checkCalibration(estimator, shape, calibration)
  const inputs = {
    query: query as tf.Tensor4D,
    key: key as tf.Tensor4D,
    value: value as tf.Tensor4D,
    inputScale,
    causal,
    causalAlign,
    keyMask: keyMask as KeyMask | undefined,
    queryMask: queryMask as KeyMask | undefined,
    gate: gate as tf.Tensor3D | undefined,
    projection: prepared.projection,
    numFeatures,
    noise: callNoise(
      estimator,
      {...shape, numFeatures},
      methodOptions,
      (options.noise ?? {}) as Noise,
      prepared.draw,
    ),
    parameters,
    calibration: calibration as Calibration | undefined,
    options: methodOptions,
  }
  return {estimator, inputs}
}

/** Options of {@link decoder}: sizes instead of tensors. */
export type DecoderOptions<Name extends AnyMethod = MethodName> = {
  method: Name
  /** Default 1. */
  batch?: number
  heads: number
  headDim: number
  valueDim: number
  /**
   * Tokens that a cache of keys and values has room for from the start, on backends that write it in place. A full cache is
   * copied into one of twice its size, which makes that one token take longer. No output depends on it. Default 64.
   */
  capacity?: number
} & CommonOptions &
  MethodOptions<Name>

/** Options of every method, which no method may have besides: attention takes them away before. */
export const COMMON_OPTIONS: readonly string[] = [
  ...Object.keys(CALL_OPTIONS),
  ...(['batch', 'heads', 'headDim', 'valueDim', 'capacity'] satisfies (keyof DecoderOptions)[]),
]

/**
 * The recurrent form of a method: one token in, one token out, as causal attention would give it.
 *
 * @throws {BAD_OPTION} for a size that is not a whole number of at least 1
 * @throws {UNSUPPORTED} when the method has no recurrent form
 */
export function decoder<Name extends AnyMethod>(options: DecoderOptions<Name>): Decoder {
  checkObject('options', options)
  const {
    batch = 1,
    heads,
    headDim,
    valueDim,
    capacity,
    ...rest
  } = options as DecoderOptions & Record<string, unknown>
  checkSizes({batch, heads, headDim, valueDim, ...(capacity !== undefined && {capacity})})
  const shape = {batch, heads, headDim, valueDim, queryLen: 1, keyLen: 1, causal: true}
  const prepared = prepare(rest, shape)
  const {estimator, projection, methodOptions, draw} = prepared
  if (!estimator.decoder || !supportsOf(estimator, methodOptions).decode) {
    throw noDecoder(estimator, methodOptions)
  }
  checkCalibration(estimator, shape, options.calibration)
  if (options.noise) throw noGivenNoise(estimator.name)
  const inner = estimator.decoder({
    batch,
    heads,
    headDim,
    valueDim,
    capacity,
    logitScale: prepared.logitScale,
    inputScale: prepared.inputScale,
    projection,
    numFeatures: prepared.numFeatures,
    noiseRows: (name, spec, firstRow) => noiseTensor(name, spec, {batch, heads}, draw, firstRow),
    parameters: prepared.parameters,
    calibration: options.calibration as Calibration | undefined,
    options: methodOptions,
  })
  const drawn = projection && projection !== options.projection ? [tf.keep(projection)] : []
  return checkedDecoder(estimator, shape, extendedDecoder(inner, drawn))
}

interface Prepared {
  estimator: Estimator
  methodOptions: Record<string, unknown>
  logitScale: number
  /** What takes queries and keys to the method's input space. */
  inputScale: number
  projection: Projection | undefined
  /** M: the rows of the projection where there is one. */
  numFeatures: number
  parameters: Parameters
  draw: {seed: number; replicate: number}
}

/** The options that the method of a call adds to the common ones. */
function ownOptions(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).filter(([name]) => !Object.hasOwn(CALL_OPTIONS, name)),
  )
}

/** Resolves method, preset, options, scale, projection and parameters. */
function prepare(
  options: {method: string} & CommonOptions & Record<string, unknown>,
  shape: Omit<CallShape, 'numFeatures'>,
): Prepared {
  const {
    method,
    numFeatures = 256,
    projection,
    orthSign = 'haar',
    seed = 0,
    replicate = 0,
    scale = shape.headDim ** -0.5,
    preset = 'exact',
    parameters = {},
  } = options
  const {heads, headDim} = shape
  const estimator = estimatorNamed(method)
  const methodOptions = resolveOptions(estimator, preset, ownOptions(options))
  if (!(typeof scale === 'number' && scale > 0 && scale < Infinity))
    throw expected('BAD_OPTION', 'scale', 'a positive number', String(scale))
  checkFeatures(numFeatures)
  const shapes = estimator.parameters?.({...shape, numFeatures}, methodOptions) ?? {}
  checkArrays(estimator.name, 'parameters', parameters, shapes)
  const prepared = {
    ...{estimator, methodOptions, numFeatures, parameters},
    logitScale: scale,
    inputScale: estimator.inputs(methodOptions) === 'raw' ? 1 : Math.sqrt(scale),
    draw: {seed, replicate},
  }
  if (!usesProjection(estimator, methodOptions)) return {...prepared, projection: undefined}
  if (projection !== undefined && typeof projection !== 'string') {
    checkProjection(projection, heads, headDim)
    return {...prepared, projection, numFeatures: projection.shape.at(-2)!}
  }
  const name = projection ?? estimator.projection!.default
  return {
    ...prepared,
    projection: projectionTensor({
      name,
      heads,
      numFeatures,
      headDim,
      seed,
      replicate,
      orthSign,
    }),
  }
}

/** Why there is nothing to decode with: the method has no such form, or not with these options. */
function noDecoder(estimator: Estimator, options: Record<string, unknown>): RfaError {
  const reason = estimator.decoder && estimator.refuses?.(options).decode
  if (!reason) {
    return new RfaError('UNSUPPORTED', `${estimator.name}: has no recurrent form to decode with`)
  }
  return new RfaError('UNSUPPORTED', `${estimator.name}: ${reason}`, {
    suggestions: ['leave this option at its default (`preset: exact`)'],
  })
}

function noGivenNoise(method: string): RfaError {
  const what = 'no noise for decoding, which draws it token by token'
  return expected('UNSUPPORTED', method, what, 'arrays', 'set seed and replicate instead')
}
