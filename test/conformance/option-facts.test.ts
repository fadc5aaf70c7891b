import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {attention, loadEstimators, METHOD_NAMES} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {sliceRows} from '../helpers/arrays.js'
import {decodeAll, decoderOfCase} from '../helpers/decode.js'
import {type EstimatorCase, hostCase, optionsOf} from '../helpers/estimator-case.js'
import {optionCases} from '../helpers/option-cases.js'
import {NO_DECODER} from '../helpers/option-places.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

/** One case for each set of options. */
function distinct(cases: readonly EstimatorCase[]): (readonly [string, EstimatorCase])[] {
  const named = cases.map(
    given => [`${given.method} ${JSON.stringify(given.options)}`, given] as const,
  )
  return [...new Map(named)]
}

const CASES = METHOD_NAMES.flatMap(optionCases).filter(({refused}) => refused === undefined)

describe('costs and sizes with options off their defaults', () => {
  const cases = CASES.filter(({given}) => estimatorNamed(given.method).featureDim.length > 2)

  it.each(distinct(cases.map(({given}) => given)))(
    '%s: work grows exactly where features do',
    (_name, given) => {
      const {cost, featureDim, options} = estimatorNamed(given.method)
      const {sizes, causal = false} = given
      const at = (chosen: Record<string, unknown>) => ({
        dim: featureDim(sizes.numFeatures, sizes.headDim, chosen),
        ...cost({...sizes, causal}, chosen),
      })
      const [off, plain] = [at(optionsOf(given)), at(options.parse({}))]
      expect(Math.sign(off.flops - plain.flops)).toBe(Math.sign(off.dim - plain.dim))
    },
  )

  const decoding = CASES.map(({given}) => given).filter(
    ({method, causal, masked, options = {}}) =>
      causal &&
      !masked &&
      estimatorNamed(method).supports.decode &&
      !NO_DECODER[method]?.({...estimatorNamed(method).options.parse({}), ...options}),
  )
  it.each(distinct(decoding))('%s: the state is as large as stated', (_name, given) => {
    const tokens = 3
    const {sizes, method} = given
    const {query, key, value} = hostCase(given).inputs
    const first = {
      query: sliceRows(query, 0, tokens),
      key: sliceRows(key, 0, tokens),
      value: sliceRows(value, 0, tokens),
    }
    const step = decoderOfCase(given)
    decodeAll(step, first)
    const bytes = ([, tensor]: [string, {size: number}]) => 4 * tensor.size
    const sum = (total: number, more: number) => total + more
    const state = Object.entries(step.state)
    const all = state.map(bytes).reduce(sum, 0)
    // scales and running maxima, one number beside many, may be left out of what is stated
    const least = state.filter(([name]) => name !== 'top' && name !== 'logScale').map(bytes)
    step.dispose()
    const perHead = estimatorNamed(method).stateBytes!({...sizes, length: tokens}, optionsOf(given))
    const stated = sizes.batch * sizes.heads * perHead
    expect(stated).toBeGreaterThanOrEqual(least.reduce(sum, 0))
    expect(stated).toBeLessThanOrEqual(all)
  })
})

describe('options that a method calls unused', () => {
  const values: Record<string, unknown> = {
    ...{featureEpsilon: 0.3, normalizerEpsilon: 0.3, epsilonPlace: 'outside', featureScale: 'none'},
    ...{denGuard: 'clamp:0.5', causalDenGuard: 'add:0.5', sums: 'own-length', scaledTwice: true},
  }
  const cases = METHOD_NAMES.flatMap(method => {
    const {unused, options} = estimatorNamed(method)
    return Object.keys(unused?.(options.parse({})) ?? {}).map(name => ({method, name}))
  })

  it('are known', () => {
    expect(new Set(cases.map(({method}) => method))).toEqual(
      new Set(['favor-pos', 'favor-hyp', 'oprf']),
    )
  })

  it.each(cases)('$method.$name changes no bit of an output', ({method, name}) => {
    const [query, key, value] = [1, 2, 3].map(seed =>
      tf.randomNormal([1, 2, 7, 5], 0, 1, 'float32', seed),
    )
    const out = (causal: boolean, more: object) =>
      attention(query!, key!, value!, {method, numFeatures: 11, causal, ...more}).dataSync()
    expect(values).toHaveProperty(name)
    for (const causal of [false, true]) {
      expect(out(causal, {[name]: values[name]})).toEqual(out(causal, {}))
    }
  })
})
