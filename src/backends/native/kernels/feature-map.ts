import {featureDimOf, nativeFeatures, type RecipeAttributes} from '../features.js'
import {defineKernel, required, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Projection and nonlinearity in one pass; see `featureMap` in the kernel package. */
export default defineKernel<RecipeAttributes>('FeatureMap', ({inputs, attrs, backend, addon}) => {
  const x = required(inputs, 'x')
  const projection = required(inputs, 'projection')
  const [batch, heads, length, headDim] = x.shape as [number, number, number, number]
  const input = nativeFeatures(backend, attrs, x, projection, {heads, headDim})
  const shape = [batch, heads, length, featureDimOf(attrs, headDim, input.numFeatures)]
  const out = backend.uninitialised(sizeOf(shape))
  addon.featureMap({batch, heads, length, headDim, input, out: view4(out, shape)})
  return backend.own(out, shape)
})
