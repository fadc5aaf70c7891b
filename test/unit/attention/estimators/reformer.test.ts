import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import type {Sizes} from '../../../helpers/arrays.js'
import {type EstimatorCase, runCase, twinOfCase} from '../../../helpers/estimator-case.js'
import {assertWithin} from '../../../helpers/rounding.js'

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

/** Chunks of one token, chunks that the length is no multiple of, the last one beside the first. */
const VARIANTS: readonly Record<string, unknown>[] = [
  {rounds: 2, chunkSize: 1},
  {rounds: 1, lookBack: 'wrap', chunkSize: 16},
  {rounds: 2, lookBack: 'wrap', duplicates: 'every-round', chunkSize: 8},
  {rounds: 2, combine: 'uniform', self: 'too', duplicates: 'every-round', buckets: 4},
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
})
