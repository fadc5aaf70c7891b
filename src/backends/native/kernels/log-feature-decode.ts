import type {LogFeatureDecoder} from '../addon.js'
import {
  type StepSizes,
  stateFloats,
  stepOutput,
  steps,
  tokenArrays,
  tokenFeatures,
} from '../decode.js'
import type {RecipeAttributes} from '../features.js'
import {defineKernel, type KernelCall, required, view3, view4} from '../kernel.js'

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

const stepOf = steps(
  ({inputs, attrs, backend, addon}: KernelCall<LogFeatureDecodeAttributes>): LogFeatureDecoder => {
    const {batch, heads, headDim, valueDim, featureDim} = attrs
    const array = (name: string, ...axes: number[]) => {
      const shape = [batch, heads, featureDim, ...axes]
      return [stateFloats(backend, name, required(inputs, name), shape), shape] as const
    }
    return new addon.LogFeatureDecoder({
      ...{batch, heads, headDim, valueDim},
      query: tokenFeatures(backend, attrs.query, inputs.queryProjection),
      key: tokenFeatures(backend, attrs.key, inputs.keyProjection),
      state: view4(...array('state', valueDim)),
      normalizer: view3(...array('normalizer')),
      normalizerStride: 1,
      top: view3(...array('top')),
    })
  },
)
