/** Kernels of TensorFlow.js that move numbers and change none: strided copies, of every type of numbers. */
import type {TensorInfo} from '@tensorflow/tfjs-core'
import {tf} from '../../../tf.js'
import {type KernelCall, type NativeKernel, NUMBERS, replaceKernel, required} from '../kernel.js'
import {type NativeBackend, sizeOf} from '../storage.js'
import {copyPart, fitsCopy, type Part, stridesOf, whole} from '../strided-copy.js'

const moves: NativeKernel[] = [
  replaceKernel<{begin: number | number[]; size?: number | number[]}>('Slice', slice, NUMBERS),
  replaceKernel<{numOrSizeSplits: number | number[]; axis: number}>('SplitV', splitV, NUMBERS),
  replaceKernel<{axis: number}>('Unpack', unpack, NUMBERS),
  replaceKernel<{axis: number}>('Concat', concat, NUMBERS),
  replaceKernel<{axis: number}>('Pack', pack, NUMBERS),
  replaceKernel<{paddings: [number, number][]; constantValue: number}>('PadV2', padV2, NUMBERS),
  replaceKernel<{reps: number[]}>('Tile', tile, NUMBERS),
  replaceKernel<{dims: number | number[]}>('Reverse', reverse, NUMBERS),
]
export default moves

/** A part of a tensor that is not one run of memory: of a run the CPU backend makes a view. */
function slice({
  inputs,
  attrs,
  backend,
}: KernelCall<{begin: number | number[]; size?: number | number[]}>) {
  const x = required(inputs, 'x')
  const [begin, size] = tf.slice_util.parseSliceParams(x, attrs.begin, attrs.size) as [
    number[],
    number[],
  ]
  tf.slice_util.assertParamsValid(x, begin, size)
  if (!begin.every(isCount) || !size.every(isCount)) return undefined
  if (tf.slice_util.isSliceContinous(x.shape, begin, size) || !fitsCopy(backend.addon, size))
    return undefined
  return takePart(backend, x, size, size, offsetOf(x.shape, begin))
}

/** The tensor along an axis in pieces. */
function splitV({
  inputs,
  attrs,
  backend,
}: KernelCall<{numOrSizeSplits: number | number[]; axis: number}>) {
  const x = required(inputs, 'x')
  const [axis] = tf.util.parseAxisParam(attrs.axis, x.shape) as [number]
  const sizes = tf.backend_util.prepareSplitSize(x as tf.Tensor, attrs.numOrSizeSplits, axis)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (!sizes.every(isCount) || total > x.shape[axis]! || !fitsCopy(backend.addon, x.shape))
    return undefined
  const stride = stridesOf(x.shape)[axis]!
  let offset = 0
  return sizes.map(size => {
    const shape = x.shape.map((length, at) => (at === axis ? size : length))
    const part = takePart(backend, x, shape, shape, offset)
    offset += size * stride
    return part
  })
}

/** One tensor per place of an axis, without that axis. */
function unpack({inputs, attrs, backend}: KernelCall<{axis: number}>) {
  const value = required(inputs, 'value')
  const axis = placeOf(attrs.axis, value.shape.length)
  if (axis === undefined || !fitsCopy(backend.addon, value.shape)) return undefined
  const shape = value.shape.filter((_, at) => at !== axis)
  const one = value.shape.map((length, at) => (at === axis ? 1 : length))
  const stride = stridesOf(value.shape)[axis]!
  return Array.from({length: value.shape[axis]!}, (_, place) =>
    takePart(backend, value, one, shape, place * stride),
  )
}

/** Tensors one after another along an axis. */
function concat({inputs, attrs, backend}: KernelCall<{axis: number}>) {
  const given = tensorsOf(inputs)
  const [first] = given
  if (!first || !given.every(({dtype}) => dtype === first.dtype)) return undefined
  const shapes = given.map(({shape}) => shape)
  const [axis] = tf.util.parseAxisParam(attrs.axis, first.shape) as [number]
  tf.backend_util.assertParamsConsistent(shapes, axis)
  const shape = tf.backend_util.computeOutShape(shapes, axis)
  // of one that is not empty the CPU backend makes no copy
  if (given.filter(each => sizeOf(each.shape) > 0).length < 2 || !fitsCopy(backend.addon, shape))
    return undefined
  return join(
    backend,
    given,
    shape,
    stridesOf(shape),
    each => each.shape[axis]! * stridesOf(shape)[axis]!,
  )
}

/** Tensors one after another along a new axis. */
function pack({inputs, attrs, backend}: KernelCall<{axis: number}>) {
  const given = tensorsOf(inputs)
  const [first] = given
  const axis = first && placeOf(attrs.axis, first.shape.length + 1, 0)
  if (!first || axis === undefined || given.length < 2) return undefined
  const same = ({dtype, shape}: TensorInfo) =>
    dtype === first.dtype && tf.util.arraysEqual(shape, first.shape)
  const shape = first.shape.toSpliced(axis, 0, given.length)
  if (!given.every(same) || !fitsCopy(backend.addon, shape)) return undefined
  const strides = stridesOf(shape)
  return join(backend, given, shape, strides.toSpliced(axis, 1), () => strides[axis]!)
}

