/** One call of an estimator with everything fixed, and its twin's judgement. */
import {createHash} from 'node:crypto'
import type {MethodName} from '../../src/attention/index.js'
import {type Call, hostCall, optionsOf, unsupportedReason} from '../../src/check/calls/call.js'
import {shapeName} from './arrays.js'
import {SLOW} from './effort.js'
import {TWINS, type TwinResult} from './twins/index.js'
import {onPresentTokens} from './twins/present-tokens.js'

export {
  CASE_SEED,
  hostCall as hostCase,
  optionsOf,
  runCall as runCase,
  toProjection,
  unsupportedReason,
} from '../../src/check/calls/call.js'

/** A call of a method that has a twin. */
export interface EstimatorCase extends Call {
  method: MethodName
}

/** How a case is named in test titles. */
export function caseName({method, preset, sizes, causal, masked, scale}: EstimatorCase): string {
  const words = [
    method,
    preset ?? '',
    shapeName(sizes),
    causal ? 'causal' : '',
    masked ? 'masked' : '',
    scale === undefined ? '' : `scale ${scale}`,
  ]
  return words.filter(word => word !== '').join(' ')
}

/** Bidirectional and causal, with and without masked keys. */
export const FORMS = [
  {causal: false, masked: false},
  {causal: true, masked: false},
  {causal: false, masked: true},
  {causal: true, masked: true},
] as const

/**
 * Every method on every shape, one of its forms at a time: forms and shapes rotate against each other, so
 * that each form of a method meets several shapes and each pair meets several methods. Slow runs take
 * all pairs.
 */
export function shapeCases(
  methods: readonly MethodName[],
  shapes: readonly Pick<EstimatorCase, 'sizes' | 'sharedProjection' | 'scale'>[],
): EstimatorCase[] {
  return methods.flatMap((method, offset) =>
    shapes.flatMap((shape, index) => {
      const forms = FORMS.map(form => ({method, ...shape, ...form}))
      if (SLOW) return forms
      const declared = forms.filter(form => unsupportedReason(form) === undefined)
      return declared.length === 0 ? forms[0]! : declared[(index + offset) % declared.length]!
    }),
  )
}

/** The twin's bounds on each output element of a case. */
export function outputBound(given: EstimatorCase): Float64Array {
  return twinOfCase(given).out.error
}

const judged = new Map<string, TwinResult>()

/** The twin's result; computed once for all backends. */
export function twinOfCase(given: EstimatorCase): TwinResult {
  const key = keyOf(given)
  const found = judged.get(key) ?? judgement(given)
  judged.set(key, found)
  return found
}

/** Equal for equal cases: arrays count by their digests. */
function keyOf(given: EstimatorCase): string {
  return JSON.stringify(given, (_, value) => (ArrayBuffer.isView(value) ? digestOf(value) : value))
}

function digestOf({buffer, byteOffset, byteLength}: ArrayBufferView): string {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  return createHash('sha1').update(bytes).digest('base64')
}

function judgement(given: EstimatorCase): TwinResult {
  const {inputs, ...host} = hostCall(given)
  const twin = onPresentTokens(TWINS[given.method], given.method)
  return twin({
    ...inputs,
    ...host,
    numFeatures: given.sizes.numFeatures,
    parameters: given.parameters ?? {},
    calibration: given.calibration,
    gate: given.gate,
    causal: given.causal ?? false,
    logitScale: given.scale ?? given.sizes.headDim ** -0.5,
    options: optionsOf(given),
  })
}
