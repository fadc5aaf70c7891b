import {replaceKernel, required} from '../kernel.js'

/** Axes in another order. */
export default replaceKernel<{perm: number[]}>('Transpose', ({inputs, attrs, backend, addon}) => {
  const x = required(inputs, 'x')
  const {perm} = attrs
  if (x.shape.length > addon.maxRank) return undefined
  const values = backend.floats(x)
  const out = backend.uninitialised(values.length)
  addon.transpose(values, out, Float64Array.from([...x.shape, ...perm]))
  return backend.own(
    out,
    perm.map(axis => x.shape[axis]!),
  )
})
