import type {TensorInfo} from '@tensorflow/tfjs-core'
import {featureMapGradientSizes, type RecipeAttributes} from '../../../attention/fused-kernels.js'
import {nativeFeatures} from '../features.js'
import {defineKernel, required} from '../kernel.js'
import {type NativeBackend, sizeOf} from '../storage.js'

/** Gradients of `FeatureMap` by tokens and projection; see `featureMapGradient` in the kernel package. */
export default defineKernel<RecipeAttributes>(
  'FeatureMapGradient',
  ({inputs, attrs, backend, addon}) => {
    const [batch, heads, length, headDim] = featureMapGradientSizes(inputs, attrs).shape
    const projection = required(inputs, 'projection')
    const input = nativeFeatures(backend, attrs, required(inputs, 'x'), projection)
    const slopes = backend.floats(required(inputs, 'slopes'))
    const toX = backend.uninitialised(batch * heads * length * headDim)
    const toProjection = headGradients(backend, projection.shape, [batch, heads])
    addon.featureMapGradient({batch, heads, length, headDim, input, slopes, toX, toProjection})
    return [
      backend.own(toX, [batch, heads, length, headDim]),
      projectionGradient(backend, toProjection, projection.shape, [batch, heads]),
    ]
  },
)

/** Memory for the gradient of a projection by each head of each batch element. @param shape - of the projection */
export function headGradients(
  backend: NativeBackend,
  shape: readonly number[],
  [batch, heads]: [number, number],
): Float32Array {
  return backend.uninitialised(batch * heads * sizeOf(shape.slice(-2)))
}

/** {@link headGradients} summed over those that share the projection, in their order. */
export function projectionGradient(
  backend: NativeBackend,
  parts: Float32Array,
  shape: readonly number[],
  [batch, heads]: [number, number],
): TensorInfo {
  const {addon} = backend
  const count = shape.length === 2 ? batch * heads : batch
  if (count === 1) return backend.own(parts, [...shape])
  const out = backend.uninitialised(sizeOf(shape))
  addon.reduce(addon.codes.reduction.Sum!, parts, out, 1, count, sizeOf(shape))
  backend.disposeData(backend.own(parts, [parts.length]).dataId)
  return backend.own(out, [...shape])
}
