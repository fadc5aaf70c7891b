import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators, registerEstimator} from '../../../src/attention/index.js'
import {estimatorNamed} from '../../../src/attention/names.js'
import {useBackend} from '../../../src/backends/index.js'
import {CHECK_GROUPS, CHECKS, type CheckStatus, checkEstimator} from '../../../src/check/index.js'
import {CHECK_SECONDS, type Finding} from '../../../src/check/types.js'
import {messageOf} from '../../../src/errors.js'
import {tf} from '../../../src/tf.js'
import {BROKEN, DETERMINISTIC, NARROW, SCALED, SOUND} from '../../helpers/broken-estimators.js'
import {FULL} from '../../helpers/effort.js'
import {DEFECTS as OWN_DEFECTS, RIGHT} from '../../helpers/own-estimators.js'

await loadEstimators()
beforeAll(() => useBackend('cpu'))

const DRAW = {seed: 0, draws: 1000}
/** As many as it takes, as by default; a quick run has as many as show a large bias. */
const STATISTICS = FULL ? {seed: 0} : {seed: 0, draws: 2000}

const checkNamed = (wanted: string) => CHECKS.find(({name}) => name === wanted)!
const groupOf = (check: string) => checkNamed(check).group

/** What one check finds, the others of its group left out. */
async function found(method: string, check: string) {
  const {group, run} = checkNamed(check)
  const draw = group === 'unbiasedness' ? STATISTICS : DRAW
  const estimator = estimatorNamed(method)
  try {
    return await run({method, estimator, draws: undefined, seconds: CHECK_SECONDS, ...draw})
  } catch (error) {
    return {status: 'failed', finding: messageOf(error), tried: []} satisfies Finding
  }
}

/** A quick run has one defect for each group of checks that has any. */
const DEFECTS = Object.entries({...BROKEN, ...OWN_DEFECTS}).filter(
  ([, {check}], index, all) =>
    FULL || all.findIndex(([, other]) => groupOf(other.check) === groupOf(check)) === index,
)

describe('an estimator with one defect', () => {
  it.each(DEFECTS)('%s: is caught by the check of that', async (_defect, broken) => {
    const method = registerEstimator(broken.estimator)
    expect(await found(method, broken.check)).toMatchObject({
      ...{status: 'failed', finding: expect.stringMatching(/\w/)},
    })
  })
})

it('counts operations no longer once an estimator has thrown', async () => {
  const attend = () => {
    throw new Error('thrown on purpose')
  }
  const method = registerEstimator({...SOUND, name: 'throwing', attend})
  const outcomes = await checkEstimator({method, groups: ['facts'], ...DRAW})
  expect(outcomes.find(({check}) => check === 'counted cost')).toMatchObject({status: 'failed'})
  expect(tf.engine().state.profiling).toBe(false)
})

describe('an estimator that is right', () => {
  it.runIf(FULL).each(RIGHT)('$name: fails no check, and none stays open', async map => {
    const method = registerEstimator(map)
    const outcomes = await checkEstimator({method, groups: CHECK_GROUPS, seed: 0})
    const of = (wanted: CheckStatus) =>
      outcomes.filter(({status}) => status === wanted).map(({check}) => check)
    expect(of('failed')).toEqual([])
    expect(of('not measurable')).toEqual([])
    expect(of('warning')).toEqual(map.name === 'own-waves' ? ['large norms'] : [])
  })

  it('is warned of, where it overflows at large norms only', async () => {
    const waves = RIGHT.find(({name}) => name === 'own-waves')!
    const subject = {method: waves.name, estimator: waves, seed: 0, draws: 100, seconds: 1}
    if (!FULL) registerEstimator(waves)
    expect(await checkNamed('large norms').run(subject)).toMatchObject({
      status: 'warning',
      finding: expect.stringMatching(/norms x \d+: row \d+ .* is NaN/),
      advice: expect.stringMatching(/exponentials/),
    })
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

describe('what is sound in a way of its own passes', () => {
  it.runIf(FULL)('features with a scale of each token that varies with the draw', async () => {
    expect(await found(registerEstimator(SCALED), 'kernel mean')).toMatchObject({status: 'passed'})
  })

  it('features that draw nothing, whose estimates are their mean, without variance', async () => {
    const method = registerEstimator(DETERMINISTIC)
    expect(await found(method, 'kernel mean')).toMatchObject({status: 'passed'})
    expect(await found(method, 'kernel variance')).toMatchObject({status: 'passed'})
  })

  it('options of which little or nothing can be tried', async () => {
    const run = await found(registerEstimator(NARROW), 'options run')
    expect(run).toMatchObject({status: 'passed'})
    expect(run!.finding).toContain('not tried: even, only, mode, kind, list;')
    expect(run!.tried).toEqual(
      expect.arrayContaining(['window=8', 'window=9', 'blocks=24', 'blocks=40']),
    )
    const inside = run!.tried.filter(label => /^decay=0\.9\d*$|^decay=1$/.test(label))
    expect(inside.length).toBeGreaterThan(0)
  })
})
