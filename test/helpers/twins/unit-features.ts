/** Features of unit vectors, with the learned deviation and with forget gates, in double precision. */
import {type Bounded, bounded, ELEMENTARY, TINY, U} from '../rounding.js'
import {rectifiedRows, sineCosine} from './feature-builders.js'
import {type Projected, project, unitRoundings, unitVectors} from './projected.js'
import type {Head, TwinInputs} from './types.js'
import {type FeatureBuilder, features} from './weighted.js'

/** sin and cos of unit vectors divided by tau. */
export const rfa: FeatureBuilder = (head, inputs) => {
  const {tau, featureScale} = inputs.options
  const scale = featureScale === null ? head.numFeatures ** -0.5 : Number(featureScale)
  const rows = (x: Float64Array) => sineCosine(unitProjection(x, head, inputs, Number(tau)), scale)
  return {query: rows(head.query), key: rows(head.key)}
}

/** relu of projected unit vectors, scaled, plus epsilon. */
export const arcCosine: FeatureBuilder = (head, inputs) => {
  const {featureScale, featureEpsilon} = inputs.options
  const scale = featureScale === null ? head.numFeatures ** -0.5 : Number(featureScale)
  const rows = (x: Float64Array) => {
    const {product, error} = unitProjection(x, head, inputs, 1)
    return rectifiedRows(product, error, head.numFeatures, scale, Number(featureEpsilon))
  }
  return {query: rows(head.query), key: rows(head.key)}
}

/** Unit vectors over tau, projected by W or, one more rounding, by sigma o W. */
function unitProjection(
  x: Float64Array,
  head: Head,
  {query, options, parameters}: TwinInputs,
  tau: number,
): Projected {
  const {headDim, index} = head
  const unit = unitVectors(x, headDim, tau, Number(options.normEpsilon))
  const sigma = parameters.sigma?.data
  if (!sigma) return project(unit, head, unitRoundings(headDim))
  const first = (index % query.shape[1]) * headDim
  const projection = head.projection.map((w, at) => w * sigma[first + (at % headDim)]!)
  return project(unit, {...head, projection}, unitRoundings(headDim) + 1)
}

/**
 * rfa with forget gates. Without a guard the factors 1 - g are key weights, known up to a common factor; with
 * one they multiply the features of keys.
 */
export const gated: FeatureBuilder = (head, inputs) => {
  const pair = rfa(head, inputs)
  const {keep, take} = logGates(head, inputs)
  if (inputs.options.denGuard === 'none') return {...pair, keyLogWeight: take, logGate: keep}
  const {value, error, count} = pair.key
  const key = features(head.keyLen, count)
  value.forEach((x, at) => {
    const j = Math.floor(at / count)
    const factor = Math.exp(take.value[j]!)
    const relative = Math.expm1(take.error[j]!) + (ELEMENTARY + 1) * U
    key.value[at] = factor * x
    key.error[at] = factor * (error[at]! * (1 + relative) + relative * Math.abs(x)) + TINY
  })
  return {...pair, key, logGate: keep}
}

/**
 * log g and log(1 - g) of every token; masked ones make nothing forgotten. The recurrent form takes 1 - g
 * from a rounded g, an error of u g / (1 - g), and so do constants: the larger of all forms is charged.
 */
function logGates(head: Head, inputs: TwinInputs): {keep: Bounded; take: Bounded} {
  const keep = bounded(head.keyLen)
  const take = bounded(head.keyLen)
  for (let j = 0; j < head.keyLen; j++) {
    const {logKeep, logTake, error} = gateOf(head, inputs, j)
    const evaluated = (ELEMENTARY + 4) * U
    const odds = inputs.gate ? 0 : Math.exp(logKeep - logTake) // a given gate is not rounded any more
    take.value[j] = logTake
    take.error[j] = error + evaluated * (1 + Math.abs(logTake) + odds)
    if (!head.sees(head.queryLen - 1, j)) continue
    keep.value[j] = logKeep
    keep.error[j] = error + evaluated * (1 + Math.abs(logKeep))
  }
  return {keep, take}
}

/** One token's gate: given, constant, or the sigmoid of a logit of D products and b, of slope at most 1. */
function gateOf(
  {index, key, headDim, keyLen}: Head,
  {gate, options, parameters, noise, query}: TwinInputs,
  j: number,
): {logKeep: number; logTake: number; error: number} {
  if (gate || options.gating === 'constant') {
    const g = gate ? gate.data[index * keyLen + j]! : Number(options.constantGate)
    return {logKeep: Math.log(g), logTake: Math.log1p(-g), error: 0}
  }
  const learned = parameters.gateWeight
  const weights = (learned ?? noise.gateWeight!).data
  const first = (index % query.shape[1]) * headDim
  const scale = learned ? 1 : headDim ** -0.5
  let logit = Number(options.gateBias)
  let magnitude = Math.abs(logit)
  for (let d = 0; d < headDim; d++) {
    const term = scale * weights[first + d]! * key[j * headDim + d]!
    logit += term
    magnitude += Math.abs(term)
  }
  const logSigmoid = (x: number) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)))
  return {
    logKeep: logSigmoid(logit),
    logTake: logSigmoid(-logit),
    error: (headDim + 4) * U * magnitude,
  }
}
