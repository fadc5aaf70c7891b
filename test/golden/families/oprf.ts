import {momentsOf} from '../../../src/attention/forms/exponential/moments.js'
import {meanSum2, scalarExponent} from '../../../src/attention/forms/exponential/parameters.js'
import {swappedExponent} from '../../../src/theory/exponential.js'
import {toTensors} from '../../helpers/arrays.js'
import {assertWithin, maxAbs} from '../../helpers/rounding.js'
import {exponentOf} from '../../helpers/twins/exponential.js'
import type {CaseArrays, GoldenCase} from '../cases.js'
import {checkAttention, type Request, referenceError, twinInputs} from '../check.js'
import type {Family} from './family.js'

/**
 * Optimal positive features, by a formula of A that exchanges the dimension and the mean of |x+y|^2. A comes from
 * the whole sequence, in the causal form too.
 */
export const oprf: Family = {
  name: 'optimal positive features',
  methods: ['FAVOR++ / OPRF'],
  request: () => REQUEST,
  check(golden, arrays) {
    checkAttention(golden, arrays, REQUEST)
    if (arrays.has('A')) checkExponents(golden, arrays)
  },
}

const REQUEST: Request = {method: 'oprf', options: {prefix: 0, rule: 'swapped'}}

/** `A`, one number per head. */
function checkExponents(golden: GoldenCase, arrays: CaseArrays): void {
  const expected = arrays.numbers('A')
  const inputs = twinInputs(golden, arrays, REQUEST)
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
