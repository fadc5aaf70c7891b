import type {TensorInfo} from '@tensorflow/tfjs-core'
import {tf} from '../../../tf.js'
import {type KernelCall, type NativeKernel, replaceKernel, required} from '../kernel.js'
import {type NativeBackend, sizeOf} from '../storage.js'

/** Elementwise functions of two inputs, with broadcasting, by TensorFlow.js's names. */
const ARITHMETIC = [
  ...['Add', 'Sub', 'Multiply', 'RealDiv', 'Maximum', 'Minimum', 'Pow', 'SquaredDifference'],
] as const

/** Those that say which of the two is larger. */
const COMPARISONS = [
  ...['Equal', 'NotEqual', 'Less', 'LessEqual', 'Greater', 'GreaterEqual'],
] as const

const binary: NativeKernel[] = [
  ...ARITHMETIC.map(name =>
    replaceKernel(name, call =>
      combine(call, name, (backend, shape) => {
        const out = backend.uninitialised(sizeOf(shape))
        return {out, tensor: () => backend.own(out, shape)}
      }),
    ),
  ),
  ...COMPARISONS.map(name =>
    replaceKernel(name, call =>
      combine(call, name, (backend, shape) => {
        const out = backend.uninitialisedOf('bool', sizeOf(shape)) as Uint8Array
        return {out, tensor: () => backend.makeTensorInfo(shape, 'bool', out)}
      }),
    ),
  ),
]
export default binary

/** @param made - memory for the output, and the tensor over it */
function combine(
  {inputs, backend, addon}: KernelCall<unknown>,
  name: string,
  made: (
    backend: NativeBackend,
    shape: number[],
  ) => {out: Float32Array | Uint8Array; tensor: () => TensorInfo},
): TensorInfo | undefined {
  const a = required(inputs, 'a')
  const b = required(inputs, 'b')
  const shape = tf.backend_util.assertAndGetBroadcastShape(a.shape, b.shape)
  const layout = layoutOf(a, b, shape)
  // the addon's struct has room for `maxRank` axes
  if (layout.length > 3 * addon.maxRank) return undefined
  const {out, tensor} = made(backend, shape)
  addon.binary(addon.codes.binary[name]!, backend.floats(a), backend.floats(b), out, layout)
  return tensor()
}

interface Axis {
  length: number
  a: number
  b: number
}

/** Shape and strides with axes merged that both sides run through as one: `[shape, a, b]`. */
export function layoutOf(
  a: Pick<TensorInfo, 'shape'>,
  b: Pick<TensorInfo, 'shape'>,
  shape: readonly number[],
): Float64Array {
  const stridesA = broadcastStrides(a.shape, shape)
  const stridesB = broadcastStrides(b.shape, shape)
  const axes: Axis[] = [] // innermost first
  for (let i = shape.length - 1; i >= 0; i--) {
    const axis = {length: shape[i]!, a: stridesA[i]!, b: stridesB[i]!}
    const inner = axes.at(-1)
    // its stride is never used, and would keep its neighbours from joining
    if (axis.length === 1) continue
    if (inner && axis.a === inner.a * inner.length && axis.b === inner.b * inner.length) {
      inner.length *= axis.length
    } else {
      axes.push(axis)
    }
  }
  axes.reverse()
  return Float64Array.from([
    ...axes.map(axis => axis.length),
    ...axes.map(axis => axis.a),
    ...axes.map(axis => axis.b),
  ])
}

/** Strides of a dense tensor seen as `shape`; 0 along axes where it repeats. */
function broadcastStrides(own: readonly number[], shape: readonly number[]): number[] {
  const strides: number[] = new Array(shape.length).fill(0)
  let stride = 1
  for (let i = own.length - 1, to = shape.length - 1; i >= 0; i--, to--) {
    // aligned at the last axis, as broadcasting is; missing leading axes repeat
    if (own[i] !== 1) strides[to] = stride
    stride *= own[i]!
  }
  return strides
}
