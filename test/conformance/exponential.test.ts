/** Options of exponential features that no other suite sets, held to their definition. */
import {beforeAll, describe, it} from 'vitest'
import {loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {hostInputs, type Sizes} from '../helpers/arrays.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {caseName, type EstimatorCase, runCase, twinOfCase} from '../helpers/estimator-case.js'
import {assertWithin} from '../helpers/rounding.js'

const backends = await runnableBackends()
await loadEstimators()

const SIZES: Sizes = {
  batch: 2,
  heads: 3,
  queryLen: 71,
  keyLen: 67,
  headDim: 5,
  valueDim: 7,
  numFeatures: 17,
}
const {query, key} = hostInputs({...SIZES, queryLen: 19, keyLen: 23}, 1.5, 'calibration')
const calibration = {query, key}
const METHODS = ['oprf', 'saderf', 'aderf', 'sderf'] as const

const CASES: EstimatorCase[] = [
  {method: 'oprf', sizes: SIZES, options: {a: -0.2}},
  {method: 'oprf', sizes: SIZES, options: {a: 0.1}, causal: true},
  {method: 'oprf', sizes: SIZES, options: {rule: 'swapped'}, masked: true},
  {method: 'saderf', sizes: SIZES, options: {ridge: 0.5}},
  {method: 'aderf', sizes: SIZES, options: {ridge: 0.5}, causal: true},
  ...METHODS.flatMap(method =>
    [false, true].flatMap(causal => [
      {method, sizes: SIZES, causal, calibration},
      {method, sizes: SIZES, causal, masked: true, options: {prefix: causal ? 0 : 7}},
    ]),
  ),
  ...METHODS.map(method => ({method, sizes: SIZES, causal: true, options: {prefix: 7}})),
]

describe.each(backends)(
  'exponential features on %s are within rounding of the definition',
  backend => {
    beforeAll(() => useBackend(backend))

    it.each(
      casesOn(backend, CASES).map(given => [
        `${caseName(given)} ${JSON.stringify(given.options ?? {})}`,
        given,
      ]),
    )('%s', (name, given) => {
      const {value, error} = twinOfCase(given as EstimatorCase).out
      const {out} = runCase(given as EstimatorCase)
      const {decidable, report} = assertWithin(name as string, out, value, error)
      if (2 * decidable < value.length) throw new Error(`float32 decides too little: ${report}`)
    })
  },
)
