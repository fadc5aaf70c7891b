/** Where causal rows see later tokens on purpose, and until where they do not; that others see none, checks state. */
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, type MethodName, type PresetName} from '../../src/attention/index.js'
import {type BackendName, useBackend} from '../../src/backends/index.js'
import {replacedTokens} from '../../src/check/calls/parts.js'
import {hostInputs, type Sizes, SMALL} from '../helpers/arrays.js'
import {casesOn, runnableBackends, tokensOn} from '../helpers/backends.js'
import {type EstimatorCase, runCase} from '../helpers/estimator-case.js'
import {caseOf, methodsWhere} from '../helpers/methods.js'

const backends = await runnableBackends()
await loadEstimators()

/** Three chunks of the causal forms, two in plain JavaScript. */
function sizesOn(backend: BackendName): Sizes {
  const length = tokensOn(backend, 131, 67)
  return {...SMALL, batch: 1, heads: 2, queryLen: length, keyLen: length}
}

/** Rows before `first`, as they are and after everything from there on is replaced by draws `factor` times as large. */
function rowsBefore(
  first: number,
  factor: number,
  {method, sizes, ...rest}: EstimatorCase,
): [Float32Array, Float32Array] {
  const inputs = hostInputs(sizes)
  const other = hostInputs(sizes, factor, 'suffix')
  const changed = {
    query: replacedTokens(inputs.query, other.query, first),
    key: replacedTokens(inputs.key, other.key, first),
    value: replacedTokens(inputs.value, other.value, first),
  }
  const rows = (given: typeof inputs) =>
    runCase(caseOf(method, sizes, {...rest, causal: true, inputs: given})).out.filter(
      (_, at) => Math.floor(at / sizes.valueDim) % sizes.queryLen < first,
    )
  return [rows(inputs), rows(changed)]
}

describe.each(backends)('changing later tokens on %s', backend => {
  const sizes = sizesOn(backend)
  beforeAll(() => useBackend(backend))

  const calibrating = methodsWhere(({calibrates}) => calibrates === true)

  it.each(casesOn(backend, calibrating))(
    'after the prefix that sets the statistics of %s leaves earlier rows bit-identical',
    (method: MethodName) => {
      for (const [prefix, first] of [
        [64, 64],
        [64, 65],
        [1, 1],
        [37, sizes.keyLen - 1],
      ] as const) {
        const [before, after] = rowsBefore(first, 10, {method, sizes, options: {prefix}})
        expect(after).toEqual(before)
      }
    },
  )

  it.each(casesOn(backend, calibrating))(
    'changes earlier rows of %s where statistics come from the whole sequence',
    (method: MethodName) => {
      const [before, after] = rowsBefore(65, 10, {method, sizes, options: {prefix: 0}})
      expect(after).not.toEqual(before)
    },
  )

  it.each(['performer-pytorch', 'google-jax'] satisfies PresetName[])(
    'changes earlier rows under preset %s, as its quirk says',
    preset => {
      const [before, after] = rowsBefore(65, 3, {method: 'favor-pos', sizes, preset})
      expect(after).not.toEqual(before)
    },
  )
})
