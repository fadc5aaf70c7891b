import {describe, expect, it} from 'vitest'
import {benchFlags} from '../../../src/cli/plans/bench.js'
import {errorSweepFlags} from '../../../src/cli/plans/error-sweep.js'
import {experimentFlagNames} from '../../../src/cli/plans/flag-names.js'
import {varianceFlags} from '../../../src/cli/plans/variance.js'
import {asFlags} from '../../../src/cli/program/error-report.js'
import {benchPlan} from '../../../src/experiments/bench/schema.js'
import {errorSweepPlan} from '../../../src/experiments/error-sweep/schema.js'
import {variancePlan} from '../../../src/experiments/variance/schema.js'
import {inputText, settingText} from '../../../src/results/plan-settings.js'
import {method} from '../../helpers/plans.js'

const asTyped = (text: string) => asFlags(text, experimentFlagNames())

describe('settingText', () => {
  it.each([
    [['seed'], 3, '--seed 3'],
    [['seq_lens'], null, 'no --seq-len'],
    [['seq_lens'], [32, 64], '--seq-len 32,64'],
    [['causal'], true, '--causal'],
    [['causal'], false, 'no --causal'],
    [['input', 'layout'], undefined, 'no --layout'],
    [['input', 'names', 'key'], 'kk', '--key-name kk'],
    [['timing', 'min_time_ns'], 5e8, '--min-time 0.5'],
    [['methods'], method('elu'), '--methods elu'],
    [['sampled'], undefined, 'no --pairs'],
    [['sampled'], {input: 'file', pairs: [{}, {}]}, '--pairs 2'],
    [['sampled', 'pairs'], [{}], '--pairs 1'],
    [['sampled', 'input'], 'file', '--input file'],
    [
      ['methods'],
      [method('softmax'), {...method('rfa', {tau: 0.5}), preset: 'performer'}],
      '--methods softmax,rfa --preset exact,performer --option rfa.tau=0.5',
    ],
  ])('writes %j of %j as it is typed', (place, value, text) => {
    expect(asTyped(settingText(place, value))).toBe(text)
  })

  it.each([
    ['bench', benchPlan, benchFlags],
    ['error-sweep', errorSweepPlan, errorSweepFlags],
    ['variance', variancePlan, varianceFlags],
  ])('has a flag for every field of a plan of %s', (_, plan, flags) => {
    const fields = Object.keys(plan.shape).filter(
      field => !['experiment', 'input', 'timing', 'methods'].includes(field),
    )
    const unnamed = fields.filter(
      field => !/^--/.test(asFlags(settingText([field], 1), Object.keys(flags))),
    )
    expect(unnamed).toEqual([])
  })
})

describe('inputText', () => {
  it('names files or a generator', () => {
    const names = {query: 'q', key: 'k', value: 'v'}
    expect(asTyped(inputText({kind: 'file', paths: ['a.npz'], names}))).toBe('--input a.npz')
    const sizes = {batch: 1, heads: 1, head_dim: 4, value_dim: 4, key_len: null}
    expect(asTyped(inputText({kind: 'generator', name: 'gaussian', ...sizes}))).toBe(
      '--generator gaussian',
    )
  })
})
