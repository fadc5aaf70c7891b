import {gated} from '../../helpers/twins/unit-features.js'
import type {FeatureBuilder} from '../../helpers/twins/weighted.js'
import {type CaseArrays, type GoldenCase, guardOfNote, numberField, textField} from '../cases.js'
import {
  assertCase,
  checkAttention,
  checkDecoder,
  checkOutput,
  type Request,
  runAttention,
  twinInputs,
  twinOf,
} from '../check.js'
import type {Family} from './family.js'
import {checkUnitFeatures, learnedDeviation} from './rfa.js'

/** sin/cos features of unit vectors with forget gates. */
export const rfaGate: Family = {
  name: 'gated random feature attention',
  methods: ['RFA gated sin/cos'],
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden, arrays)
    checkAttention(golden, arrays, request)
    checkUnitFeatures(golden, arrays, request)
    checkSums(golden, arrays, request)
    checkDecoder(golden, arrays, request, entering)
  },
}

function requestOf(golden: GoldenCase, arrays: CaseArrays): Request {
  const note = textField(golden, 'denom_note')
  const denGuard = note === '' ? 'none' : guardOfNote(note)
  const tau = numberField(golden, 'tau') ?? 1
  return {
    method: 'rfa-gate',
    // the constants of the peer's features: its code has no gates
    options: {tau, normEpsilon: 1e-3, featureScale: 0.1, denGuard},
    parameters: learnedDeviation(arrays),
    gate: arrays.array('g'),
  }
}

/** A guard too small to act. With it sums are not relative to the largest weight. */
const INACTIVE = 'nudge:1e-30'

/** Features as they enter the running sums: those of keys times 1 - g. */
const entering: FeatureBuilder = (head, inputs) =>
  gated(head, {...inputs, options: {...inputs.options, denGuard: INACTIVE}})

/** `denominator`, and `numerator` as the product of output and denominator. */
function checkSums(golden: GoldenCase, arrays: CaseArrays, request: Request): void {
  if (!arrays.has('denominator') || !arrays.has('numerator')) return
  const absolute = {...request, options: {...request.options, denGuard: INACTIVE}}
  const twin = twinOf(golden, twinInputs(golden, arrays, absolute), absolute)
  const denominator = twin.denominator!
  const result = runAttention(golden, arrays, absolute)
  checkOutput(golden, arrays, 'denominator', denominator)
  assertCase(golden, arrays, 'denominator', result.denominator!, denominator)
  const width = twin.out.value.length / denominator.value.length
  const product = (out: ArrayLike<number>, den: ArrayLike<number>) =>
    Float64Array.from({length: out.length}, (_, at) => out[at]! * den[Math.floor(at / width)]!)
  const numerator = product(twin.out.value, denominator.value)
  const error = Float64Array.from(twin.out.error, (e, at) => {
    const row = Math.floor(at / width)
    const off = denominator.error[row]!
    return e * (Math.abs(denominator.value[row]!) + off) + Math.abs(twin.out.value[at]!) * off
  })
  checkOutput(golden, arrays, 'numerator', {value: numerator, error})
  assertCase(golden, arrays, 'numerator', product(result.out, result.denominator!), {error})
}
