/**
 * Twins: every estimator once more, in plain double-precision loops over pairs, with a bound on what
 * float32 may do to each output element. The judge of the golden and conformance suites.
 */

import type {MethodName} from '../../../src/attention/names.js'
import {angularHybrid} from './angular-hybrid.js'
import {efficient} from './efficient.js'
import {cosines, eluPlusOne, rolledProducts, squared} from './elementwise.js'
import {eva} from './eva.js'
import {EXPONENTIAL_TWINS} from './exponential.js'
import {releasedOprf} from './exponential-released.js'
import {
  constant,
  exponential,
  hyperbolic,
  positive,
  rectified,
  secondOrder,
  sigmoid,
  trigonometric,
} from './feature-builders.js'
import {importanceSampled} from './lara.js'
import {linformer} from './linformer.js'
import {maclaurin} from './maclaurin.js'
import {nystrom} from './nystrom.js'
import {randomized} from './ra.js'
import {reformer} from './reformer.js'
import {logExponential, logMirrored, logPositive, logSphere, softmax} from './softmax.js'
import {emptyOutput, type Twin, type TwinInputs} from './types.js'
import {arcCosine, gated, rfa} from './unit-features.js'
import {explicitTwin} from './weighted.js'

export {type HostProjection, PLAIN, type Twin, type TwinInputs, type TwinResult} from './types.js'

function logOr(exact: Twin, explicit: Twin): Twin {
  const twin: Twin = inputs =>
    inputs.options.stabilizer === 'log' ? exact(inputs) : explicit(inputs)
  return Object.assign(twin, {build: explicit.build})
}

/** Exponential features are formed themselves only where an epsilon or a guard acts on them. */
function inLogDomain({options, causal}: TwinInputs): boolean {
  const guard = (causal ? options.causalDenGuard : null) ?? options.denGuard
  const epsilon = Number(options.featureEpsilon) + (causal ? Number(options.normalizerEpsilon) : 0)
  return guard === 'none' && epsilon === 0
}

/** Values passed through. */
const identity: Twin = inputs => {
  const out = emptyOutput(inputs)
  out.value.set(inputs.value.data)
  return {out}
}

/** The twin of a method by name. */
export const TWINS: Readonly<Record<MethodName, Twin>> = {
  softmax,
  'softmax-online': softmax,
  rfa: explicitTwin(rfa),
  'rfa-gate': explicitTwin(gated),
  'rfa-arccos': explicitTwin(arcCosine),
  'favor-pos': logOr(logPositive([1]), explicitTwin(positive)),
  smreg: logSphere,
  'favor-hyp': logOr(logPositive([1, -1]), explicitTwin(hyperbolic)),
  ...EXPONENTIAL_TWINS,
  oprf: logOr(EXPONENTIAL_TWINS.oprf, explicitTwin(releasedOprf)),
  'favor-trig': explicitTwin(trigonometric),
  'favor-relu': explicitTwin(rectified),
  'favor-exp': inputs => (inLogDomain(inputs) ? logExponential : explicitTwin(exponential))(inputs),
  'favor-sigmoid': explicitTwin(sigmoid),
  elu: explicitTwin(eluPlusOne),
  'squared-relu': explicitTwin(squared),
  dpfp: explicitTwin(rolledProducts),
  eva,
  linformer,
  reformer,
  nystrom,
  efficient,
  maclaurin: explicitTwin(maclaurin),
  hrf: explicitTwin(angularHybrid),
  cosformer: explicitTwin(cosines),
  taylor: explicitTwin(secondOrder),
  hedgehog: logMirrored,
  ra: randomized,
  lara: importanceSampled,
  'mean-value': explicitTwin(constant),
  identity,
}
