import {describe, expected} from '../../../errors.js'
import {NUMBERS, replaceKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'
import {copyPart, fitsCopy, stridesOf, whole} from '../strided-copy.js'

/** Axes in another order. */
export default replaceKernel<{perm: number[]}>(
  'Transpose',
  ({inputs, attrs, backend, addon}) => {
    const x = required(inputs, 'x')
    const perm = permutation(attrs.perm, x.shape.length)
    if (!fitsCopy(addon, x.shape)) return undefined
    const shape = perm.map(axis => x.shape[axis]!)
    const data = backend.uninitialisedOf(x.dtype, sizeOf(shape))
    const own = stridesOf(x.shape)
    const from = {data: backend.numbers(x), offset: 0, strides: perm.map(axis => own[axis]!)}
    copyPart(addon, shape, from, whole(data, shape))
    return backend.makeTensorInfo(shape, x.dtype, data)
  },
  NUMBERS,
)

/** TensorFlow.js itself lets an axis stand twice. @throws {BAD_RANGE} */
function permutation(perm: ArrayLike<number>, rank: number): number[] {
  const axes = Array.from(perm ?? [])
  const within = (axis: number) => Number.isInteger(axis) && axis >= 0 && axis < rank
  if (axes.length === rank && new Set(axes).size === rank && axes.every(within)) return axes
  const wanted = `every axis of ${rank} once`
  throw expected('BAD_RANGE', 'transpose', wanted, perm ? describe(axes) : describe(perm))
}
