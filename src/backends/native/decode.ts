/** What the decode kernels share: tokens in, features of tokens, and one addon object per decoder. */
import type {TensorInfo} from '@tensorflow/tfjs-core'
import {
  checkRecipe,
  checkSizes,
  disposed,
  featureDimOf,
  hasShape,
  type RecipeAttributes,
  stepMismatch,
} from '../../attention/fused-kernels.js'
import {describe, expected} from '../../errors.js'
import {featuresOf} from './features.js'
import {type KernelCall, required, view4} from './kernel.js'
import {memory, type NativeBackend, sizeOf} from './storage.js'

export interface StepSizes {
  batch: number
  heads: number
  /** Columns of queries and keys; of explicit features, their number. */
  headDim: number
  valueDim: number
}

/** An array that a step object keeps a pointer to, with the tensor that it belongs to. */
interface Held {
  dataId: object
  data: Float32Array
  length: number
}

interface Made<Step> extends StepSizes {
  step: Step
  /** In the order of the tensors; `undefined` for an absent one. */
  held: (Held | undefined)[]
  /** Of the backend, when the arrays were last found to be where they were. */
  departures: number
}

/** The inputs of a step with memory that its object keeps, always in one order. */
type Kept = (inputs: KernelCall['inputs']) => (TensorInfo | undefined)[]

/**
 * The object that a decoder's steps go through, made at the first one. A decoder passes the same
 * attributes object with every step, and that is what it is known by. It is made anew for other sizes
 * and when one of its arrays is no longer the memory of the tensor that comes with the step.
 */
export function steps<Attributes extends StepSizes, Step>(
  kept: Kept,
  make: (call: KernelCall<Attributes>) => Step,
): (call: KernelCall<Attributes>) => Step {
  // only the decoder's attributes hold them: objects and pointers are collected with it
  const made = new WeakMap<Attributes, Made<Step>>()
  return call => {
    const {attrs, inputs, backend} = call
    const known = made.get(attrs)
    if (known && stillFits(known, attrs, kept(inputs), backend)) return known.step
    const {batch, heads, headDim, valueDim} = attrs
    checkSizes({batch, heads, headDim, valueDim}, 'decoder.')
    const step = make(call)
    // after `make`, which may move an array to the start of a cache line: what counts is where it
    // lies now
    const held = kept(inputs).map(tensor => tensor && hold(tensor, backend))
    const {departures} = backend
    made.set(attrs, {step, batch, heads, headDim, valueDim, held, departures})
    return step
  }
}

function stillFits(
  made: Made<unknown>,
  {batch, heads, headDim, valueDim}: StepSizes,
  tensors: (TensorInfo | undefined)[],
  backend: NativeBackend,
): boolean {
  if (made.batch !== batch || made.heads !== heads) return false
  if (made.headDim !== headDim || made.valueDim !== valueDim) return false
  // looking up every array is only needed after some tensor has left the backend
  const moved = made.departures !== backend.departures
  for (let i = 0; i < tensors.length; i++) {
    const tensor = tensors[i]
    const before = made.held[i]
    if (tensor?.dataId !== before?.dataId) return false
    if (!tensor || !before) continue
    // its shape was compared when the object was made, with these very data
    if (isDisposed(tensor) || before.data.length !== before.length) return false
    if (moved && !backend.holds(before.dataId, before.data)) return false
  }
  made.departures = backend.departures
  return true
}

function hold(tensor: TensorInfo, backend: NativeBackend): Held {
  const data = backend.floats(tensor)
  backend.lend(tensor)
  return {dataId: tensor.dataId, data, length: data.length}
}

/** Whether a tensor was disposed; its data may live on in others. */
function isDisposed(tensor: TensorInfo & {isDisposed?: boolean}): boolean {
  return tensor.isDisposed === true
}

/** Query, key and value of one token. @throws {SHAPE_MISMATCH} */
export function tokenArrays({inputs, attrs, backend}: KernelCall<StepSizes>) {
  const {headDim, valueDim} = attrs
  return {
    query: tokenFloats(backend, 'query', required(inputs, 'query'), attrs, headDim),
    key: tokenFloats(backend, 'key', required(inputs, 'key'), attrs, headDim),
    value: tokenFloats(backend, 'value', required(inputs, 'value'), attrs, valueDim),
  }
}

