import type {TensorInfo} from '@tensorflow/tfjs-core'
import {tf} from '../../../tf.js'
import {type NativeKernel, replaceKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Elementwise functions of two inputs, with broadcasting, by TensorFlow.js's names. */
const NAMES = ['Add', 'Sub', 'Multiply', 'RealDiv', 'Maximum', 'Minimum'] as const

const binary: NativeKernel[] = NAMES.map(name =>
  replaceKernel(name, ({inputs, backend, addon}) => {
    const a = required(inputs, 'a')
    const b = required(inputs, 'b')
    const shape = tf.backend_util.assertAndGetBroadcastShape(a.shape, b.shape)
    const layout = layoutOf(a, b, shape)
    // the addon's struct has room for `maxRank` axes
    if (layout.length > 3 * addon.maxRank) return undefined
    const out = backend.uninitialised(sizeOf(shape))
    const code = addon.codes.binary[name]!
    addon.binary(code, backend.floats(a), backend.floats(b), out, layout)
    return backend.own(out, shape)
  }),
)
export default binary

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
