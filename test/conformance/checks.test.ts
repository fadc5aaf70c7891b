/** The laws of every estimator of the registry: they are stated once, as the checks of `rfa check`. */
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, METHOD_NAMES, type MethodName} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/names.js'
import {useBackend} from '../../src/backends/index.js'
import {CHECK_GROUPS, CHECKS, checkEstimator} from '../../src/check/index.js'
import {exactBackends, runnableBackends, THOROUGH} from '../helpers/backends.js'
import {FULL, sample} from '../helpers/effort.js'

const backends = await runnableBackends()
const exact = await exactBackends()
await loadEstimators()

/** Laws that are broken by no kernel of a backend: operations are counted, and gradients formed, on composites. */
const OF_COMPOSITES = ['facts', 'gradients']
/** What others decide in a quick run: twins and the statistical suite. */
const ELSEWHERE = ['unbiasedness', 'backends']
/** To the bit, on backends that give an entry the same bits wherever it stands, and by whichever operations it is masked. */
const BITS = ['batch elements alone', 'heads alone', 'mask of ones']
/** Bounds of calls that cancel are measured, and too narrow for decoders of other backends: twins have theirs. */
const WITHIN_TWINS = ['decoder equals causal', 'options in the decoder']

const LAWS = CHECKS.filter(({group}) => ![...OF_COMPOSITES, ...ELSEWHERE].includes(group))

/** Every pair, methods first. */
function pairs(checks: readonly (typeof CHECKS)[number][]): [MethodName, string][] {
  return METHOD_NAMES.flatMap(method =>
    checks.map(({name}): [MethodName, string] => [method, name]),
  )
}

/** Runs a check on the backend in force; it may neither fail nor stay open. */
async function expectLaw(method: MethodName, check: string): Promise<void> {
  const {run} = CHECKS.find(({name}) => name === check)!
  const estimator = estimatorNamed(method)
  const found = await run({method, estimator, seed: 0, draws: undefined, seconds: 0})
  expect(['passed', 'not applicable'], found.finding).toContain(found.status)
}

describe.each(backends)('on %s', backend => {
  beforeAll(() => useBackend(backend))

  // checks take turns: each meets every ninth method on one backend, and every method some check; a step that has a divisor
  // in common with their number would leave some of them out
  const without = [
    ...(exact.includes(backend) ? [] : BITS),
    ...(backend === 'cpu' ? [] : WITHIN_TWINS),
  ]
  const laws = LAWS.filter(({name}) => !without.includes(name))
  const own = sample(pairs(laws), backend === THOROUGH ? 9 : 31, 1)
  // WebAssembly and TensorFlow have the composites of plain JavaScript: a full run takes every third of theirs, too
  const few = FULL && ![THOROUGH, 'cpu'].includes(backend)
  it.each(few ? own.filter((_, at) => at % 3 === 1) : own)('%s: %s', expectLaw)
})

describe('on composites', () => {
  beforeAll(() => useBackend('cpu'))

  const own = CHECKS.filter(({group}) => OF_COMPOSITES.includes(group))
  it.each(sample(pairs(own), 7, 1))('%s: %s', expectLaw)
})

describe.runIf(FULL)('an estimator of the registry', () => {
  it.each(METHOD_NAMES)('%s fails no check', async method => {
    const outcomes = await checkEstimator({method, groups: CHECK_GROUPS, seed: 0})
    const wrong = outcomes.filter(({status}) => status === 'failed' || status === 'warning')
    expect(wrong).toEqual([])
    const passed = outcomes.filter(({status}) => status === 'passed').length
    expect(passed).toBeGreaterThanOrEqual(outcomes.length / 2)
  })
})
