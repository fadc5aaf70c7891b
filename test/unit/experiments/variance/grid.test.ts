import {describe, expect, it} from 'vitest'
import {planKeys, planRun} from '../../../../src/experiments/planned-run.js'
import type {VariancePlan} from '../../../../src/experiments/variance/schema.js'

const planOf = (
  methods: VariancePlan['methods'],
  changes: Partial<VariancePlan> = {},
): VariancePlan => ({
  experiment: 'variance',
  methods,
  projections: ['iid'],
  orth_sign: 'haar',
  num_features: [256],
  head_dims: [64],
  norms: [1],
  angles_deg: [0],
  replicates: 1000,
  seed: 0,
  backend: 'cpu',
  ...changes,
})

const exact = (method: string, options: Record<string, string | number> = {}) => ({
  method,
  preset: 'exact' as const,
  options,
})

async function predicted(method: string, options = {}): Promise<number> {
  const {jobs} = await planRun(planOf([exact(method, options)]))
  return jobs[0]!.predictedBytes
}

/** Of the runtime and the replicates, which methods share. */
const SHARED = 122e6 + 8 * 1000

describe('the memory of a variance cell', () => {
  it('counts projections and features of the 64 draws that are estimated together', async () => {
    const rows = 256 * 64 * 16
    expect(await predicted('favor-pos')).toBe(SHARED + 64 * (rows + 2 * 256 * 4))
    // n = 5 sign vectors of D normals each, and 4 M (1 + n) features
    const features = 4 * 256 * 6
    const wanted = SHARED + 64 * (rows + 5 * 64 * 8 + 2 * features * 4)
    expect(await predicted('hrf', {signFeatures: 5})).toBe(wanted)
  })

  it('counts the random arrays of methods that use no projection instead', async () => {
    // a uniform number for the degree and 12 sign vectors, on the host and as a tensor
    const noise = 256 * (1 + 12 * 64) * 8
    expect(64 * noise).toBeGreaterThan(100e6)
    expect(await predicted('maclaurin')).toBe(SHARED + 64 * (noise + 2 * 256 * 4))
  })
})

describe('the jobs of a variance plan', () => {
  it('are its cells in plan order, method by method', async () => {
    const methods = [exact('maclaurin'), exact('favor-pos')]
    const plan = planOf(methods, {norms: [1, 2], head_dims: [4, 8]})
    const {jobs} = await planRun(plan)
    expect(jobs.map(({key}) => key)).toEqual(await planKeys(plan))
    expect(jobs.slice(3, 5).map(({label}) => label)).toEqual([
      'maclaurin M=256 D=8 norm 2 angle 0',
      'favor-pos M=256 D=4 norm 1 angle 0',
    ])
  })

  it('want methods and options that there are', async () => {
    await expect(planRun(planOf([exact('favour')]))).rejects.toMatchObject({code: 'UNKNOWN_NAME'})
    const wrong = planOf([exact('hrf', {signFeatures: 0})])
    await expect(planRun(wrong)).rejects.toMatchObject({code: 'BAD_OPTION'})
  })
})
