import type {TensorInfo} from '@tensorflow/tfjs-core'
import {
  type DenseAttributes,
  denseGradientSizes,
  denseSizes,
} from '../../../attention/fused-kernels.js'
import {tf} from '../../../tf.js'
import {
  defineKernel,
  type KernelCall,
  type NativeKernel,
  replaceKernel,
  required,
} from '../kernel.js'
import {type NativeBackend, sizeOf} from '../storage.js'

interface MatMulAttributes {
  transposeA: boolean
  transposeB: boolean
}

interface FusedAttributes extends MatMulAttributes {
  activation: string
}

/** Batched matrix products; with bias and activation under the fused name. */
const matMuls: NativeKernel[] = [
  replaceKernel<MatMulAttributes>('BatchMatMul', call => multiply(call, undefined, 'linear')),
  replaceKernel<FusedAttributes>('_FusedMatMul', call => {
    const {bias, preluActivationWeights} = call.inputs
    const {activation} = call.attrs
    if (preluActivationWeights || !Object.hasOwn(call.addon.codes.activation, activation))
      return undefined
    return multiply(call, bias, activation)
  }),
  defineKernel<DenseAttributes>('Dense', ({inputs, attrs, backend, addon}) => {
    const {rows, inner, columns} = denseSizes(inputs, attrs)
    const {bias} = inputs
    const out = backend.uninitialised(rows * columns)
    addon.matMul({
      ...{batch: 1, rows, columns, inner, transposeA: false, transposeB: attrs.transposed},
      a: backend.floats(required(inputs, 'x')),
      b: backend.floats(required(inputs, 'weight')),
      ...{aBatchStride: 0, aRowStride: inner},
      ...{bBatchStride: 0, bRowStride: attrs.transposed ? inner : columns},
      bias: bias && backend.floats(bias),
      activation: addon.codes.activation[attrs.activation]!,
      out,
    })
    return backend.own(out, [rows, columns])
  }),
  defineKernel<DenseAttributes>('DenseGradient', ({inputs, attrs, backend, addon}) => {
    const {rows, inner, columns} = denseGradientSizes(inputs, attrs)
    const {transposed, activation} = attrs
    const of = (name: string) => backend.floats(required(inputs, name))
    const [x, weight, slopes] = [of('x'), of('weight'), of('slopes')]
    const steep = activation === 'relu' ? above(backend, of('out'), slopes) : slopes
    const toX = backend.uninitialised(rows * inner)
    const toWeight = backend.uninitialised(inner * columns)
    const toBias = backend.uninitialised(columns)
    const plain = {
      ...{batch: 1, aBatchStride: 0, bBatchStride: 0},
      ...{bias: undefined, activation: addon.codes.activation.linear!},
    }
    const stored = transposed ? inner : columns
    addon.matMul({
      ...{...plain, rows, columns: inner, inner: columns, out: toX},
      ...{a: steep, aRowStride: columns, transposeA: false},
      ...{b: weight, bRowStride: stored, transposeB: !transposed},
    })
    const sides = transposed
      ? {a: steep, aRowStride: columns, b: x, bRowStride: inner}
      : {a: x, aRowStride: inner, b: steep, bRowStride: columns}
    addon.matMul({
      ...{...plain, ...sides, transposeA: true, transposeB: false},
      ...{rows: transposed ? columns : inner, columns: stored, inner: rows, out: toWeight},
    })
    addon.reduce(addon.codes.reduction.Sum!, steep, toBias, 1, rows, columns)
    if (steep !== slopes) backend.disposeData(backend.own(steep, [rows, columns]).dataId)
    return [
      backend.own(toX, [rows, inner]),
      backend.own(toWeight, transposed ? [columns, inner] : [inner, columns]),
      backend.own(toBias, [columns]),
    ]
  }),
]
export default matMuls

