import {
  type LinearAttributes,
  linearAttentionSizes,
  NO_GUARD,
} from '../../../attention/fused-kernels.js'
import type {LinearAttentionCall} from '../addon.js'
import {nativeFeatures} from '../features.js'
import {guardCode} from '../guard.js'
import {defineKernel, type KernelCall, required, view3, view4} from '../kernel.js'
import {sizeOf} from '../storage.js'

/** Attention with features in linear time, features formed tile by tile; see `linearAttention`. */
export default defineKernel<LinearAttributes>('LinearAttention', call => {
  const {inputs, attrs, backend, addon} = call
  const {batch, heads, queryLen, valueDim} = linearAttentionSizes(inputs, attrs)
  const outShape = [batch, heads, queryLen, valueDim]
  const denominatorShape = [batch, heads, queryLen]
  const out = backend.uninitialised(sizeOf(outShape))
  // written whether or not a caller looks: one number per row
  const denominator = backend.uninitialised(sizeOf(denominatorShape))
  addon.linearAttention({
    ...linearCall(call),
    out: view4(out, outShape),
    denominator: view3(denominator, denominatorShape),
  })
  return [backend.own(out, outShape), backend.own(denominator, denominatorShape)]
})

/** A checked call but for its outputs. */
export function linearCall(
  call: KernelCall<LinearAttributes>,
): Omit<LinearAttentionCall, 'out' | 'denominator'> {
  const {inputs, attrs, addon} = call
  const {featureDim, ...sizes} = linearAttentionSizes(inputs, attrs)
  const {guard} = attrs
  return {
    ...sizes,
    ...readSides(call),
    ...readExtras(call),
    causal: attrs.causal,
    // without a guard the numerator is asked for, undivided
    normalize: guard !== undefined,
    ...guardCode(addon, guard ?? NO_GUARD),
  }
}

/** Both sides, values and mask of a checked call, as `LinearAttention` and `CausalFeatureAttention` take them. */
export function readSides({
  inputs,
  attrs,
  backend,
}: Pick<KernelCall<Pick<LinearAttributes, 'query' | 'key'>>, 'inputs' | 'attrs' | 'backend'>) {
  const value = required(inputs, 'value')
  const {keyMask, queryProjection, keyProjection} = inputs
  return {
    query: nativeFeatures(backend, attrs.query, required(inputs, 'query'), queryProjection),
    key: nativeFeatures(backend, attrs.key, required(inputs, 'key'), keyProjection),
    value: view4(backend.floats(value), value.shape),
    // a copy, once per call; all else are views of the tensors' own memory
    keyMask: keyMask && backend.bytes(keyMask),
  }
}

function readExtras({
  inputs,
  backend,
}: Pick<KernelCall<LinearAttributes>, 'inputs' | 'backend'>): Pick<
  LinearAttentionCall,
  'keyLogWeight' | 'logGate' | 'initialState' | 'initialNormalizer'
> {
  const row = (name: string) => {
    const tensor = inputs[name]
    return tensor && view3(backend.floats(tensor), tensor.shape)
  }
  const {initialState} = inputs
  return {
    keyLogWeight: row('keyLogWeight'),
    logGate: row('logGate'),
    initialState: initialState && view4(backend.floats(initialState), initialState.shape),
    initialNormalizer: row('initialNormalizer'),
  }
}
