import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, METHOD_NAMES} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {casesOn, runnableBackends} from '../helpers/backends.js'
import {decodeCase} from '../helpers/decode.js'
import {sample} from '../helpers/effort.js'
import {type EstimatorCase, optionsOf, runCase, twinOfCase} from '../helpers/estimator-case.js'
import {
  commonCases,
  commonSets,
  effect,
  type OptionCase,
  optionCases,
  optionSets,
} from '../helpers/option-cases.js'
import {NO_DECODER, namedOptions} from '../helpers/option-places.js'
import {assertWithin} from '../helpers/rounding.js'

const backends = await runnableBackends()
await loadEstimators()

/** How many bounds a value must move some output by to count as one that matters. */
const CLEARLY = 20

const CASES = METHOD_NAMES.flatMap(optionCases)
const SETS = METHOD_NAMES.flatMap(method => [...optionSets(method), ...commonSets(method)])
const COMMON = METHOD_NAMES.flatMap(commonCases)
const ACTIVE = CASES.filter(({refused}) => refused === undefined)
const RUN = [...ACTIVE, ...SETS]
const named = <Case extends {name: string}>(cases: readonly Case[]) =>
  cases.map(given => [given.name, given] as const)

describe('every option of every estimator', () => {
  it.each(METHOD_NAMES)('%s: is tried off its default', method => {
    const tried = CASES.filter(({given}) => given.method === method).map(({option}) => option)
    expect(new Set(tried)).toEqual(new Set(Object.keys(estimatorNamed(method).options.shape)))
  })

  it('is one that exists, where the tables name it', () => {
    for (const {method, options} of namedOptions()) {
      expect(Object.keys(estimatorNamed(method).options.shape)).toEqual(
        expect.arrayContaining(options),
      )
    }
  })

  it.each(named(sample([...ACTIVE, ...COMMON], 3, 0)))(
    '%s: moves the twin, or nothing at all',
    (_name, one) => {
      const found = effect(twinOfCase(one.given), twinOfCase(one.plain))
      if (one.silent) expect(found, one.silent).toBeLessThanOrEqual(1)
      else expect(found, `${one.option} has no effect here`).toBeGreaterThan(CLEARLY)
    },
  )
})

/** Half of the elements must be decided by more than rounding. */
function check(name: string, given: EstimatorCase, actual: Float32Array): void {
  const {value, error} = twinOfCase(given).out
  const {decidable} = assertWithin(name, actual, value, error)
  expect(2 * decidable).toBeGreaterThanOrEqual(value.length)
}

describe.each(backends)('options off their defaults on %s', backend => {
  beforeAll(() => useBackend(backend))

  it.each(named(casesOn(backend, RUN, 3)))(
    '%s: within rounding of the definition',
    (name, {given}) => {
      check(name, given, runCase(given).out)
    },
  )

  const decoding = ({form, given}: Pick<OptionCase, 'form' | 'given'>) =>
    form === 'causal' && estimatorNamed(given.method).supports.decode && !given.masked
  it.each(named(casesOn(backend, RUN.filter(decoding), 3)))(
    '%s: token by token, within rounding of the definition',
    (name, {given}) => {
      if (NO_DECODER[given.method]?.(optionsOf(given))) {
        expect(() => decodeCase(given)).toThrow(/expected/)
        return
      }
      check(name, given, decodeCase(given))
    },
  )

  it.each(named(CASES.filter(({refused}) => refused !== undefined)))(
    '%s: is refused',
    (_name, {given}) => {
      expect(() => runCase(given)).toThrow(/expected/)
    },
  )
})
