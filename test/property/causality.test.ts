import fc from 'fast-check'
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, type MethodName, type PresetName} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {type BackendName, useBackend} from '../../src/backends/index.js'
import {type HostInputs, hostInputs, type Sizes, SMALL} from '../helpers/arrays.js'
import {casesOn, runnableBackends, tokensOn} from '../helpers/backends.js'
import {type EstimatorCase, runCase} from '../helpers/estimator-case.js'
import {caseOf, methodsWhere} from './laws.js'

const backends = await runnableBackends()
await loadEstimators()

/** Three chunks of the causal forms, two in plain JavaScript. */
function sizesOn(backend: BackendName): Sizes {
  const length = tokensOn(backend, 131, 67)
  return {...SMALL, batch: 1, heads: 2, queryLen: length, keyLen: length}
}

/** Everything from token `first` on replaced by other draws, `factor` times as large. */
function withOtherSuffix(inputs: HostInputs, first: number, factor: number): HostInputs {
  const {shape} = inputs.key
  const other = hostInputs(
    {...SMALL, batch: shape[0], heads: shape[1], queryLen: shape[2], keyLen: shape[2]},
    factor,
    'suffix',
  )
  const mix = (own: HostInputs['key'], from: HostInputs['key']) => ({
    shape: own.shape,
    data: own.data.map((x, at) =>
      Math.floor(at / own.shape[3]) % own.shape[2] < first ? x : from.data[at]!,
    ),
  })
  return {
    query: mix(inputs.query, other.query),
    key: mix(inputs.key, other.key),
    value: mix(inputs.value, other.value),
  }
}

/** Rows before `first` of an output. */
function prefix(out: Float32Array, {queryLen, valueDim}: Sizes, first: number): Float32Array {
  return out.filter((_, at) => Math.floor(at / valueDim) % queryLen < first)
}

/** Compares rows before `first` as they are with those after a change of everything from there on. */
function changing(method: MethodName, sizes: Sizes, rest?: Partial<EstimatorCase>) {
  const inputs = hostInputs(sizes)
  const given = caseOf(method, sizes, {causal: true, inputs, ...rest})
  const before = runCase(given).out
  return (first: number, factor: number) => {
    const after = runCase({...given, inputs: withOtherSuffix(inputs, first, factor)}).out
    return [prefix(before, sizes, first), prefix(after, sizes, first)] as const
  }
}

/** Statistics from other tokens, for methods that take some. */
function calibrated(method: MethodName, sizes: Sizes): Partial<EstimatorCase> {
  if (!estimatorNamed(method).calibrates) return {}
  const {query, key} = hostInputs({...sizes, queryLen: 29, keyLen: 31}, 1, 'calibration')
  return {calibration: {query, key}}
}

describe.each(backends)('changing later tokens on %s', backend => {
  const sizes = sizesOn(backend)
  beforeAll(() => useBackend(backend))

  const causal = methodsWhere(({supports}) => supports.causal)
  const leaks = (method: MethodName) => estimatorNamed(method).causalSelectionLeaks === true

  it.each(
    casesOn(
      backend,
      causal.filter(method => !leaks(method)),
    ),
  )('leaves earlier rows of %s bit-identical, however large the change', method => {
    const prefixes = changing(method, sizes, calibrated(method, sizes))
    fc.assert(
      fc.property(
        fc.integer({min: 1, max: sizes.keyLen - 1}),
        fc.constantFrom(0.1, 1, 10),
        (first, factor) => {
          const [before, after] = prefixes(first, factor)
          expect(after).toEqual(before)
        },
      ),
      {
        numRuns: 4,
        seed: 7,
        examples: [
          [64, 10],
          [65, 10],
          [1, 1],
        ],
      },
    )
  })

  it.each(methodsWhere(({calibrates}) => calibrates === true))(
    'after the prefix that sets the statistics of %s leaves earlier rows bit-identical',
    method => {
      for (const [prefix, first] of [
        [64, 64],
        [64, 65],
        [1, 1],
        [37, sizes.keyLen - 1],
      ] as const) {
        const [before, after] = changing(method, sizes, {options: {prefix}})(first, 10)
        expect(after).toEqual(before)
      }
    },
  )

  it.each(methodsWhere(({calibrates}) => calibrates === true))(
    'changes earlier rows of %s where statistics come from the whole sequence',
    method => {
      const [before, after] = changing(method, sizes, {options: {prefix: 0}})(65, 10)
      expect(after).not.toEqual(before)
    },
  )

  it.each(causal.filter(leaks))(
    'leaves earlier rows of %s bit-identical when values alone change',
    method => {
      const inputs = hostInputs(sizes)
      const given = caseOf(method, sizes, {causal: true, inputs})
      const {value} = withOtherSuffix(inputs, 65, 10)
      const [before, after] = [inputs, {...inputs, value}].map(each =>
        prefix(runCase({...given, inputs: each}).out, sizes, 65),
      )
      expect(after).toEqual(before)
    },
  )

  it.each(['performer-pytorch', 'google-jax'] satisfies PresetName[])(
    'changes earlier rows under preset %s, as its quirk says',
    preset => {
      const [before, after] = changing('favor-pos', sizes, {preset})(65, 3)
      expect(after).not.toEqual(before)
    },
  )
})
