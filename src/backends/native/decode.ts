/** What the decode kernels share: tokens in, features of tokens, and one addon object per decoder. */
import type {TensorInfo} from '@tensorflow/tfjs-core'
import {describe, expected} from '../../errors.js'
import {featuresOf, type RecipeAttributes} from './features.js'
import {type KernelCall, required, view4} from './kernel.js'
import {memory, type NativeBackend, sizeOf} from './storage.js'

/** Sizes of one step. */
export interface StepSizes {
  batch: number
  heads: number
  /** Columns of queries and keys; of explicit features, their number. */
  headDim: number
  valueDim: number
}

/**
 * The object that a decoder's steps go through, made at the first one. A decoder passes the same
 * attributes object with every step, and that is what it is known by.
 */
export function steps<Attributes extends object, Step>(
  make: (call: KernelCall<Attributes>) => Step,
): (call: KernelCall<Attributes>) => Step {
  const made = new WeakMap<Attributes, Step>()
  return call => {
    let step = made.get(call.attrs)
    if (!step) {
      step = make(call)
      made.set(call.attrs, step)
    }
    return step
  }
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
  const wanted = `${name} ${describe([batch, heads, 1, width])}`
  throw expected('SHAPE_MISMATCH', 'decoder', wanted, describe([...shape]))
}

/** A number per head, `[B, H, 1]`, where it is given. @throws {SHAPE_MISMATCH} */
export function scalarFloats(
  backend: NativeBackend,
  name: string,
  tensor: TensorInfo | undefined,
  {batch, heads}: StepSizes,
): Float32Array | undefined {
  if (!tensor) return undefined
  if (tensor.shape.length === 3 && tensor.shape.join() === [batch, heads, 1].join()) {
    return backend.floats(tensor)
  }
  const wanted = `${name} ${describe([batch, heads, 1])}`
  throw expected('SHAPE_MISMATCH', 'decoder', wanted, describe([...tensor.shape]))
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
  const shape = [batch, heads, ...axes]
  if (sizeOf(tensor.shape) === sizeOf(shape)) return [backend.aligned(tensor), shape]
  const wanted = `${name} ${describe(shape)}`
  throw expected('SHAPE_MISMATCH', 'decoder', wanted, describe(tensor.shape))
}

/** Features of tokens that come with each step. @param projection - transposed, `[1 or H, D, M]` */
export function tokenFeatures(
  backend: NativeBackend,
  recipe: RecipeAttributes,
  projection: TensorInfo | undefined,
) {
  return featuresOf(backend, recipe, {
    x: undefined,
    projection: projection && view4(backend.aligned(projection), [1, ...projection.shape]),
    numFeatures: projection?.shape.at(-1) ?? 0,
  })
}

/** Runs one step into a new output `[B, H, 1, Dv]`. */
export function stepOutput(
  backend: NativeBackend,
  {batch, heads, valueDim}: StepSizes,
  run: (out: Float32Array) => void,
): TensorInfo {
  const out = memory.allocateToken(batch * heads * valueDim)
  run(out)
  return backend.own(out, [batch, heads, 1, valueDim])
}
