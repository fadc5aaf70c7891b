import {readdirSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {describe, expect, it} from 'vitest'
import {
  type Estimator,
  loadEstimators,
  METHOD_NAMES,
  PRESET_NAMES,
} from '../../../../src/attention/index.js'
import {resolveOptions} from '../../../../src/attention/resolve.js'

const folder = fileURLToPath(new URL('../../../../src/attention/estimators', import.meta.url))
const estimators = await loadEstimators()
const files = readdirSync(folder)
  .filter(file => file.endsWith('.ts'))
  .map(file => file.slice(0, -'.ts'.length))
  .filter(file => file !== 'index')
const entries = METHOD_NAMES.map(name => [name, estimators[name] as unknown as Estimator] as const)

describe('the registry of estimators', () => {
  it.each(files)('holds the estimator of %s.ts', async file => {
    const module = (await import(`../../../../src/attention/estimators/${file}.ts`)) as {
      default: Estimator
    }
    expect(Object.values(estimators)).toContain(module.default)
  })

  it('has one file per name', () => {
    expect(files).toHaveLength(METHOD_NAMES.length)
  })

  it.each(entries)('%s stands under its own name, with every fact filled in', (name, estimator) => {
    expect(estimator.name).toBe(name)
    for (const text of [estimator.title, estimator.citation, estimator.formula, estimator.advice]) {
      expect(text.length).toBeGreaterThan(0)
    }
  })

  it.each(entries)('%s: every option has a default and a description', (_name, estimator) => {
    expect(estimator.options.safeParse({}).success).toBe(true)
    for (const option of Object.values(estimator.options.shape)) {
      expect((option as {description?: string}).description).toBeTruthy()
    }
  })

  it.each(entries)(
    '%s: every preset is a known one, resolves and reports its quirk',
    (_name, estimator) => {
      for (const [preset, {quirk}] of Object.entries(estimator.presets)) {
        expect(PRESET_NAMES).toContain(preset)
        expect(quirk.length).toBeGreaterThan(0)
        expect(() =>
          resolveOptions(estimator, preset as (typeof PRESET_NAMES)[number]),
        ).not.toThrow()
      }
    },
  )

  it.each(entries)('%s: facts agree with each other', (_name, estimator) => {
    const {supports, unbiasedFor, nonNegative} = estimator
    expect(Boolean(estimator.decoder)).toBe(supports.decode)
    expect(Boolean(estimator.stateBytes)).toBe(supports.decode)
    if (supports.decode) expect(supports.causal).toBe(true)
    if (unbiasedFor.endsWith('-kernel')) expect(estimator.kernel).toBeDefined()
    if (estimator.varianceLaw) expect(estimator.kernel).toBeDefined()
    if (unbiasedFor === 'exact') expect(nonNegative).toBe(true)
  })
})
