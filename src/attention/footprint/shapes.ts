/** What TensorFlow.js's own kernels return: shapes and types, and what they take on the way. */
import type {DataType, Tensor, TensorInfo} from '@tensorflow/tfjs-core'
import {tf} from '../../tf.js'
import type {Meter} from './meter.js'

/** One call of a kernel, as TensorFlow.js makes it. */
export interface SizeCall {
  inputs: Record<string, TensorInfo>
  // biome-ignore lint/suspicious/noExplicitAny: attributes differ by kernel
  attrs: Record<string, any>
  meter: Meter
}

/** Makes room for what a kernel returns. */
export type SizeRule = (call: SizeCall) => TensorInfo | TensorInfo[]

const named = (names: string, rule: SizeRule): Record<string, SizeRule> =>
  Object.fromEntries(names.split(' ').map(name => [name, rule]))

/** The input of a kernel of one. */
const only = ({inputs}: SizeCall): TensorInfo => Object.values(inputs)[0]!

/** Entry by entry: as large as the inputs together. */
const elementwise =
  (dtype?: DataType): SizeRule =>
  ({inputs, meter}) => {
    const [first, ...others] = Object.values(inputs)
    const shape = others.reduce(
      (broadcast, other) => tf.backend_util.assertAndGetBroadcastShape(broadcast, other.shape),
      first!.shape,
    )
    return meter.allocate(shape, dtype ?? first!.dtype)
  }

/** The input under another shape, or as it is. */
const view =
  (shapeOf: (call: SizeCall, x: TensorInfo) => number[]): SizeRule =>
  call => {
    const x = only(call)
    return call.meter.share(x, shapeOf(call, x))
  }

/** One value for each run along some axes. Kernels take inner axes only: others are moved there first. */
const reduction =
  (dtype?: DataType): SizeRule =>
  call => {
    const x = only(call)
    const {axis, reductionIndices, keepDims = false} = call.attrs
    const axes = tf.util.parseAxisParam(axis ?? reductionIndices, x.shape)
    const [kept] = tf.backend_util.computeOutAndReduceShapes(x.shape, axes)
    const full = keepDims ? tf.backend_util.expandShapeToKeepDim(kept, axes) : kept
    const out = call.meter.allocate(full, dtype ?? x.dtype)
    if (tf.backend_util.getAxesPermutation(axes, x.shape.length)) call.meter.borrow(bytesOf(x))
    return out
  }

/** The same values in a new tensor: tfjs-wasm copies them. */
const duplicate = ({meter}: SizeCall, x: TensorInfo): TensorInfo =>
  meter.stands === 'wasm' ? meter.allocate(x.shape, x.dtype) : meter.share(x, x.shape)

const concat: SizeRule = call => {
  const parts = Object.values(call.inputs)
  const axis = tf.util.parseAxisParam(call.attrs.axis, parts[0]!.shape)[0]!
  const full = parts.filter(({shape}) => tf.util.sizeFromShape(shape) > 0)
  if (full.length === 1) return duplicate(call, full[0]!)
  const shapes = parts.map(({shape}) => shape)
  return call.meter.allocate(tf.backend_util.computeOutShape(shapes, axis), parts[0]!.dtype)
}

/** A run of entries is a view in plain JavaScript, anything else a copy. */
const slice: SizeRule = call => {
  const x = only(call)
  const [begin, size] = tf.slice_util.parseSliceParams(
    x as unknown as Tensor,
    call.attrs.begin,
    call.attrs.size,
  ) as [number[], number[]]
  const plain = call.meter.stands === 'cpu' || call.meter.stands === 'native'
  if (plain && tf.slice_util.isSliceContinous(x.shape, begin, size))
    return call.meter.share(x, size)
  return call.meter.allocate(size, x.dtype)
}

/** Plain JavaScript keeps values that the new type can hold as they are. */
const cast: SizeRule = call => {
  const x = only(call)
  const {dtype} = call.attrs as {dtype: DataType}
  const plain = call.meter.stands === 'cpu' || call.meter.stands === 'native'
  const same = dtype === x.dtype || (plain && !tf.util.hasEncodingLoss(x.dtype, dtype))
  return same ? {...call.meter.share(x, x.shape), dtype} : call.meter.allocate(x.shape, dtype)
}

/** tfjs-wasm keeps a packed copy of the right side of a single pair until that is disposed of. */
const product: SizeRule = ({inputs, attrs, meter}) => {
  const {a, b} = inputs as {a: TensorInfo; b: TensorInfo}
  const outer = tf.backend_util.assertAndGetBroadcastShape(
    a.shape.slice(0, -2),
    b.shape.slice(0, -2),
  )
  const rows = a.shape.at(attrs.transposeA ? -1 : -2)!
  const columns = b.shape.at(attrs.transposeB ? -2 : -1)!
  const single = tf.util.sizeFromShape(a.shape.slice(0, -2)) * tf.util.sizeFromShape(outer) === 1
  if (meter.stands === 'wasm' && single) meter.attach(b, bytesOf(b))
  return meter.allocate([...outer, rows, columns])
}

