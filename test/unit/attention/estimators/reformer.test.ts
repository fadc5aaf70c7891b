import {beforeAll, describe, expect, it} from 'vitest'
import {exactAttention, loadEstimators} from '../../../../src/attention/index.js'
import {estimatorNamed} from '../../../../src/attention/resolve.js'
import {useBackend} from '../../../../src/backends/index.js'
import {type Sizes, sliceRows} from '../../../helpers/arrays.js'
import {
  type EstimatorCase,
  hostCase,
  optionsOf,
  outputBound,
  runCase,
  twinOfCase,
} from '../../../helpers/estimator-case.js'
import {addBounds, assertWithin} from '../../../helpers/rounding.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const SIZES: Sizes = {
  batch: 2,
  heads: 3,
  queryLen: 37,
  keyLen: 37,
  headDim: 5,
  valueDim: 7,
  numFeatures: 5,
}

const VARIANTS: readonly Record<string, unknown>[] = [
  {rounds: 1},
  {rounds: 3, duplicates: 'every-round'},
  {rounds: 3, combine: 'uniform'},
  {rounds: 2, self: 'too'},
  {rounds: 3, lookBack: 'wrap'},
  {rounds: 1, lookBack: 'wrap', chunkSize: 16},
  {rounds: 2, lookBack: 'wrap', duplicates: 'every-round', chunkSize: 8},
  {rounds: 2, combine: 'uniform', self: 'too', duplicates: 'every-round', buckets: 4},
  {rounds: 2, chunkSize: 1},
]

function variant(options: Record<string, unknown>, rest: Partial<EstimatorCase> = {}) {
  return {method: 'reformer', sizes: SIZES, options, ...rest} satisfies EstimatorCase
}

function check(given: EstimatorCase): void {
  const {value, error} = twinOfCase(given).out
  const {decidable} = assertWithin(JSON.stringify(given), runCase(given).out, value, error)
  expect(decidable).toBe(value.length)
}

describe('hashed attention', () => {
  it.each(VARIANTS)('with %o is what it is defined as', options => {
    for (const causal of [false, true]) {
      check(variant(options, {causal}))
      check(variant(options, {causal, masked: true}))
    }
  })

  it.each([
    ['last', false],
    ['last', true],
    ['too', false],
    ['too', true],
  ])(
    'with one chunk is exact attention with shared queries and keys, self %s, causal %s',
    (self, causal) => {
      const given = variant({self, chunkSize: 64}, {causal})
      const {query, key, value} = hostCase(given).inputs
      const target = estimatorNamed('reformer').target(optionsOf(given))!
      const logitScale = SIZES.headDim ** -0.5
      const expected = exactAttention(query, key, value, {target, logitScale, causal})
      const {out} = runCase(given)
      assertWithin('one chunk', out, expected, outputBound(given))
    },
  )

  it.each([false, true])('sees no trace of masked tokens at the end, causal %s', causal => {
    const trimmed = variant({rounds: 3}, {causal, sizes: {...SIZES, queryLen: 23, keyLen: 23}})
    const long = hostCase(variant({rounds: 3})).inputs
    const [query, key, value] = [long.query, long.key, long.value].map(array =>
      sliceRows(array, 0, 23),
    ) as [typeof long.query, typeof long.key, typeof long.value]
    const given = {...trimmed, inputs: {query, key, value}}
    const keyMask = Float32Array.from({length: 2 * 37}, (_, j) => (j % 37 < 23 ? 1 : 0))
    const padded = variant({rounds: 3}, {causal, inputs: long, keyMask})
    const expected = runCase(given).out
    const whole = {shape: [2, 3, 37, 7] as const, data: runCase(padded).out}
    const bound = outputBound(given)
    const out = sliceRows(whole, 0, 23).data
    assertWithin('padded', out, expected, addBounds(bound, bound))
    expect(sliceRows(whole, 23, 37).data.every(x => x === 0)).toBe(true)
  })

  it('stays finite at logits in the thousands and with zero queries', () => {
    const given = variant({rounds: 2}, {inputScale: 1e4})
    expect(runCase(given).out.every(Number.isFinite)).toBe(true)
    const {inputs} = hostCase(given)
    const query = {...inputs.query, data: inputs.query.data.map(() => 0)}
    const {out} = runCase({...given, inputs: {...inputs, query}})
    expect(out.every(Number.isFinite)).toBe(true)
  })
})
