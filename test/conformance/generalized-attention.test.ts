import {beforeAll, describe, expect, it} from 'vitest'
import {decoder, loadEstimators} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {SMALL} from '../helpers/arrays.js'
import {runnableBackends} from '../helpers/backends.js'
import {decodeAll} from '../helpers/decode.js'
import {type EstimatorCase, hostCase, runCase, twinOfCase} from '../helpers/estimator-case.js'
import {assertWithin} from '../helpers/rounding.js'

const backends = await runnableBackends()
await loadEstimators()

const METHODS = ['favor-relu', 'favor-sigmoid', 'favor-exp'] as const
const SQUARE = {...SMALL, queryLen: SMALL.keyLen}

describe.each(backends)('an epsilon on running sums alone on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(METHODS)('%s: leaves features to be formed as without it', method => {
    const options = {normalizerEpsilon: 0.3}
    const given: EstimatorCase = {method, options, sizes: SMALL, causal: true}
    const {value, error} = twinOfCase(given).out
    assertWithin(method, runCase(given).out, value, error)
  })
})

describe.each(backends)('features without a projection on %s', backend => {
  beforeAll(() => useBackend(backend))

  const cases = METHODS.flatMap(method =>
    [false, true].flatMap(causal =>
      [false, true].flatMap(masked =>
        (['canonical', 'raw'] as const).map(
          inputScaling => [method, {causal, masked, inputScaling}] as const,
        ),
      ),
    ),
  )
  it.each(cases)('%s, %o, are those of the definition', (method, {inputScaling, ...form}) => {
    const options = {features: 'deterministic', inputScaling}
    const given: EstimatorCase = {method, options, sizes: SMALL, ...form}
    const {value, error} = twinOfCase(given).out
    assertWithin(method, runCase(given).out, value, error)
  })

  // SMALL has more random vectors than dimensions, SAME as many
  const SAME = {...SMALL, numFeatures: SMALL.headDim}
  it.each([
    ['more', SMALL],
    ['as many', SAME],
  ] as const)(
    'an epsilon on causal sums of %s random features than dimensions is that of the definition',
    (_title, sizes) => {
      for (const method of ['favor-relu', 'favor-sigmoid'] as const) {
        const options = {normalizerEpsilon: 0.1}
        const given: EstimatorCase = {method, options, sizes, causal: true}
        const {value, error} = twinOfCase(given).out
        assertWithin(method, runCase(given).out, value, error)
      }
    },
  )

  it.each(METHODS)('%s decode as they attend', method => {
    const options = {features: 'deterministic'} as const
    const given: EstimatorCase = {method, options, sizes: SQUARE, causal: true}
    const {value, error} = twinOfCase(given).out
    const {batch, heads, headDim, valueDim} = SQUARE
    const step = decoder({method, batch, heads, headDim, valueDim, ...options})
    assertWithin(method, decodeAll(step, hostCase(given).inputs).out, value, error)
    step.dispose()
  })

  it.each([
    ['bidirectional', false],
    ['causal', true],
  ] as const)('exponentials stay finite at exponents in the thousands, %s', (_form, causal) => {
    for (const features of ['random', 'deterministic']) {
      const options = {features, inputScaling: 'raw'}
      const given: EstimatorCase = {
        method: 'favor-exp',
        options,
        sizes: SMALL,
        causal,
        inputScale: 1e3,
      }
      expect(runCase(given).out.every(Number.isFinite)).toBe(true)
    }
  })
})