/** Inputs one after another in an output: where each goes by strides, and how far behind the one before. */
function join(
  backend: NativeBackend,
  given: readonly TensorInfo[],
  shape: number[],
  strides: readonly number[],
  step: (tensor: TensorInfo) => number,
): TensorInfo {
  const {dtype} = given[0]!
  const data = backend.uninitialisedOf(dtype, sizeOf(shape))
  let offset = 0
  for (const tensor of given) {
    const from = whole(backend.numbers(tensor), tensor.shape)
    copyPart(backend.addon, tensor.shape, from, {data, offset, strides})
    offset += step(tensor)
  }
  return backend.makeTensorInfo(shape, dtype, data)
}

/** A tensor among places that hold one number. */
function padV2({
  inputs,
  attrs,
  backend,
}: KernelCall<{paddings: [number, number][]; constantValue: number}>) {
  const x = required(inputs, 'x')
  const {paddings, constantValue} = attrs
  const right =
    Array.isArray(paddings) &&
    paddings.length === x.shape.length &&
    paddings.every(pair => Array.isArray(pair) && pair.length === 2 && pair.every(isCount))
  if (!right || typeof constantValue !== 'number' || !fitsCopy(backend.addon, x.shape))
    return undefined
  const shape = x.shape.map((length, axis) => paddings[axis]![0] + length + paddings[axis]![1])
  const data = backend.uninitialisedOf(x.dtype, sizeOf(shape)).fill(constantValue)
  const starts = paddings.map(([before]) => before)
  const to: Part = {data, offset: offsetOf(shape, starts), strides: stridesOf(shape)}
  copyPart(backend.addon, x.shape, whole(backend.numbers(x), x.shape), to)
  return backend.makeTensorInfo(shape, x.dtype, data)
}

/** A tensor again and again along each axis. */
function tile({inputs, attrs: {reps}, backend}: KernelCall<{reps: number[]}>) {
  const x = required(inputs, 'x')
  const right = Array.isArray(reps) && reps.length === x.shape.length && reps.every(isCount)
  if (!right) return undefined
  // two axes for each: which copy, and where in it
  const each = x.shape.flatMap((length, axis) => [reps[axis]!, length])
  if (!fitsCopy(backend.addon, each)) return undefined
  const shape = x.shape.map((length, axis) => length * reps[axis]!)
  const data = backend.uninitialisedOf(x.dtype, sizeOf(shape))
  const from = stridesOf(x.shape).flatMap(stride => [0, stride])
  const to = stridesOf(shape).flatMap((stride, axis) => [stride * x.shape[axis]!, stride])
  const source: Part = {data: backend.numbers(x), offset: 0, strides: from}
  copyPart(backend.addon, each, source, {data, offset: 0, strides: to})
  return backend.makeTensorInfo(shape, x.dtype, data)
}

/** A tensor backwards along axes. */
function reverse({inputs, attrs, backend}: KernelCall<{dims: number | number[]}>) {
  const x = required(inputs, 'x')
  const axes = tf.util.parseAxisParam(attrs.dims, x.shape)
  const once = new Set(axes).size === axes.length
  if (x.shape.length === 0 || !once || !fitsCopy(backend.addon, x.shape)) return undefined
  const strides = stridesOf(x.shape)
  const ends = x.shape.map((length, axis) => (axes.includes(axis) ? length - 1 : 0))
  const data = backend.uninitialisedOf(x.dtype, sizeOf(x.shape))
  const from: Part = {
    data: backend.numbers(x),
    offset: offsetOf(x.shape, ends),
    strides: strides.map((stride, axis) => (axes.includes(axis) ? -stride : stride)),
  }
  copyPart(backend.addon, x.shape, from, {data, offset: 0, strides})
  return backend.makeTensorInfo(x.shape, x.dtype, data)
}

/**
 * A part of a tensor as a tensor.
 *
 * @param part - its shape within `x`
 * @param shape - that of the result, with as many elements
 * @param offset - where it starts
 */
function takePart(
  backend: NativeBackend,
  x: TensorInfo,
  part: readonly number[],
  shape: number[],
  offset: number,
): TensorInfo {
  const data = backend.uninitialisedOf(x.dtype, sizeOf(part))
  const from: Part = {data: backend.numbers(x), offset, strides: stridesOf(x.shape)}
  copyPart(backend.addon, part, from, whole(data, part))
  return backend.makeTensorInfo(shape, x.dtype, data)
}

/** The inputs of a kernel that takes a list. */
function tensorsOf(inputs: KernelCall['inputs']): TensorInfo[] {
  return Object.values(inputs) as TensorInfo[]
}

function offsetOf(shape: readonly number[], place: readonly number[]): number {
  return stridesOf(shape).reduce((sum, stride, axis) => sum + stride * place[axis]!, 0)
}

/** An axis counted from the first; `undefined` where there is none. @param least - lowest number that counts from the last */
function placeOf(axis: unknown, rank: number, least = -rank): number | undefined {
  if (!Number.isInteger(axis)) return undefined
  const given = axis as number
  if (given < least || given >= rank) return undefined
  return given < 0 ? given + rank : given
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0
}
