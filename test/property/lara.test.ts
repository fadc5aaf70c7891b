import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {type HostArrays, type Sizes, SMALL} from '../helpers/arrays.js'
import {runnableBackends} from '../helpers/backends.js'
import {type EstimatorCase, hostCase, outputBound, runCase} from '../helpers/estimator-case.js'
import {addBounds, assertWithin} from '../helpers/rounding.js'

const backends = await runnableBackends()
await loadEstimators()

/** Two methods that are the same one here. */
function expectSame(label: string, a: EstimatorCase, b: EstimatorCase): void {
  const first = runCase(a).out
  const second = runCase(b).out
  assertWithin(label, second, first, addBounds(outputBound(a), outputBound(b)))
}

describe.each(backends)('linear randomized attention on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each([{mis: 'bh'}, {mis: 'opt'}, {mis: 'opt', tAxis: 'proposal'}])(
    'with proposals N(0, I) is positive random features with the same vectors: %o',
    options => {
      for (const masked of [false, true]) {
        const sizes: Sizes = {...SMALL, batch: 1}
        const given: EstimatorCase = {
          ...{method: 'lara', sizes, masked},
          options: {...options, proposals: 'zero'},
        }
        const {heads, headDim, numFeatures} = sizes
        const {data} = hostCase(given).noise.noise!
        expect(data).toHaveLength(heads * numFeatures * headDim)
        const projection = {data, numFeatures, perHead: true}
        expectSame('lara', given, {method: 'favor-pos', sizes, masked, projection})
      }
    },
  )

  it('with one proposal per query is randomized attention around the mean of keys', () => {
    // one query, one segment: its centre is x plus the mean of keys, and no other proposal has weight
    const sizes: Sizes = {...SMALL, queryLen: 1, numFeatures: 1}
    for (const mis of ['opt', 'bh', 'biased']) {
      for (const masked of [false, true]) {
        const given: EstimatorCase = {method: 'lara', sizes, masked, options: {mis}}
        const noise: HostArrays = hostCase(given).noise
        const options = {proposal: 'mean-key'}
        expectSame(mis, given, {method: 'ra', sizes, masked, options, noise})
      }
    }
  })

  it('does not see how its vectors were called: two per proposal in either order', () => {
    const sizes: Sizes = {...SMALL, batch: 1, heads: 1}
    const given: EstimatorCase = {
      ...{method: 'lara', sizes},
      options: {sampling: 'multisample'},
    }
    const {noise} = hostCase(given).noise
    const half = noise!.data.length / 2
    const swapped = Float32Array.from(
      noise!.data,
      (_, at) => noise!.data[(at + half) % (2 * half)]!,
    )
    expectSame('swapped', given, {...given, noise: {noise: {...noise!, data: swapped}}})
  })
})

describe('a grid of tokens', () => {
  beforeAll(() => useBackend('cpu'))

  it('is refused when the tokens do not fill it, with what to try', () => {
    const run = (options: Record<string, unknown>) => () =>
      runCase({method: 'lara', sizes: SMALL, options: {proposals: 'grid', ...options}})
    expect(run({})).toThrow(
      /lara.gridHeight and lara.gridWidth: expected sizes of a grid of 13 tokens, got null and null/,
    )
    expect(run({gridHeight: 2})).toThrow(/got 2 and null/)
    expect(run({gridHeight: 3, gridWidth: 5})).toThrow(/got 3 and 5/)
    expect(run({gridWidth: 1})).not.toThrow()
  })
})
