import {describe, expected} from '../../../errors.js'
import {replaceKernel, required} from '../kernel.js'

/** Axes in another order. */
export default replaceKernel<{perm: number[]}>('Transpose', ({inputs, attrs, backend, addon}) => {
  const x = required(inputs, 'x')
  const perm = permutation(attrs.perm, x.shape.length)
  // the addon's struct has room for `maxRank` axes
  if (x.shape.length > addon.maxRank) return undefined
  const values = backend.floats(x)
  const out = backend.uninitialised(values.length)
  addon.transpose(values, out, Float64Array.from([...x.shape, ...perm]))
  return backend.own(
    out,
    perm.map(axis => x.shape[axis]!),
  )
})

/** TensorFlow.js itself lets an axis stand twice. @throws {BAD_RANGE} */
function permutation(perm: ArrayLike<number>, rank: number): number[] {
  const axes = Array.from(perm ?? [])
  const within = (axis: number) => Number.isInteger(axis) && axis >= 0 && axis < rank
  if (axes.length === rank && new Set(axes).size === rank && axes.every(within)) return axes
  const wanted = `every axis of ${rank} once`
  throw expected('BAD_RANGE', 'transpose', wanted, perm ? describe(axes) : describe(perm))
}
