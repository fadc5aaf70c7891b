import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../src/attention/estimators/index.js'
import type {EstimatorFacts} from '../../../src/cli/plans/method-specs.js'
import {
  methodFacts,
  methodReport,
  methodsReport,
  methodsScreen,
  presetReport,
} from '../../../src/report/methods.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {WIDE} from '../../helpers/terminal.js'

const SIZE = {numFeatures: 31, headDim: 17}
let estimators: EstimatorFacts
beforeAll(async () => {
  estimators = await loadEstimators()
})

const facts = () => Object.values(estimators).map(estimator => methodFacts(estimator, SIZE))

describe('methodsReport', () => {
  it('has one row per estimator with the length of phi at the size asked for', () => {
    const text = renderTerminal(methodsReport(facts(), SIZE), {width: 200, colour: false})
    expect(text).toContain('F at M=31')
    expect(text).toContain('citation')
    for (const name of Object.keys(estimators)) expect(text).toMatch(new RegExp(`^${name} `, 'm'))
    expect(text).toMatch(/^favor-pos .* 31 {2}yes/m)
    expect(text).toMatch(/^rfa .* 62 {2}yes/m)
  })
})

describe('methodsScreen', () => {
  it('has every estimator in one group, in a screen of 80 columns', () => {
    const plugin = {...methodFacts(estimators.elu!, SIZE, './mine.js'), name: 'mine'}
    const blocks = methodsScreen([...facts(), plugin])
    const text = renderTerminal(blocks, {width: 80, colour: false})
    expect(text.split('\n').length).toBeLessThanOrEqual(22)
    expect(text).toMatch(/^from plug-ins +mine$/m)
    const [table] = blocks
    const names = table!.kind === 'table' ? table!.rows.flatMap(row => row[1]!.split(', ')) : []
    expect(names.map(name => name.replace('*', '')).sort()).toEqual(
      [...Object.keys(estimators), 'mine'].sort(),
    )
    expect(text).toMatchSnapshot()
  })
})

describe('methodReport', () => {
  it('shows formula, options with defaults, presets with their quirk, and advice', () => {
    const rfa = methodFacts(estimators.rfa!, SIZE)
    const text = renderTerminal(methodReport(rfa), WIDE)
    expect(text).toContain(rfa.formula)
    expect(text).toMatch(/^also called +random feature attention$/m)
    expect(text).toMatch(/^tau +1 +number +divides/m)
    expect(text).toMatch(/^noahs-ark +features scaled by 0\.1/m)
    expect(text).toContain('For models trained with normalised queries and keys.')
  })

  it('says so when a method has no options', () => {
    const text = renderTerminal(methodReport(methodFacts(estimators.softmax!, SIZE)), WIDE)
    expect(text).toContain('softmax has no options.')
    expect(text).not.toContain('Presets')
  })
})

describe('methodReport of one preset', () => {
  const shown = (name: string, preset: string) =>
    renderTerminal(methodReport(methodFacts(estimators[name]!, SIZE), preset), WIDE)

  it('shows its quirk alone', () => {
    const text = shown('favor-pos', 'google-jax')
    expect(text).toMatch(/^google-jax +/m)
    expect(text).not.toMatch(/^performer-pytorch/m)
  })

  it('says that a preset changes nothing, and which ones would', () => {
    expect(shown('rfa', 'hku')).toMatch(
      /^rfa runs as exact under hku; presets that change it: noahs-ark\.$/m,
    )
    expect(shown('softmax', 'hku')).toMatch(/^softmax runs as exact under hku; .*: none\.$/m)
    expect(shown('rfa', 'exact')).toMatch(/^exact is the mathematically right form/m)
  })
})

describe('presetReport', () => {
  it('tells what a preset does to each method that honours it', () => {
    const text = renderTerminal(presetReport(facts(), 'noahs-ark'), WIDE)
    expect(text).toMatch(/^rfa +features scaled/m)
    expect(text).not.toMatch(/^elu/m)
  })

  it('has words for the exact form and for a preset of nobody', () => {
    expect(renderTerminal(presetReport(facts(), 'exact'), WIDE)).toBe(
      'exact is the mathematically right form of every method.',
    )
    expect(renderTerminal(presetReport([], 'hku'), WIDE)).toBe('No method honours hku.')
  })
})
