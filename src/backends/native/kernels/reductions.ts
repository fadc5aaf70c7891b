import type {TensorInfo} from '@tensorflow/tfjs-core'
import {describe, expected} from '../../../errors.js'
import {tf} from '../../../tf.js'
import {type KernelCall, type NativeKernel, replaceKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

type Axes = number | number[]

interface AxisAttributes {
  axis: Axes
  keepDims?: boolean
}

interface MaxAttributes {
  reductionIndices: Axes
  keepDims?: boolean
}

/** Reductions by TensorFlow.js's names, over any axes. */
const reductions: NativeKernel[] = [
  ...(['Sum', 'Mean', 'Min', 'Prod'] as const).map(name =>
    replaceKernel<AxisAttributes>(name, call => reduce(call, name, call.attrs.axis)),
  ),
  replaceKernel<MaxAttributes>('Max', call => reduce(call, 'Max', call.attrs.reductionIndices)),
]
export default reductions

function reduce(
  {inputs, attrs, backend, addon}: KernelCall<{keepDims?: boolean}>,
  name: 'Sum' | 'Mean' | 'Min' | 'Prod' | 'Max',
  axis: Axes,
): TensorInfo | undefined {
  const x = required(inputs, 'x')
  const axes = tf.util.parseAxisParam(axis, x.shape)
  checkOnce(name, axes)
  const reduced = x.shape.map((_, place) => axes.includes(place))
  if (axes.length === 0 || reduced.filter(Boolean).length < axes.length) return undefined
  let values = backend.floats(x)
  for (const {outer, length, inner} of stagesOf(x.shape, reduced)) {
    const out = backend.uninitialised(outer * inner)
    addon.reduce(addon.codes.reduction[name]!, values, out, outer, length, inner)
    values = out
  }
  const kept = x.shape.filter((_, place) => !reduced[place])
  return backend.own(
    values,
    attrs.keepDims ? tf.backend_util.expandShapeToKeepDim(kept, axes) : kept,
  )
}

/** The middle one of three axes goes. */
interface Stage {
  outer: number
  length: number
  inner: number
}

/** Runs of axes that go together, the last run first: what is kept behind a run is its inner axis. */
function stagesOf(shape: readonly number[], reduced: readonly boolean[]): Stage[] {
  const stages: Stage[] = []
  let inner = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (!reduced[axis]) {
      inner *= shape[axis]!
      continue
    }
    let length = shape[axis]!
    while (axis > 0 && reduced[axis - 1]) length *= shape[--axis]!
    const outer = sizeOf(shape.slice(0, axis))
    // axes of one take nothing away, but something must make the output
    if (length !== 1 || (axis === 0 && stages.length === 0)) stages.push({outer, length, inner})
  }
  return stages.length > 0 ? stages : [{outer: inner, length: 1, inner: 1}]
}

/** TensorFlow.js itself lets an axis stand twice. @throws {BAD_RANGE} */
function checkOnce(name: string, axes: readonly number[]): void {
  if (new Set(axes).size === axes.length) return
  throw expected('BAD_RANGE', name.toLowerCase(), 'every axis once', describe([...axes]))
}
