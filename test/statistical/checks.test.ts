/** How often `rfa check` raises a false alarm: right maps with many seeds, and as many draws as it takes. */
import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, registerEstimator} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {checkEstimator} from '../../src/check/index.js'
import {SLOW} from '../helpers/effort.js'
import {RIGHT} from '../helpers/own-estimators.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const SEEDS = Array.from({length: 20}, (_, seed) => seed)

// one false alarm in ten thousand runs is allowed: in so many the chance of any is below 1 %
describe.runIf(SLOW).each(RIGHT)('$name with other draws', map => {
  it(`fails no statistical check with ${SEEDS.length} seeds`, async () => {
    const method = registerEstimator(map)
    const failed = []
    for (const seed of SEEDS) {
      const outcomes = await checkEstimator({method, groups: ['unbiasedness'], seed})
      failed.push(...outcomes.filter(({status}) => status === 'failed'))
    }
    expect(failed).toEqual([])
  })
})
