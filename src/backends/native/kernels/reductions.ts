import {backend_util, type TensorInfo, util} from '@tensorflow/tfjs-core'
import {type KernelCall, type NativeKernel, replaceKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

interface ReductionAttributes {
  /** Of Sum. */
  axis?: number | number[]
  /** Of Max. */
  reductionIndices?: number | number[]
  keepDims?: boolean
}

/** Reductions over trailing axes, by TensorFlow.js's names; other axes are left to the CPU kernel. */
const reductions: NativeKernel[] = (['Sum', 'Max'] as const).map(name =>
  replaceKernel<ReductionAttributes>(name, call => reduceTrailing(call, name)),
)
export default reductions

function reduceTrailing(
  {inputs, attrs, backend, addon}: KernelCall<ReductionAttributes>,
  name: 'Sum' | 'Max',
): TensorInfo | undefined {
  const x = required(inputs, 'x')
  const axes = util.parseAxisParam((attrs.axis ?? attrs.reductionIndices)!, x.shape)
  const rank = x.shape.length
  const first = rank - axes.length
  if (axes.length === 0 || !axes.every(axis => axis >= first)) return undefined
  const kept = x.shape.slice(0, first)
  const rows = sizeOf(kept)
  const out = backend.uninitialised(rows)
  const columns = sizeOf(x.shape.slice(first))
  addon.reduceRows(addon.codes.reduction[name]!, backend.floats(x), out, rows, columns)
  return backend.own(out, attrs.keepDims ? backend_util.expandShapeToKeepDim(kept, axes) : kept)
}
