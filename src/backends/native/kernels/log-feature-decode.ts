import type {LogFeatureDecoder} from '../addon.js'
import {
  type StepSizes,
  stateArray,
  stepOutput,
  steps,
  tokenArrays,
  tokenFeatures,
} from '../decode.js'
import type {RecipeAttributes} from '../features.js'
import {defineKernel, type KernelCall, view3, view4} from '../kernel.js'

/** The same object with every step of one decoder. */
interface LogFeatureDecodeAttributes extends StepSizes {
  featureDim: number
  query: RecipeAttributes
  key: RecipeAttributes
}

/** One token through sums of positive features with running maxima; see `logFeatureDecoder`. */
export default defineKernel<LogFeatureDecodeAttributes>('LogFeatureDecode', call => {
  const {attrs, backend} = call
  const decoder = stepOf(call)
  const {query, key, value} = tokenArrays(call)
  return stepOutput(backend, attrs, out => decoder.step(query, key, value, out))
})

const stepOf = steps((call: KernelCall<LogFeatureDecodeAttributes>): LogFeatureDecoder => {
  const {inputs, attrs, backend, addon} = call
  const {batch, heads, headDim, valueDim, featureDim} = attrs
  return new addon.LogFeatureDecoder({
    ...{batch, heads, headDim, valueDim},
    query: tokenFeatures(backend, attrs.query, inputs.queryProjection),
    key: tokenFeatures(backend, attrs.key, inputs.keyProjection),
    state: view4(...stateArray(call, 'state', featureDim, valueDim)),
    normalizer: view3(...stateArray(call, 'normalizer', featureDim)),
    normalizerStride: 1,
    top: view3(...stateArray(call, 'top', featureDim)),
  })
})
