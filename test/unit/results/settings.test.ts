import {describe, expect, it} from 'vitest'
import {benchFlags} from '../../../src/cli/plans/bench.js'
import {errorSweepFlags} from '../../../src/cli/plans/error-sweep.js'
import {varianceFlags} from '../../../src/cli/plans/variance.js'
import {benchPlan} from '../../../src/experiments/bench/schema.js'
import {errorSweepPlan} from '../../../src/experiments/error-sweep/schema.js'
import {variancePlan} from '../../../src/experiments/variance/schema.js'
import {settingName} from '../../../src/results/setting-name.js'
import {flagOf} from '../../../src/results/settings.js'

describe('flagOf', () => {
  it.each([
    [['seed'], 'seed'],
    [['orth_sign'], 'orth-sign'],
    [['seq_lens'], 'seq-len'],
    [['seq_lens', 1], 'seq-len'],
    [['layers', 0], 'layer'],
    [['methods', 0, 'options'], 'option'],
    [['until_ci', 'relative_half_width'], 'until-ci'],
    [['nonsense'], 'nonsense'],
  ])('%j is set by --%s', (path, flag) => {
    expect(flagOf(errorSweepPlan, path)).toBe(flag)
  })

  it.each([
    ['bench', benchPlan, benchFlags],
    ['error-sweep', errorSweepPlan, errorSweepFlags],
    ['variance', variancePlan, varianceFlags],
  ])('names a flag for every field of a plan of %s', (_, plan, flags) => {
    // groups have their flags within, what is read but not written has none
    const others = ['experiment', 'plugins', 'timing', 'until_ci', 'precision', 'max_draws']
    const fields = Object.keys(plan.shape).filter(field => !others.includes(field))
    const named = fields.map(field => flagOf(plan, [field]))
    expect(Object.keys(flags)).toEqual(expect.arrayContaining(named))
  })
})

it('settings are called as flags without dashes', () => {
  expect(settingName('no-seq-len')).toBe('noSeqLen')
})
