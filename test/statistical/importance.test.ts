import {beforeAll, describe, expect, it} from 'vitest'
import {softmaxTarget} from '../../src/attention/forms/targets.js'
import {
  attention,
  exactAttention,
  loadEstimators,
  type MethodName,
} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {ar1} from '../../src/inputs/generators/ar1.js'
import {compute, toTensors} from '../helpers/arrays.js'
import {EFFORT, moments, Z} from '../helpers/statistics.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const HEAD_DIM = 64
const REPLICATES = 16 * EFFORT
const inputs = ar1.generate({
  ...{batch: 1, heads: 1, queryLen: 196, keyLen: 196, headDim: HEAD_DIM, valueDim: HEAD_DIM},
  seed: 5,
})
const exact = exactAttention(inputs.query, inputs.key, inputs.value, {
  target: softmaxTarget(),
  logitScale: HEAD_DIM ** -0.5,
  causal: false,
})

/** Mean squared error of each replicate. */
function errors(method: MethodName, options: Record<string, unknown>): Float64Array {
  return Float64Array.from({length: REPLICATES}, (_, replicate) => {
    const out = compute(() =>
      attention(...toTensors(inputs), {method, seed: 23, replicate, ...options}),
    )
    return out.reduce((sum, x, at) => sum + (x - exact[at]!) ** 2, 0) / out.length
  })
}

const positive = (numFeatures: number) => errors('favor-pos', {numFeatures, projection: 'iid'})
const linear = (numFeatures: number, options = {}) =>
  errors('lara', {numFeatures, mis: 'bh', ...options})
const randomized = (samples: number) => errors('ra', {samples})

/** The mean of the first is below that of the second by more than chance, of these draws, explains. */
function expectLower(lower: Float64Array, higher: Float64Array): void {
  const [a, b] = [moments(lower), moments(higher)]
  expect(b.mean - a.mean).toBeGreaterThan(Z * Math.hypot(a.standardError, b.standardError))
}

describe('on a sequence whose neighbours are alike', () => {
  it.each([4, 16])(
    'with %i samples RA has a lower error than LARA, and LARA than random features',
    count => {
      const between = linear(count)
      expectLower(randomized(count), between)
      expectLower(between, positive(count))
    },
  )

  it('LARA has a lower error the more proposals it has', () => {
    const [few, more, most] = [linear(4), linear(16), linear(49)]
    expectLower(more, few)
    expectLower(most, more)
  })

  it('LARA without noise has a lower error than with it', () => {
    for (const count of [4, 16, 49]) expectLower(linear(count, {sampling: 'mean'}), linear(count))
  })

  it('the correction per query changes little: its error is below that of random features too', () => {
    expectLower(linear(16, {mis: 'opt'}), positive(16))
  })
})
