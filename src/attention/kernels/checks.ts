/**
 * What the operations of this folder take. An operation checks a call before it chooses a form, so that
 * every backend refuses the same calls; a fused kernel checks again, as it can be called by itself.
 *
 * `where` is the operation's name, which is also the kernel's.
 */
import {describe, expected, unknownName} from '../../errors.js'
import {
  checkElements,
  checkFlag,
  checkNumber,
  hasShape,
  MASK_TYPES,
  type TensorLike,
} from '../check-tensor.js'
import type {CallShape} from '../types.js'

/** The tensors of a call by name; absent ones are undefined. */
export type Inputs<T extends TensorLike = TensorLike> = Readonly<Record<string, T | undefined>>

export type AttentionSizes = Omit<CallShape, 'numFeatures' | 'causal'>

/** A tensor that a call must have. @throws {BAD_OPTION} */
export function given<T extends TensorLike>(where: string, inputs: Inputs<T>, name: string): T {
  const tensor = inputs[name]
  if (tensor) return tensor
  throw expected('BAD_OPTION', where, `a tensor ${name}`, describe(tensor))
}

/**
 * Axes of a float32 tensor of four, none empty.
 *
 * @throws {BAD_OPTION} for another element type
 * @throws {SHAPE_MISMATCH} for another number of axes, or an empty one
 */
export function fourAxes(
  where: string,
  inputs: Inputs,
  name: string,
): [number, number, number, number] {
  const tensor = given(where, inputs, name)
  checkElements(`${where}.${name}`, tensor)
  const {shape} = tensor
  if (shape.length === 4 && shape.every(axis => axis > 0)) {
    return shape as [number, number, number, number]
  }
  throw expected('SHAPE_MISMATCH', where, `${name} of four axes, none empty`, describe(shape))
}

/** Axes of a float32 tensor of two, none empty. @throws as {@link fourAxes} does */
function twoAxes(where: string, inputs: Inputs, name: string): [number, number] {
  const tensor = given(where, inputs, name)
  checkElements(`${where}.${name}`, tensor)
  const {shape} = tensor
  if (shape.length === 2 && shape.every(axis => axis > 0)) return shape as [number, number]
  throw expected('SHAPE_MISMATCH', where, `${name} of two axes, none empty`, describe(shape))
}

/**
 * Checks an array of the call where it is there.
 *
 * @param shared - how many leading axes may be 1 instead
 * @throws {BAD_OPTION | SHAPE_MISMATCH}
 */
export function checkArray(
  where: string,
  inputs: Inputs,
  name: string,
  wanted: readonly number[],
  {shared = 0, mask = false} = {},
): void {
  const tensor = inputs[name]
  if (tensor === undefined || tensor === null) return
  checkElements(`${where}.${name}`, tensor, mask ? MASK_TYPES : undefined)
  if (hasShape(tensor.shape, wanted, shared)) return
  const what = `${name} ${describe([...wanted])}`
  throw expected('SHAPE_MISMATCH', where, what, describe(tensor.shape))
}

/** The same of an array that the call must have. @throws {BAD_OPTION | SHAPE_MISMATCH} */
export function checkNeeded(
  where: string,
  inputs: Inputs,
  name: string,
  wanted: readonly number[],
): void {
  given(where, inputs, name)
  checkArray(where, inputs, name, wanted)
}

/** Attributes of operations that weigh keys by a softmax. */
export interface SoftmaxAttributes {
  scale: number
  causal: boolean
}

function checkSoftmaxAttributes(where: string, {scale, causal}: SoftmaxAttributes): void {
  checkNumber(`${where}.scale`, scale)
  checkFlag(`${where}.causal`, causal)
}

