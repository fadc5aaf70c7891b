import type {LinearDecoder} from '../addon.js'
import {
  type StepSizes,
  scalarFloats,
  stateArray,
  stepOutput,
  steps,
  tokenArrays,
  tokenFeatures,
} from '../decode.js'
import type {RecipeAttributes} from '../features.js'
import {guardCode} from '../guard.js'
import {defineKernel, type KernelCall, view3, view4} from '../kernel.js'

/** The same object with every step of one decoder. */
interface LinearDecodeAttributes extends StepSizes {
  featureDim: number
  query: RecipeAttributes
  key: RecipeAttributes
  guard: string
  normalizerEpsilon: number
}

/** One token through running sums of explicit features, updated in place; see `featureDecoder`. */
export default defineKernel<LinearDecodeAttributes>('LinearDecode', call => {
  const {inputs, attrs, backend} = call
  const decoder = stepOf(call)
  const {query, key, value} = tokenArrays(call)
  const gate = scalarFloats(backend, 'gate', inputs.gate, attrs)
  const weight = scalarFloats(backend, 'key log-weight', inputs.keyLogWeight, attrs)
  return stepOutput(backend, attrs, out => decoder.step(query, key, value, out, gate, weight))
})

const stepOf = steps((call: KernelCall<LinearDecodeAttributes>): LinearDecoder => {
  const {inputs, attrs, backend, addon} = call
  const {batch, heads, headDim, valueDim, featureDim, normalizerEpsilon} = attrs
  return new addon.LinearDecoder({
    ...{batch, heads, headDim, valueDim},
    query: tokenFeatures(backend, attrs.query, inputs.queryProjection),
    key: tokenFeatures(backend, attrs.key, inputs.keyProjection),
    normalizerEpsilon,
    ...guardCode(addon, attrs.guard),
    state: view4(...stateArray(call, 'state', featureDim, valueDim)),
    normalizer: view3(...stateArray(call, 'normalizer', featureDim)),
    normalizerStride: 1,
    logScale: inputs.logScale && view3(...stateArray(call, 'logScale', 1)),
  })
})
