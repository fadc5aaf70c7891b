import type {TensorInfo} from '@tensorflow/tfjs-core'
import {describe, expected} from '../../../errors.js'
import {tf} from '../../../tf.js'
import {type KernelCall, type NativeKernel, replaceKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

type Axes = number | number[]

interface SumAttributes {
  axis: Axes
  keepDims?: boolean
}

interface MaxAttributes {
  reductionIndices: Axes
  keepDims?: boolean
}

/** Reductions over trailing axes, by TensorFlow.js's names; other axes are left to the CPU kernel. */
const reductions: NativeKernel[] = [
  replaceKernel<SumAttributes>('Sum', call => reduceTrailing(call, 'Sum', call.attrs.axis)),
  replaceKernel<MaxAttributes>('Max', call =>
    reduceTrailing(call, 'Max', call.attrs.reductionIndices),
  ),
]
export default reductions

function reduceTrailing(
  {inputs, attrs, backend, addon}: KernelCall<{keepDims?: boolean}>,
  name: 'Sum' | 'Max',
  axis: Axes,
): TensorInfo | undefined {
  const x = required(inputs, 'x')
  const axes = tf.util.parseAxisParam(axis, x.shape)
  checkOnce(name, axes)
  const rank = x.shape.length
  // axes are distinct: all at or after `first`, they are the last ones, in any order
  const first = rank - axes.length
  const trailing = axes.every(place => Number.isInteger(place) && place >= first)
  if (axes.length === 0 || !trailing) return undefined
  const kept = x.shape.slice(0, first)
  const rows = sizeOf(kept)
  const out = backend.uninitialised(rows)
  // trailing axes lie side by side in memory: one row each
  const columns = sizeOf(x.shape.slice(first))
  addon.reduceRows(addon.codes.reduction[name]!, backend.floats(x), out, rows, columns)
  return backend.own(out, attrs.keepDims ? tf.backend_util.expandShapeToKeepDim(kept, axes) : kept)
}

/** TensorFlow.js itself lets an axis stand twice. @throws {BAD_RANGE} */
function checkOnce(name: string, axes: readonly number[]): void {
  if (new Set(axes).size === axes.length) return
  throw expected('BAD_RANGE', name.toLowerCase(), 'every axis once', describe([...axes]))
}
