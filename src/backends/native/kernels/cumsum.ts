import {replaceKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

interface CumsumAttributes {
  axis: number
  exclusive: boolean
  reverse: boolean
}

/** Running sums along an axis, in float32 and in the order of the axis, as the CPU backend adds. */
export default replaceKernel<CumsumAttributes>('Cumsum', ({inputs, attrs, backend, addon}) => {
  const x = required(inputs, 'x')
  const {axis, exclusive, reverse} = attrs
  if (!Number.isInteger(axis) || axis < 0 || axis >= x.shape.length) return undefined
  const values = backend.floats(x)
  const out = backend.uninitialised(values.length)
  const outer = sizeOf(x.shape.slice(0, axis))
  const inner = sizeOf(x.shape.slice(axis + 1))
  addon.cumulativeSums(
    values,
    out,
    outer,
    x.shape[axis]!,
    inner,
    Boolean(exclusive),
    Boolean(reverse),
  )
  return backend.own(out, x.shape)
})
