/** Attention against sums over all pairs in double precision, made of the features themselves. */

import {attendInputs, hostData, leavesOut} from '../../attention/internal.js'
import type {tf} from '../../tf.js'
import {namedTensors, SMALL, toTensors} from '../calls/arrays.js'
import {type Call, hostCall, toProjection} from '../calls/call.js'
import {callName, callOf, maskedForms, placeOf} from '../calls/forms.js'
import {boundedOutput, roundings} from '../calls/output-bound.js'
import {gamma} from '../calls/rounding.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'

/** `out_i = sum_j phi(x_i).phi(y_j) v_j / sum_j phi(x_i).phi(y_j)` over the keys in view. */
function explicitSums(subject: Subject): Finding {
  const {estimator} = subject
  if (!estimator.features) return notApplicable('attend is custom: there is no feature map to sum')
  const defaults = estimator.options.parse({})
  const {denGuard = 'none', normalizerEpsilon = 0} = defaults as Guards
  if (denGuard !== 'none' || normalizerEpsilon !== 0) {
    return notApplicable('a guard or an epsilon acts on denominators by default')
  }
  const tally = new Tally(
    'phi: attention forms it token by token or tile by tile, so it may depend on its token alone',
  )
  // without masked tokens others have other places, or other statistics
  const whole = leavesOut(estimator, defaults)
  for (const form of maskedForms(subject)) {
    if (form.masked && whole) continue
    const given = callOf(subject, SMALL, form)
    const {out, bound} = boundedOutput(given)
    const sums = pairSums(given)
    tally.compare({
      label: callName(given),
      actual: out,
      expected: sums.out,
      // what both make of features that are rounded alike, and the roundings of sums that may cancel
      bound: bound.map((each, at) => 2 * each + gamma(roundings(given)) * sums.size[at]!),
      says: at =>
        `${placeOf(at, given.sizes)} is ${out[at]}, sums over all pairs of features give ${sums.out[at]!.toPrecision(7)}`,
    })
  }
  return tally.finding()
}

interface Guards {
  denGuard?: string
  normalizerEpsilon?: number
}

interface HostFeatures {
  query: Float32Array
  key: Float32Array
  keyLogWeight: Float32Array | undefined
  logarithmic: boolean
  featureDim: number
}

/** phi of the tokens of a call, as the estimator forms it. */
function featuresOf(given: Call): HostFeatures {
  const {method, sizes, causal = false, options} = given
  const {inputs: host, projection, noise} = hostCall(given)
  const facts = {logarithmic: false, featureDim: 0}
  const {query, key, keyLogWeight} = hostData(() => {
    const {estimator, inputs} = attendInputs(...toTensors(host), {
      method,
      causal,
      numFeatures: sizes.numFeatures,
      noise: namedTensors<tf.Tensor4D>(noise),
      ...(projection && {projection: toProjection(projection, sizes.headDim)}),
      ...options,
    })
    // a query's own weight cancels in the ratio
    const {logarithmic, queryLogWeight: _, ...features} = estimator.features!(inputs)
    Object.assign(facts, {logarithmic, featureDim: features.query.shape[3]})
    return {keyLogWeight: undefined, ...features}
  })
  const floats = (data: tf.TypedArray) => Float32Array.from(data)
  return {
    ...facts,
    query: floats(query),
    key: floats(key),
    keyLogWeight: keyLogWeight && floats(keyLogWeight),
  }
}

/** Output in double precision, and the size of what it is summed from, relative to the denominator. */
function pairSums(given: Call): {out: Float64Array; size: Float64Array} {
  const {batch, heads, queryLen, keyLen, valueDim} = given.sizes
  const {inputs, keyMask} = hostCall(given)
  const features = featuresOf(given)
  const out = new Float64Array(batch * heads * queryLen * valueDim)
  const size = new Float64Array(out.length)
  for (let row = 0; row < batch * heads * queryLen; row++) {
    const head = Math.floor(row / queryLen)
    const seen = (j: number) =>
      (!given.causal || j <= row % queryLen) &&
      keyMask?.[Math.floor(head / heads) * keyLen + j] !== 0
    const keys = Array.from({length: keyLen}, (_, j) => j).filter(seen)
    const places = keys.map(j => head * keyLen + j)
    const pairs = rowWeights(features, row, places)
    const total = pairs.reduce((sum, {weight}) => sum + weight, 0)
    if (total === 0) continue
    const absolute = pairs.reduce((sum, one) => sum + one.size, 0) / Math.abs(total)
    for (let d = 0; d < valueDim; d++) {
      const at = row * valueDim + d
      const value = (index: number) =>
        inputs.value.data[(head * keyLen + keys[index]!) * valueDim + d]!
      pairs.forEach(({weight, size: part}, index) => {
        out[at]! += (weight / total) * value(index)
        size[at]! += Math.abs((part / total) * value(index))
      })
      size[at]! += absolute * Math.abs(out[at]!)
    }
  }
  return {out, size}
}

/** Weights of one row on keys, up to a factor, with the sums of the magnitudes of their terms. */
function rowWeights(features: HostFeatures, row: number, keys: readonly number[]) {
  const {featureDim: dim, logarithmic, keyLogWeight} = features
  const x = features.query.subarray(row * dim, (row + 1) * dim)
  const logOf = (key: number) => keyLogWeight?.[key] ?? 0
  const pair = (key: number, f: number) => x[f]! + features.key[key * dim + f]!
  const tops = keys.map(key => {
    let top = logarithmic ? -Infinity : 0
    if (logarithmic) for (let f = 0; f < dim; f++) top = Math.max(top, pair(key, f))
    return top + logOf(key)
  })
  const top = tops.reduce((most, each) => Math.max(most, each), -Infinity)
  return keys.map(key => {
    let weight = 0
    let size = 0
    for (let f = 0; f < dim; f++) {
      const term = logarithmic
        ? Math.exp(pair(key, f) + logOf(key) - top)
        : x[f]! * features.key[key * dim + f]! * Math.exp(logOf(key) - top)
      weight += term
      // a logarithm is rounded by its own size, which makes that of the term
      size += Math.abs(term) * (logarithmic ? 1 + Math.abs(pair(key, f)) : 1)
    }
    return {weight, size}
  })
}

export const EXPLICIT: readonly Check[] = [
  {name: 'sums over all pairs', group: 'laws', run: explicitSums},
]
