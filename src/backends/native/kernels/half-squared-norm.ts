import {halfSquaredNormAxes} from '../../../attention/fused-kernels.js'
import {featuresOf} from '../features.js'
import {defineKernel, required, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

/**
 * |s x|^2/2 of every token in one pass; see `halfSquaredNorm` in the kernel package. It is what the
 * log-feature w.x - |x|^2/2 leaves of a single random vector w = 0, with its sign changed.
 */
export default defineKernel<{inputScale: number}>(
  'HalfSquaredNorm',
  ({inputs, attrs, backend, addon}) => {
    const {inputScale} = attrs
    const [batch, heads, length, headDim] = halfSquaredNormAxes(inputs, inputScale)
    const x = required(inputs, 'x')
    const shape = [batch, heads, length]
    const out = backend.uninitialised(sizeOf(shape))
    const recipe = {kind: 'log-positive', inputScale} as const
    const zero = view4(new Float32Array(headDim), [1, 1, 1, headDim])
    const tokens = view4(backend.floats(x), x.shape)
    const input = featuresOf(backend, recipe, {x: tokens, projection: zero, numFeatures: 1})
    addon.featureMap({batch, heads, length, headDim, input, out: view4(out, [...shape, 1])})
    addon.unary(addon.codes.unary.Neg!, out, out)
    return backend.own(out, shape)
  },
)
