import type {CaseArrays, GoldenCase} from '../cases.js'
import {
  assertCase,
  type Call,
  checkOutput,
  INACTIVE,
  runAttention,
  twinInputs,
  twinOf,
} from '../check.js'
import {rfa} from './rfa.js'
import type {MethodCheck} from './types.js'

/** sin/cos features of unit vectors with forget gates. */
export const rfaGate: MethodCheck = (golden, arrays, call) => {
  rfa(golden, arrays, call)
  checkSums(golden, arrays, call)
}

/** `denominator`, and `numerator` as the product of output and denominator. */
function checkSums(golden: GoldenCase, arrays: CaseArrays, call: Call): void {
  if (!arrays.has('denominator') || !arrays.has('numerator')) return
  const absolute = {...call, options: {...call.options, denGuard: INACTIVE}}
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