/** The values of `[B, H, 1, width]`. @throws {SHAPE_MISMATCH} */
function tokenFloats(
  backend: NativeBackend,
  name: string,
  tensor: TensorInfo,
  {batch, heads}: StepSizes,
  width: number,
): Float32Array {
  const {shape} = tensor
  if (
    shape.length === 4 &&
    shape[0] === batch &&
    shape[1] === heads &&
    shape[2] === 1 &&
    shape[3] === width
  ) {
    return backend.floats(tensor)
  }
  throw stepMismatch(name, [batch, heads, 1, width], shape)
}

/** A number per head, `[B, H, 1]`, where it is given. @throws {SHAPE_MISMATCH} */
export function scalarFloats(
  backend: NativeBackend,
  name: string,
  tensor: TensorInfo | undefined,
  {batch, heads}: StepSizes,
): Float32Array | undefined {
  if (!tensor) return undefined
  if (hasShape(tensor.shape, [batch, heads, 1])) return backend.floats(tensor)
  throw stepMismatch(name, [batch, heads, 1], tensor.shape)
}

/**
 * An array of the state, which steps change in place, with its axes as the addon sees them: whatever axes
 * of 1 its tensor has.
 *
 * @param axes - the axes after batch and heads
 * @throws {SHAPE_MISMATCH} for a tensor of another size
 */
export function stateArray(
  {inputs, attrs: {batch, heads}, backend}: KernelCall<StepSizes>,
  name: string,
  ...axes: number[]
): [data: Float32Array, shape: number[]] {
  const tensor = required(inputs, name)
  if (isDisposed(tensor)) throw disposed(`decoder.${name}`)
  const shape = [batch, heads, ...axes]
  if (sizeOf(tensor.shape) === sizeOf(shape)) return [backend.aligned(tensor), shape]
  throw stepMismatch(name, shape, tensor.shape)
}

export interface FeatureStepAttributes extends StepSizes {
  featureDim: number
  query: RecipeAttributes
  key: RecipeAttributes
}

/**
 * Features of tokens that come with each step. Both sides have one kind and one projection, transposed:
 * `[1 or H, D, M]`.
 *
 * @param use - what the sums are made of
 * @throws {SHAPE_MISMATCH} for a projection of another shape, or features of another number
 * @throws {UNSUPPORTED} for sides of two kinds or two projections
 */
export function tokenFeatures(
  {inputs, attrs, backend}: KernelCall<FeatureStepAttributes>,
  use: 'features' | 'logarithms',
) {
  const {queryProjection, keyProjection} = inputs
  const alike = attrs.query?.kind === attrs.key?.kind
  if (!alike || queryProjection?.dataId !== keyProjection?.dataId) {
    throw expected('UNSUPPORTED', 'decoder', 'one kind and one projection of both sides', 'two')
  }
  const side = (name: 'query' | 'key') => {
    const recipe = attrs[name]
    checkRecipe(`decoder.${name}`, recipe, use)
    const projection = inputs[`${name}Projection`]
    if (projection) checkTransposed(projection, attrs)
    const numFeatures = projection?.shape.at(-1) ?? 0
    const featureDim = featureDimOf(recipe, attrs.headDim, numFeatures)
    if (featureDim !== attrs.featureDim || featureDim === 0) {
      const wanted = `${name} of ${attrs.featureDim} features`
      throw expected('SHAPE_MISMATCH', 'decoder', wanted, `${featureDim}`)
    }
    return featuresOf(backend, recipe, {
      x: undefined,
      projection: projection && view4(backend.aligned(projection), [1, ...projection.shape]),
      numFeatures,
    })
  }
  return {query: side('query'), key: side('key')}
}

function checkTransposed(projection: TensorInfo, {heads, headDim}: StepSizes): void {
  if (isDisposed(projection)) throw disposed('decoder.projection')
  const [count, columns, rows] = projection.shape
  const fits = projection.shape.length === 3 && (count === 1 || count === heads)
  if (fits && columns === headDim && rows! > 0) return
  const wanted = `[1, ${headDim}, M] or [${heads}, ${headDim}, M]`
  throw expected('SHAPE_MISMATCH', 'decoder.projection', wanted, describe(projection.shape))
}

/** Runs one step into a new output `[B, H, 1, Dv]`. */
export function stepOutput(
  backend: NativeBackend,
  {batch, heads, valueDim}: StepSizes,
  run: (out: Float32Array) => void,
): TensorInfo {
  // the caller's to dispose; the state stays with the decoder
  const out = memory.allocateToken(batch * heads * valueDim)
  run(out)
  return backend.own(out, [batch, heads, 1, valueDim])
}
