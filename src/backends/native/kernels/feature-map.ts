import {featureMapSizes, type RecipeAttributes} from '../../../attention/fused-kernels.js'
import {nativeFeatures} from '../features.js'
import {defineKernel, required, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Projection and nonlinearity in one pass; see `featureMap` in the kernel package. */
export default defineKernel<RecipeAttributes>('FeatureMap', ({inputs, attrs, backend, addon}) => {
  const sizes = featureMapSizes(inputs, attrs)
  const [batch, heads, length, headDim] = sizes.shape
  const input = nativeFeatures(backend, attrs, required(inputs, 'x'), inputs.projection)
  const shape = [batch, heads, length, sizes.featureDim]
  const out = backend.uninitialised(sizeOf(shape))
  addon.featureMap({batch, heads, length, headDim, input, out: view4(out, shape)})
  return backend.own(out, shape)
})
