import type {LogFeatureDecoder} from '../addon.js'
import {
  type FeatureStepAttributes,
  stateArray,
  stepOutput,
  steps,
  tokenArrays,
  tokenFeatures,
} from '../decode.js'
import {defineKernel, type KernelCall, view3, view4} from '../kernel.js'

/** One token through sums of positive features with running maxima; see `logFeatureDecoder`. */
export default defineKernel<FeatureStepAttributes>('LogFeatureDecode', call => {
  const {attrs, backend} = call
  const decoder = stepOf(call)
  const {query, key, value} = tokenArrays(call)
  return stepOutput(backend, attrs, out => decoder.step(query, key, value, out))
})

// every array to which the addon's object keeps a pointer
const kept = ({state, normalizer, top, queryProjection, keyProjection}: KernelCall['inputs']) => [
  state,
  normalizer,
  top,
  queryProjection,
  keyProjection,
]

const stepOf = steps(kept, (call: KernelCall<FeatureStepAttributes>): LogFeatureDecoder => {
  const {attrs, addon} = call
  const {batch, heads, headDim, valueDim, featureDim} = attrs
  return new addon.LogFeatureDecoder({
    ...{batch, heads, headDim, valueDim},
    ...tokenFeatures(call, 'logarithms'),
    state: view4(...stateArray(call, 'state', featureDim, valueDim)),
    normalizer: view3(...stateArray(call, 'normalizer', featureDim)),
    top: view3(...stateArray(call, 'top', featureDim)),
  })
})
