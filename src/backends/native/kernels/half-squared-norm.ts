import {halfSquaredNormAxes} from '../../../attention/fused-kernels.js'
import {defineKernel, required} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** |s x|^2/2 of every token in one pass; see `halfSquaredNorm` in the kernel package. */
export default defineKernel<{inputScale: number}>(
  'HalfSquaredNorm',
  ({inputs, attrs, backend, addon}) => {
    const {inputScale} = attrs
    const [batch, heads, length, headDim] = halfSquaredNormAxes(inputs, inputScale)
    const shape = [batch, heads, length]
    const rows = sizeOf(shape)
    const out = backend.uninitialised(rows)
    const x = backend.floats(required(inputs, 'x'))
    addon.reduce(addon.codes.reduction.SquareSum!, x, out, rows, headDim, 1)
    const factor = 0.5 * inputScale ** 2
    for (let row = 0; row < rows; row++) out[row]! *= factor
    return backend.own(out, shape)
  },
)