/** What `softmaxAttention` takes: leading axes of 1 of query, key and value are shared. */
export function softmaxAttentionSizes(
  inputs: Inputs,
  attributes: SoftmaxAttributes,
): AttentionSizes {
  const where = 'SoftmaxAttention'
  checkSoftmaxAttributes(where, attributes)
  const query = fourAxes(where, inputs, 'query')
  const key = fourAxes(where, inputs, 'key')
  const value = fourAxes(where, inputs, 'value')
  const batch = Math.max(query[0], key[0], value[0])
  const heads = Math.max(query[1], key[1], value[1])
  const [, , queryLen, headDim] = query
  const [, , keyLen, valueDim] = value
  checkArray(where, inputs, 'query', [batch, heads, queryLen, headDim], {shared: 2})
  checkArray(where, inputs, 'key', [batch, heads, keyLen, headDim], {shared: 2})
  checkArray(where, inputs, 'value', [batch, heads, keyLen, valueDim], {shared: 2})
  checkArray(where, inputs, 'keyBias', [batch, heads, keyLen])
  checkArray(where, inputs, 'keyMask', [batch, keyLen], {mask: true})
  return {batch, heads, queryLen, keyLen, headDim, valueDim}
}

/** Inputs of `softmaxAttention` that have gradients, in the order in which those are given. */
export const SOFTMAX_GRADIENTS = ['query', 'key', 'value', 'keyBias'] as const

/** What the gradient of `softmaxAttention` takes: what that does, its outputs, and the slopes of both. */
export function softmaxAttentionGradientSizes(
  {out, lse, slopes, lseSlopes, ...own}: Inputs,
  attributes: SoftmaxAttributes,
): AttentionSizes {
  const where = 'SoftmaxAttentionGradient'
  const sizes = softmaxAttentionSizes(own, attributes)
  const {batch, heads, queryLen, valueDim} = sizes
  for (const name of ['out', 'slopes']) {
    checkNeeded(where, {out, slopes}, name, [batch, heads, queryLen, valueDim])
  }
  for (const name of ['lse', 'lseSlopes']) {
    checkNeeded(where, {lse, lseSlopes}, name, [batch, heads, queryLen])
  }
  return sizes
}

/** Attributes of `adamStep`: numbers of one step, with what corrects the bias of both means. */
export interface AdamAttributes {
  decay1: number
  decay2: number
  rate: number
  scale: number
  epsilon: number
}

/** What `adamStep` takes: `value0`, `gradient0`, `first0`, `second0`, `value1`, .. @returns how many of each */
export function adamCount(inputs: Inputs, attributes: AdamAttributes): number {
  const where = 'AdamStep'
  const {decay1, decay2, rate, scale, epsilon} = attributes
  for (const [name, number] of Object.entries({decay1, decay2, rate, scale, epsilon})) {
    checkNumber(`${where}.${name}`, number)
  }
  const count = Math.ceil(Object.keys(inputs).length / 4)
  for (let at = 0; at < count; at++) {
    const {shape} = given(where, inputs, `value${at}`)
    for (const name of ['value', 'gradient', 'first', 'second']) {
      checkNeeded(where, inputs, `${name}${at}`, shape)
    }
  }
  return count
}

export function maskedSoftmaxSizes(
  inputs: Inputs,
  {causal}: {causal: boolean},
): Pick<AttentionSizes, 'batch' | 'heads' | 'queryLen' | 'keyLen'> {
  const where = 'MaskedSoftmax'
  checkFlag(`${where}.causal`, causal)
  const [batch, heads, queryLen, keyLen] = fourAxes(where, inputs, 'logits')
  checkArray(where, inputs, 'keyMask', [batch, keyLen], {mask: true})
  return {batch, heads, queryLen, keyLen}
}

/** What `sampleKeys` takes. @returns `draws` besides, n per query */
export function sampleKeysSizes(
  inputs: Inputs,
  attributes: SoftmaxAttributes,
): Omit<AttentionSizes, 'valueDim'> & {draws: number} {
  const where = 'SampleKeys'
  checkSoftmaxAttributes(where, attributes)
  const [batch, heads, queryLen, headDim] = fourAxes(where, inputs, 'query')
  const [, , keyLen] = fourAxes(where, inputs, 'key')
  const [, , , draws] = fourAxes(where, inputs, 'uniform')
  checkArray(where, inputs, 'key', [batch, heads, keyLen, headDim])
  checkArray(where, inputs, 'uniform', [batch, heads, queryLen, draws])
  checkArray(where, inputs, 'keyMask', [batch, keyLen], {mask: true})
  return {batch, heads, queryLen, keyLen, headDim, draws}
}

