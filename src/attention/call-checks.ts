/** What a call of a method must be like before anything is computed: tensors, shapes, forms that there are. */
import type * as tf from '@tensorflow/tfjs-core'
import {describe, expected, RfaError} from '../errors.js'
import {checkFlag, checkObject, checkTensor, hasShape, MASK_TYPES} from './check-tensor.js'
import {type Estimator, supportsOf} from './forms/estimator.js'
import {CAUSAL_ALIGNS, type CallShape, type CausalAlign, type Projection} from './types.js'

/** Sizes of the tensors of a call. */
export type Sizes = Omit<CallShape, 'numFeatures' | 'causal'>

/** @throws {BAD_OPTION} for anything but a live float32 tensor @throws {SHAPE_MISMATCH} for shapes that do not fit */
export function checkShapes(query: tf.Tensor, key: tf.Tensor, value: tf.Tensor): Sizes {
  for (const [name, tensor] of Object.entries({query, key, value})) checkTensor(name, tensor)
  const [batch, heads, queryLen, headDim] = query.shape as tf.Tensor4D['shape']
  const [, , keyLen, valueDim] = value.shape as tf.Tensor4D['shape']
  const fits =
    [query, key, value].every(tensor => tensor.rank === 4 && tensor.size > 0) &&
    key.shape[0] === batch &&
    value.shape[0] === batch &&
    key.shape[1] === heads &&
    value.shape[1] === heads &&
    key.shape[3] === headDim &&
    key.shape[2] === keyLen
  if (fits) return {batch, heads, queryLen, keyLen, headDim, valueDim}
  const what = 'query [B, H, L, D], key [B, H, S, D] and value [B, H, S, Dv], none empty'
  const got = `query ${describe(query.shape)}, key ${describe(key.shape)}, value ${describe(value.shape)}`
  throw expected('SHAPE_MISMATCH', 'attention', what, got)
}

/** What a call asks for in addition to outputs. */
export interface Asked {
  causal: boolean
  cross: boolean
  keyMask: tf.Tensor | undefined
  gate: tf.Tensor | undefined
}

/** @throws {BAD_OPTION} unless `causal` is true or false @throws {UNSUPPORTED} for a form that a method lacks */
export function checkSupport(
  estimator: Estimator,
  options: Record<string, unknown>,
  asked: Asked,
): void {
  checkFlag('causal', asked.causal)
  const supports = supportsOf(estimator, options)
  const missing =
    (asked.causal && !supports.causal && 'causal form') ||
    (!asked.causal && !supports.bidirectional && 'bidirectional form, only a causal one') ||
    (asked.cross && !supports.cross && 'form for unequal numbers of queries and keys') ||
    (asked.keyMask && !supports.keyMask && 'form with a key mask') ||
    (asked.gate && !estimator.takesGate && 'gate') ||
    undefined
  if (!missing) return
  const causality = asked.causal ? !supports.causal : !supports.bidirectional
  const remedy = asked.causal ? 'leave `causal` out' : 'set `causal`'
  throw new RfaError('UNSUPPORTED', `${estimator.name}: has no ${missing}`, {
    suggestions: causality ? [remedy] : [],
  })
}

/** @throws {BAD_OPTION} for an unknown corner, and for causal queries that are fewer than keys without one */
export function checkCausalAlign(
  {queryLen, keyLen, causal}: Sizes & {causal: boolean},
  align: CausalAlign | undefined,
): void {
  if (align !== undefined && !CAUSAL_ALIGNS.includes(align)) {
    throw expected('BAD_OPTION', 'causalAlign', CAUSAL_ALIGNS.join(' or '), describe(align))
  }
  if (!causal || queryLen >= keyLen || align !== undefined) return
  const what = 'causalAlign where causal queries are fewer than keys'
  const got = `${queryLen} queries, ${keyLen} keys and none`
  const remedy = 'set `causalAlign: "end"` where the queries are the last tokens'
  const other = 'set `causalAlign: "start"` where they are the first ones'
  throw expected('BAD_OPTION', 'attention', what, got, remedy, other)
}

/** Tensors that say something of tokens. */
interface TokenFacts {
  keyMask: tf.Tensor | undefined
  queryMask: tf.Tensor | undefined
  gate: tf.Tensor | undefined
}

/** @throws {BAD_OPTION | SHAPE_MISMATCH} */
export function checkMasksAndGate(
  {batch, heads, queryLen, keyLen}: Sizes,
  {keyMask, queryMask, gate}: TokenFacts,
): void {
  const check = (
    where: string,
    tensor: tf.Tensor | undefined,
    shape: number[],
    dtypes?: readonly tf.DataType[],
  ) => {
    if (tensor === undefined || tensor === null) return
    checkTensor(where, tensor, dtypes)
    if (hasShape(tensor.shape, shape)) return
    throw expected('SHAPE_MISMATCH', where, describe(shape), describe(tensor.shape))
  }
  check('keyMask', keyMask, [batch, keyLen], MASK_TYPES)
  check('queryMask', queryMask, [batch, queryLen], MASK_TYPES)
  check('gate', gate, [batch, heads, keyLen])
}

/** @throws {BAD_OPTION | SHAPE_MISMATCH} @throws {UNSUPPORTED} for a method that takes no statistics */
export function checkCalibration(
  {name, calibrates}: Estimator,
  {batch, heads, headDim}: Pick<CallShape, 'batch' | 'heads' | 'headDim'>,
  calibration: {query: tf.Tensor; key: tf.Tensor} | undefined,
): void {
  if (calibration === undefined) return
  if (!calibrates) {
    throw new RfaError(
      'UNSUPPORTED',
      `${name}: takes no statistics, so it has no use for calibration`,
    )
  }
  checkObject('calibration', calibration)
  for (const side of ['query', 'key'] as const) {
    checkTensor(`calibration.${side}`, calibration[side])
    const {shape} = calibration[side]
    const fits =
      shape.length === 4 && shape[0] === batch && shape[1] === heads && shape[3] === headDim
    if (fits && shape[2]! > 0) continue
    const wanted = `[${batch}, ${heads}, n, ${headDim}] with n of at least 1`
    throw expected('SHAPE_MISMATCH', `calibration.${side}`, wanted, describe(shape))
  }
}

/** Checks a projection given as a tensor: `[M, D]` or `[H, M, D]`. @throws {BAD_OPTION | SHAPE_MISMATCH} */
export function checkProjection(projection: Projection, heads: number, headDim: number): void {
  checkTensor('projection', projection)
  const {shape} = projection
  const fits =
    projection.size > 0 &&
    shape.at(-1) === headDim &&
    (shape.length === 2 || (shape.length === 3 && shape[0] === heads))
  if (fits) return
  const what = `[M, ${headDim}] or [${heads}, M, ${headDim}]`
  throw expected('SHAPE_MISMATCH', 'projection', what, describe(shape))
}