/** In plain JavaScript by way of differences and exponentials. */
const softmax: SizeRule = call => {
  const x = only(call)
  const out = call.meter.allocate(x.shape)
  const rows = (2 * bytesOf(x)) / x.shape.at(-1)!
  if (call.meter.stands === 'cpu') call.meter.borrow(2 * bytesOf(x) + rows)
  return out
}

const gather: SizeRule = ({inputs, attrs, meter}) => {
  const {x, indices} = inputs as {x: TensorInfo; indices: TensorInfo}
  const axis = tf.util.parseAxisParam(attrs.axis, x.shape)[0]!
  const batched = attrs.batchDims ?? 0
  const shape = [
    ...x.shape.slice(0, axis),
    ...indices.shape.slice(batched),
    ...x.shape.slice(axis + 1),
  ]
  return meter.allocate(shape, x.dtype)
}

const unpack: SizeRule = call => {
  const x = only(call)
  const axis = tf.util.parseAxisParam(call.attrs.axis, x.shape)[0]!
  const part = x.shape.filter((_, i) => i !== axis)
  return Array.from({length: x.shape[axis]!}, () => call.meter.allocate(part, x.dtype))
}

const pack: SizeRule = ({inputs, attrs, meter}) => {
  const parts = Object.values(inputs)
  const shape = [...parts[0]!.shape]
  const axis = attrs.axis < 0 ? attrs.axis + shape.length + 1 : attrs.axis
  shape.splice(axis, 0, parts.length)
  return meter.allocate(shape, parts[0]!.dtype)
}

const UNARY =
  'Abs Acos Asin Atan Ceil Cos Cosh Elu Erf Exp Expm1 Floor Log Log1p Neg OnesLike Reciprocal Relu ' +
  'Round Rsqrt Sigmoid Sign Sin Sinh Softplus Sqrt Square Step Tan Tanh ZerosLike Cumsum Cumprod Reverse'
const BINARY =
  'Add Atan2 FloorDiv Maximum Minimum Mod Multiply Pow RealDiv SquaredDifference Sub AddN'
const TESTS =
  'Equal Greater GreaterEqual IsFinite IsInf IsNan Less LessEqual LogicalAnd LogicalNot LogicalOr NotEqual'

/** Kernels of TensorFlow.js that attention is made of. */
export const SIZE_RULES: Readonly<Record<string, SizeRule>> = {
  ...named(`${UNARY} ${BINARY}`, elementwise()),
  ...named(TESTS, elementwise('bool')),
  ...named('Max Min Prod Sum', reduction()),
  ...named('Mean', reduction('float32')),
  ...named('All Any', reduction('bool')),
  ...named('ArgMax ArgMin', reduction('int32')),
  Identity: call => duplicate(call, only(call)),
  Reshape: view(({attrs}, x) =>
    tf.util.inferFromImplicitShape(attrs.shape, tf.util.sizeFromShape(x.shape)),
  ),
  ExpandDims: view(({attrs}, x) =>
    x.shape.toSpliced(attrs.dim < 0 ? attrs.dim + x.shape.length + 1 : attrs.dim, 0, 1),
  ),
  Cast: cast,
  Select: ({inputs, meter}) => meter.allocate(inputs.t!.shape, inputs.t!.dtype),
  Fill: ({attrs, meter}) =>
    meter.allocate(attrs.shape, attrs.dtype ?? 'float32', () => attrs.value),
  Range: ({attrs, meter}) =>
    meter.allocate([Math.ceil((attrs.stop - attrs.start) / attrs.step)], attrs.dtype),
  Tile: call => {
    const x = only(call)
    return call.meter.allocate(
      x.shape.map((axis, i) => axis * call.attrs.reps[i]),
      x.dtype,
    )
  },
  Transpose: call => {
    const x = only(call)
    const shape = call.attrs.perm.map((axis: number) => x.shape[axis])
    return call.meter.allocate(shape, x.dtype)
  },
  PadV2: call => {
    const x = only(call)
    const padded = x.shape.map((n, i) => n + call.attrs.paddings[i][0] + call.attrs.paddings[i][1])
    return call.meter.allocate(padded, x.dtype)
  },
  Concat: concat,
  Pack: pack,
  Unpack: unpack,
  Slice: slice,
  GatherV2: gather,
  BatchMatMul: product,
  Softmax: softmax,
}

function bytesOf({shape, dtype}: TensorInfo): number {
  return tf.util.sizeFromShape(shape) * tf.util.bytesPerElement(dtype)
}
