import {describe, expect, it} from 'vitest'
import Methods from '../../commands/methods.js'
import {run} from './services.js'

describe('rfa methods', () => {
  it('lists all, or shows one, or what a preset does', async () => {
    const methods = (...argv: string[]) => run(Methods, 'methods', argv)
    expect((await methods()).stdout).toMatch(/^mean-value /m)
    expect((await methods('rfa')).stdout).toContain('Options (--option NAME=VALUE)')
    expect((await methods('--projections')).stdout).toMatch(/^orth +blocks of D orthogonal/m)
    expect((await methods('--preset', 'noahs-ark')).stdout).toMatch(/^rfa +features scaled/m)
    const {stdout} = await methods('favor-pos', '--json', '--num-features', '31')
    expect(JSON.parse(stdout).methods).toMatchObject([{name: 'favor-pos', feature_dim: 31}])
  })

  it('gives the facts of projections under --json, and no estimator beside them', async () => {
    const {stdout} = await run(Methods, 'methods', ['--projections', '--json'])
    const {projections} = JSON.parse(stdout)
    expect(projections).toContainEqual(
      expect.objectContaining({name: 'orth', rows: 'normal', unbiased_for: 'softmax-kernel'}),
    )
    expect(projections).toContainEqual(
      expect.objectContaining({name: 'orth-tall', released_by: 'noahs-ark'}),
    )
    const {stderr, exitCode} = await run(Methods, 'methods', ['--projections', 'rfa'])
    expect(stderr).toMatch(/^--projections: expected no estimator beside it, got rfa\n/)
    expect(exitCode).toBe(2)
  })

  it('knows who was meant by a mistyped name', async () => {
    const {stderr, exitCode} = await run(Methods, 'methods', ['favor-pso'])
    expect(stderr).toMatch(/did you mean favor-pos\?\n$/)
    expect(exitCode).toBe(2)
  })
})
