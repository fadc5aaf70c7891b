import {checkNumber, type Guard} from '../../../attention/fused-kernels.js'
import {expected} from '../../../errors.js'
import type {LinearDecoder} from '../addon.js'
import {
  type FeatureStepAttributes,
  scalarFloats,
  stateArray,
  stepOutput,
  steps,
  tokenArrays,
  tokenFeatures,
} from '../decode.js'
import {guardCode} from '../guard.js'
import {defineKernel, type KernelCall, view3, view4} from '../kernel.js'

/** The same object with every step of one decoder. */
interface LinearDecodeAttributes extends FeatureStepAttributes {
  guard: Guard
  normalizerEpsilon: number
}

/** One token through running sums of explicit features, updated in place; see `featureDecoder`. */
export default defineKernel<LinearDecodeAttributes>('LinearDecode', call => {
  const {inputs, attrs, backend} = call
  // first: it checks the sizes by which tokens are measured
  const decoder = stepOf(call)
  const {query, key, value} = tokenArrays(call)
  const gate = scalarFloats(backend, 'gate', inputs.gate, attrs)
  const weight = scalarFloats(backend, 'key log-weight', inputs.keyLogWeight, attrs)
  // the addon keeps the running maximum there, and has nowhere else
  if (weight && !inputs.logScale) {
    throw expected('BAD_OPTION', 'decoder', 'logScale with key log-weights', 'none')
  }
  return stepOutput(backend, attrs, out => decoder.step(query, key, value, out, gate, weight))
})

// every array to which the addon's object keeps a pointer
const kept = ({
  state,
  normalizer,
  logScale,
  queryProjection,
  keyProjection,
}: KernelCall['inputs']) => [state, normalizer, logScale, queryProjection, keyProjection]

const stepOf = steps(kept, (call: KernelCall<LinearDecodeAttributes>): LinearDecoder => {
  const {inputs, attrs, addon} = call
  const {batch, heads, headDim, valueDim, featureDim, normalizerEpsilon} = attrs
  checkNumber('decoder.normalizerEpsilon', normalizerEpsilon)
  return new addon.LinearDecoder({
    ...{batch, heads, headDim, valueDim},
    ...tokenFeatures(call, 'features'),
    normalizerEpsilon,
    ...guardCode(addon, attrs.guard),
    state: view4(...stateArray(call, 'state', featureDim, valueDim)),
    normalizer: view3(...stateArray(call, 'normalizer', featureDim)),
    logScale: inputs.logScale && view3(...stateArray(call, 'logScale', 1)),
  })
})