export const DENSE_ACTIVATIONS = ['linear', 'relu', 'gelu', 'gelu-tanh', 'silu'] as const
export type DenseActivation = (typeof DENSE_ACTIVATIONS)[number]

export interface DenseAttributes {
  transposed: boolean
  activation: DenseActivation
}

export function denseSizes(
  inputs: Inputs,
  {transposed, activation}: DenseAttributes,
): {rows: number; inner: number; columns: number} {
  const where = 'Dense'
  checkFlag(`${where}.transposed`, transposed)
  if (!DENSE_ACTIVATIONS.includes(activation)) {
    throw unknownName(`${where}.activation`, 'activations', activation, DENSE_ACTIVATIONS)
  }
  const [rows, inner] = twoAxes(where, inputs, 'x')
  const stored = twoAxes(where, inputs, 'weight')
  const columns = stored[transposed ? 0 : 1]
  checkArray(where, inputs, 'weight', transposed ? [columns, inner] : [inner, columns])
  checkArray(where, inputs, 'bias', [columns])
  return {rows, inner, columns}
}

/** What the gradients of `dense` take: `out` is its output, `slopes` that of the output; activation `linear` or `relu`. */
export function denseGradientSizes(
  inputs: Inputs,
  attributes: DenseAttributes,
): {rows: number; inner: number; columns: number} {
  const sizes = denseSizes(inputs, attributes)
  const {activation} = attributes
  if (activation !== 'linear' && activation !== 'relu') {
    const wanted = 'linear or relu: the output shows their slope'
    throw expected('UNSUPPORTED', 'DenseGradient', wanted, activation)
  }
  for (const name of ['out', 'slopes']) {
    checkNeeded('DenseGradient', inputs, name, [sizes.rows, sizes.columns])
  }
  return sizes
}

/** What `softmaxCrossEntropy` takes, but for the values of labels. */
export function crossEntropySizes(inputs: Inputs): {rows: number; columns: number} {
  const where = 'SoftmaxCrossEntropy'
  const [rows, columns] = twoAxes(where, inputs, 'logits')
  const labels = given(where, inputs, 'labels')
  checkElements(`${where}.labels`, labels, ['int32'])
  if (hasShape(labels.shape, [rows])) return {rows, columns}
  throw expected('SHAPE_MISMATCH', where, `labels [${rows}]`, describe(labels.shape))
}

/** @throws {BAD_RANGE} unless labels are columns */
export function checkLabels(labels: ArrayLike<number>, columns: number): void {
  // every step of a training goes through here: a tenth of the time of Array.prototype.find
  for (let row = 0; row < labels.length; row++) {
    const label = labels[row]!
    if (label >= 0 && label < columns) continue
    const wanted = `labels from 0 to ${columns - 1}, of ${columns} columns`
    throw expected('BAD_RANGE', 'SoftmaxCrossEntropy', wanted, `${label}`)
  }
}

/** What the gradient of `softmaxCrossEntropy` takes: what that does, and the slope of the loss. */
export function crossEntropyGradientSizes({slope, ...own}: Inputs): {
  rows: number
  columns: number
} {
  const where = 'SoftmaxCrossEntropyGradient'
  checkNeeded(where, {slope}, 'slope', [])
  return crossEntropySizes(own)
}

export interface NormalizeRowsAttributes {
  epsilon: number
  centred: boolean
}

export function normalizeRowsSizes(
  inputs: Inputs,
  {epsilon, centred}: NormalizeRowsAttributes,
): {rows: number; columns: number} {
  const where = 'NormalizeRows'
  checkNumber(`${where}.epsilon`, epsilon)
  checkFlag(`${where}.centred`, centred)
  const [rows, columns] = twoAxes(where, inputs, 'x')
  checkNeeded(where, inputs, 'weight', [columns])
  checkArray(where, inputs, 'bias', [columns])
  return {rows, columns}
}