/** Slopes where an output is above 0, elsewhere 0. */
function above(backend: NativeBackend, out: Float32Array, slopes: Float32Array): Float32Array {
  const {addon} = backend
  const steep = backend.uninitialised(out.length)
  addon.unary(addon.codes.unary.Step!, out, steep)
  addon.binary(
    addon.codes.binary.Multiply!,
    slopes,
    steep,
    steep,
    Float64Array.of(out.length, 1, 1),
  )
  return steep
}

/** @returns `undefined` for vectors, and for a bias or a batch that broadcasts in another way than as a whole or by its leading axes */
function multiply(
  {inputs, attrs, backend, addon}: KernelCall<MatMulAttributes>,
  bias: TensorInfo | undefined,
  activation: string,
): TensorInfo | undefined {
  const a = required(inputs, 'a')
  const b = required(inputs, 'b')
  if (a.shape.length < 2 || b.shape.length < 2) return undefined
  const transposeA = Boolean(attrs.transposeA)
  const transposeB = Boolean(attrs.transposeB)
  const matrixA = matrixOf(a)
  const matrixB = matrixOf(b)
  const rows = transposeA ? matrixA.columns : matrixA.rows
  const inner = transposeA ? matrixA.rows : matrixA.columns
  const innerB = transposeB ? matrixB.columns : matrixB.rows
  const columns = transposeB ? matrixB.rows : matrixB.columns
  const batchShape = tf.backend_util.assertAndGetBroadcastShape(
    a.shape.slice(0, -2),
    b.shape.slice(0, -2),
  )
  const batch = sizeOf(batchShape)
  const blocks = blocksOf([a, b], batchShape)
  // one number per column, in whatever leading axes of 1
  const biasFits =
    !bias ||
    (sizeOf(bias.shape) === columns &&
      bias.shape.at(-1) === columns &&
      bias.shape.length <= batchShape.length + 2)
  if (blocks === undefined || !biasFits || inner !== innerB) return undefined
  const out = backend.uninitialised(batch * rows * columns)
  // a single matrix repeats: stride 0; a side without all matrices begins anew in each block
  const [strideA, strideB] = [strideOf(matrixA), strideOf(matrixB)]
  const nextA = matrixA.count === batch ? (batch / blocks) * strideA : 0
  const nextB = matrixB.count === batch ? (batch / blocks) * strideB : 0
  const [dataA, dataB] = [backend.floats(a), backend.floats(b)]
  const own = bias && backend.floats(bias)
  const size = out.length / blocks
  for (let block = 0; block < blocks; block++) {
    addon.matMul({
      ...{batch: batch / blocks, rows, columns, inner, transposeA, transposeB},
      a: dataA.subarray(block * nextA),
      b: dataB.subarray(block * nextB),
      ...{aBatchStride: strideA, aRowStride: matrixA.columns},
      ...{bBatchStride: strideB, bRowStride: matrixB.columns},
      bias: own,
      activation: addon.codes.activation[activation]!,
      out: out.subarray(block * size, (block + 1) * size),
    })
  }
  return backend.own(out, [...batchShape, rows, columns])
}

/** Number and stored size of the matrices of a tensor. */
function matrixOf({shape}: TensorInfo) {
  return {count: sizeOf(shape.slice(0, -2)), rows: shape.at(-2)!, columns: shape.at(-1)!}
}

function strideOf({count, rows, columns}: ReturnType<typeof matrixOf>): number {
  return count === 1 ? 0 : rows * columns
}

/**
 * In how many calls the matrices of both sides are multiplied: the addon steps by one stride per side, so that within a call they
 * repeat all together or not at all.
 *
 * @returns `undefined` where a side repeats along another axis
 */
function blocksOf(sides: readonly TensorInfo[], batchShape: readonly number[]): number | undefined {
  const batch = sizeOf(batchShape)
  let blocks = 1
  for (const {shape} of sides) {
    const axes = shape.slice(0, -2)
    const first = axes.findIndex(size => size !== 1)
    const own = first < 0 ? [] : axes.slice(first)
    const count = sizeOf(own)
    if (count === 1 || count === batch) continue
    if (String(own) !== String(batchShape.slice(batchShape.length - own.length))) return undefined
    blocks = batch / count
  }
  return blocks
}
