import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, METHOD_NAMES} from '../../src/attention/index.js'
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