/** What `normalizeRowsGradient` takes: what {@link normalizeRowsSizes} does, and slopes of the output. */
export function normalizeRowsGradientSizes(
  inputs: Inputs,
  attributes: NormalizeRowsAttributes,
): {rows: number; columns: number} {
  const {slopes, ...own} = inputs
  const sizes = normalizeRowsSizes(own, attributes)
  checkNeeded('NormalizeRowsGradient', inputs, 'slopes', [sizes.rows, sizes.columns])
  return sizes
}

/** @throws {BAD_RANGE} unless starts are whole numbers that rise from 0 to the number of rows */
export function checkSegments(
  inputs: Inputs,
  starts: unknown,
): asserts starts is readonly number[] {
  const where = 'SegmentMeans'
  const [, , rows] = fourAxes(where, inputs, 'x')
  const rise =
    Array.isArray(starts) &&
    starts.every((start, i) => Number.isInteger(start) && (i === 0 || start > starts[i - 1]))
  if (rise && starts[0] === 0 && starts.at(-1) === rows) return
  const wanted = `starts of segments that rise from 0 to ${rows}`
  throw expected('BAD_RANGE', where, wanted, describe(starts))
}

export interface MixtureAttributes {
  /** Multiplies each q.w. */
  scale: number
  /** a, the factor on the correction. */
  coefficient: number
  /** Smallest weight of a vector. */
  floor: number
}

/** Sizes of `optimalMixture`: one vector per proposal, or two. */
export function optimalMixtureSizes(
  inputs: Inputs,
  {scale, coefficient, floor}: MixtureAttributes,
): Omit<AttentionSizes, 'keyLen'> & {count: number; proposals: number} {
  const where = 'OptimalMixture'
  for (const [name, number] of Object.entries({scale, coefficient, floor})) {
    checkNumber(`${where}.${name}`, number)
  }
  const [batch, heads, queryLen, headDim] = fourAxes(where, inputs, 'query')
  const [, , count, valueDim] = fourAxes(where, inputs, 'values')
  const [, , proposals] = fourAxes(where, inputs, 'affinity')
  for (const name of ['vectors', 'bias', 'balance']) given(where, inputs, name)
  checkArray(where, inputs, 'vectors', [batch, heads, count, headDim])
  checkArray(where, inputs, 'values', [batch, heads, count, valueDim])
  checkArray(where, inputs, 'bias', [batch, heads, count])
  checkArray(where, inputs, 'balance', [batch, heads, count])
  checkArray(where, inputs, 'affinity', [batch, heads, proposals, queryLen])
  checkArray(where, inputs, 'present', [batch, proposals], {mask: true})
  if (count !== proposals && count !== 2 * proposals) {
    const wanted = `one vector for each of the ${proposals} proposals of affinity, or two`
    throw expected('SHAPE_MISMATCH', where, wanted, describe([batch, heads, count, headDim]))
  }
  return {batch, heads, queryLen, headDim, valueDim, count, proposals}
}

/** What `halfSquaredNorm` takes. @returns `[B, H, n, D]` */
export function halfSquaredNormAxes(inputs: Inputs, inputScale: unknown) {
  const where = 'HalfSquaredNorm'
  checkNumber(`${where}.inputScale`, inputScale)
  return fourAxes(where, inputs, 'x')
}

/** What `cumulativeLogSumExp` takes. @returns `[N, rows, F]` */
export function cumulativeAxes(inputs: Inputs): [number, number, number] {
  const where = 'CumulativeLogSumExp'
  const x = given(where, inputs, 'x')
  checkElements(`${where}.x`, x)
  const {shape} = x
  if (shape.length === 3) return [shape[0]!, shape[1]!, shape[2]!]
  throw expected('SHAPE_MISMATCH', where, 'x of three axes', describe([...shape]))
}

/** What `logSumExp` takes: a tensor with a last axis that is not empty. */
export function checkRows(inputs: Inputs): void {
  const where = 'LogSumExp'
  const x = given(where, inputs, 'x')
  checkElements(`${where}.x`, x)
  if (x.shape.length > 0 && x.shape.at(-1)! > 0) return
  throw expected('SHAPE_MISMATCH', where, 'x with a last axis, not empty', describe(x.shape))
}
