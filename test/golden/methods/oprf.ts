import {momentsOf} from '../../../src/attention/forms/exponential/moments.js'
import {meanSum2, scalarExponent} from '../../../src/attention/forms/exponential/parameters.js'
import {swappedExponent} from '../../../src/theory/exponential.js'
import {toTensors} from '../../helpers/arrays.js'
import {assertWithin, maxAbs} from '../../helpers/rounding.js'
import {exponentOf} from '../../helpers/twins/exponential.js'
import type {CaseArrays, GoldenCase} from '../cases.js'
import {type Call, referenceError, twinInputs} from '../check.js'
import type {MethodCheck} from './types.js'

/** Optimal positive features: the formula of A too. */
export const oprf: MethodCheck = (golden, arrays, call) => {
  if (arrays.has('A')) checkExponents(golden, arrays, call)
}

/** `A`, one number per head. */
function checkExponents(golden: GoldenCase, arrays: CaseArrays, call: Call): void {
  arrays.compared.add('A')
  const expected = arrays.numbers('A')
  const inputs = twinInputs(golden, arrays, call)
  const [query, key] = toTensors(inputs)
  const headDim = query.shape[3]
  const moments = momentsOf({query, key}, headDim ** -0.25, 'diagonal')
  const found = moments.map(head => scalarExponent(meanSum2(head), headDim, swappedExponent))
  query.dispose()
  key.dispose()
  const tolerance = referenceError(golden, expected) / maxAbs(expected)
  const bounds = exponentOf(inputs).map(({value, error}) => error + tolerance * Math.abs(value))
  assertWithin(`${golden.name}: A`, found, expected, bounds)
}
