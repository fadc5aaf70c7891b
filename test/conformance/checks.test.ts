import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, METHOD_NAMES} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {CHECK_GROUPS, checkEstimator} from '../../src/check/index.js'
import {FULL} from '../helpers/effort.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

/** What a quick run checks: all methods take a minute and more. */
const QUICK = ['lara'] as const
/** Without the statistics, which the statistical suite has at more draws. */
const QUICK_GROUPS = CHECK_GROUPS.filter(group => group !== 'unbiasedness')

describe('an estimator of the registry', () => {
  it.each(FULL ? METHOD_NAMES : QUICK)('%s fails no check', async method => {
    const groups = FULL ? CHECK_GROUPS : QUICK_GROUPS
    const outcomes = await checkEstimator({method, groups, seed: 0})
    const found = outcomes.filter(({status}) => status === 'failed' || status === 'warning')
    expect(found).toEqual([])
    const passed = outcomes.filter(({status}) => status === 'passed').length
    expect(passed).toBeGreaterThanOrEqual(outcomes.length / 2)
  })
})
