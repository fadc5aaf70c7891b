import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, registerEstimator} from '../../../src/attention/index.js'
import {useBackend} from '../../../src/backends/index.js'
import {CHECK_GROUPS, CHECKS, checkEstimator} from '../../../src/check/index.js'
import {BROKEN, SOUND} from '../../helpers/broken-estimators.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const DRAW = {seed: 0, draws: 1000}

describe('an estimator with one defect', () => {
  it.each(Object.entries(BROKEN))('%s: is caught by the check of that', async (_defect, broken) => {
    const method = registerEstimator(broken.estimator)
    const {group} = CHECKS.find(({name}) => name === broken.check)!
    const outcomes = await checkEstimator({method, groups: [group], ...DRAW})
    const found = outcomes.find(({check}) => check === broken.check)
    expect(found).toMatchObject({status: 'failed', finding: expect.stringMatching(/\w/)})
  })
})

describe('a sound estimator', () => {
  it('fails no check', async () => {
    const method = registerEstimator(SOUND)
    const asked: string[] = []
    const onCheck = (name: string) => asked.push(name)
    const outcomes = await checkEstimator({method, groups: CHECK_GROUPS, ...DRAW, onCheck})
    expect(outcomes.filter(({status}) => status === 'failed')).toEqual([])
    expect(asked).toEqual(CHECKS.map(({name}) => name))
    expect(outcomes.map(({check}) => check)).toEqual(asked)
  })
})
