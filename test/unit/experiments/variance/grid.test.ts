import {describe, expect, it} from 'vitest'
import {planKeys, planRun} from '../../../../src/experiments/planned-run.js'
import {type VariancePlan, variancePlan} from '../../../../src/experiments/variance/schema.js'
import {method} from '../../../helpers/plans.js'
import {VARIANCE_PLAN} from '../../../helpers/records/variance.js'

const planOf = (
  methods: VariancePlan['methods'],
  changes: Partial<VariancePlan> = {},
): VariancePlan => ({
  ...VARIANCE_PLAN,
  ...{methods, projections: ['iid'], num_features: [256], head_dims: [64]},
  ...{angles_deg: [0], replicates: 1000, seed: 0, backend: 'cpu'},
  ...changes,
})

async function predicted(
  name: string,
  options = {},
  changes: Partial<VariancePlan> = {},
): Promise<number> {
  const {jobs} = await planRun(planOf([method(name, options)], changes))
  return jobs[0]!.predictedBytes
}

/** Runtime of the backend, the estimates, and what draws have left before they are collected. */
const SHARED = 122e6 + 8 * 1000 + 32e6

describe('the memory of a variance cell', () => {
  it('counts rows and features of the draws that are estimated together', async () => {
    // matrices in double and in single precision and as a tensor; five arrays of features on each side
    const matrix = 256 * 64 * (8 + 2 * 4)
    const features = 10 * 256 * 4
    const whole = {projections: ['simplex-plus' as const]}
    expect(await predicted('favor-pos', {}, whole)).toBe(SHARED + 64 * (matrix + features))
    // a matrix that no tensor is made of, two directions to turn it by, and two columns that a tensor is made of
    const turned = 256 * 64 * (8 + 4) + 2 * 64 * 8 + 256 * 2 * 2 * 4
    const sobol = {projections: ['sobol' as const]}
    expect(await predicted('favor-pos', {}, sobol)).toBe(SHARED + 64 * (turned + features))
    // two directions of four blocks and three numbers for a length each; two columns, and as a tensor
    const plane = 256 * 5 * 8 + 256 * 2 * 2 * 4
    const draws = 64 * Math.floor(2 ** 23 / 64 / (plane + features))
    expect(draws).toBeGreaterThan(64)
    const many = {replicates: 4000}
    const wanted = SHARED + 8 * 3000 + draws * (plane + features)
    expect(await predicted('favor-pos', {}, many)).toBe(wanted)
  })

  it('counts other random arrays, with the columns that rows have', async () => {
    // n = 5 sign vectors in the plane, and 4 M (1 + n) features
    const plane = 256 * 5 * 8 + 256 * 2 * 2 * 4 + 5 * 2 * 4
    const features = 10 * 4 * 256 * 6 * 4
    expect(await predicted('hrf', {signFeatures: 5})).toBe(SHARED + 64 * (plane + features))
  })

  it('counts the random arrays of methods that use no projection instead', async () => {
    // a uniform number for the degree and 12 sign vectors
    const noise = 256 * (1 + 12 * 64) * 4
    expect(64 * noise).toBeGreaterThan(50e6)
    expect(await predicted('maclaurin')).toBe(SHARED + 64 * (noise + 10 * 256 * 4))
  })

  it('is that of the projection with the largest batch', async () => {
    const few = {replicates: 64}
    const only = await predicted('favor-pos', {}, {...few, projections: ['givens']})
    const both = await predicted('favor-pos', {}, {...few, projections: ['iid', 'givens']})
    // 64 draws are one batch, what they hold is what they leave
    const plane = 256 * 5 * 8 + 256 * 2 * 2 * 4 + 10 * 256 * 4
    expect(both - only).toBe(64 * (8 + plane))
  })

  it('leaves nothing behind on tfjs-wasm, which keeps tensors itself', async () => {
    const few = {replicates: 64}
    const [cpu, wasm] = [
      await predicted('favor-pos', {}, few),
      await predicted('favor-pos', {}, {...few, backend: 'wasm'}),
    ]
    const plane = 256 * 5 * 8 + 256 * 2 * 2 * 4
    expect(cpu - 122e6 - (wasm - 130e6)).toBe(64 * (plane + 10 * 256 * 4))
  })
})

describe('the cost of a variance cell', () => {
  async function cost(name: string, changes: Partial<VariancePlan> = {}): Promise<number> {
    const {jobs} = await planRun(planOf([method(name)], changes))
    return jobs[0]!.predictedCost
  }

  it('grows with replicates and projections, and is that of a matrix where one is drawn', async () => {
    const iid = await cost('favor-pos')
    expect(await cost('favor-pos', {replicates: 3000})).toBe(3 * iid)
    expect(await cost('favor-pos', {projections: ['iid', 'orth']})).toBe(2 * iid)
    // five normals a row in place of 64 and Gram-Schmidt over 64 rows; ten arrays of features both
    const features = 8 * 10 * 256
    const given = {projections: ['simplex-plus' as const]}
    expect(iid).toBe(1000 * (50 * 5 * 256 + features))
    const matrix = (50 + 2 * 64) * 256 * 64
    expect(await cost('favor-pos', given)).toBe(1000 * (matrix + features))
    // and two directions, with which each row and they are multiplied
    const turning = 50 * 2 * 64 + 2 * 2 * (2 + 256) * 64
    const turned = {projections: ['sobol' as const]}
    expect(await cost('favor-pos', turned)).toBe(1000 * (matrix + turning + features))
  })

  it('counts other random arrays and longer features', async () => {
    const features = 8 * 10 * 256
    expect(await cost('maclaurin')).toBe(1000 * (50 * 256 * (1 + 12 * 64) + features))
    // two sign vectors, 4 M (1 + 2) features
    const rows = 50 * (5 * 256 + 2 * 2)
    expect(await cost('hrf')).toBe(1000 * (rows + 12 * features))
  })
})

describe('the jobs of a variance plan', () => {
  it('are its cells in plan order, method by method', async () => {
    const methods = [method('maclaurin'), method('favor-pos')]
    const plan = planOf(methods, {norms: [1, 2], head_dims: [4, 8]})
    const {jobs} = await planRun(plan)
    expect(jobs.map(({key}) => key)).toEqual(await planKeys(plan))
    expect(jobs.slice(3, 5).map(({label}) => label)).toEqual([
      'maclaurin M=256 D=8 norm 2 angle 0',
      'favor-pos M=256 D=4 norm 1 angle 0',
    ])
  })

  it('want methods and options that there are', async () => {
    await expect(planRun(planOf([method('favour')]))).rejects.toMatchObject({code: 'UNKNOWN_NAME'})
    const wrong = planOf([method('hrf', {signFeatures: 0})])
    await expect(planRun(wrong)).rejects.toMatchObject({code: 'BAD_OPTION'})
  })
})

describe('pairs of a plan', () => {
  const cellsOf = async (changes: Partial<VariancePlan>) => {
    const {jobs} = await planRun(planOf([method('favor-pos')], changes))
    return jobs.map(({cell}) => cell)
  }

  it('have two norms where those differ, and the cells of old plans where they do not', async () => {
    const cells = await cellsOf({norms: [0.5, 1], key_norms: [1, 2]})
    expect(cells).toMatchObject([
      {norm: 0.5, key_norm: 1},
      {norm: 0.5, key_norm: 2},
      {norm: 1},
      {norm: 1, key_norm: 2},
    ])
    expect(cells[2]).toEqual((await cellsOf({norms: [1]}))[0])
  })

  it('may be given by sums and differences alone, or beside others', async () => {
    const sums = {sum_norms: [1, 2], difference_norms: [0, 1, 3]}
    const alone = await cellsOf({...sums, norms: [], angles_deg: []})
    expect(alone).toHaveLength(6)
    expect(alone[1]).toMatchObject({sum_norm: 1, difference_norm: 1, norm: Math.SQRT1_2})
    expect(await cellsOf({...sums, norms: [1], angles_deg: [0, 90]})).toHaveLength(8)
  })

  it('are refused by halves, and where there are none', () => {
    const empty = {norms: [], angles_deg: []}
    for (const changes of [empty, {...empty, norms: [1]}, {sum_norms: [1]}]) {
      expect(variancePlan.safeParse(planOf([method('favor-pos')], changes)).success).toBe(false)
    }
  })

  it('have labels that tell them apart', async () => {
    const {jobs} = await planRun(
      planOf([method('favor-pos')], {
        ...{norms: [0.5], key_norms: [2], sum_norms: [1], difference_norms: [3]},
      }),
    )
    expect(jobs.map(({label}) => label)).toEqual([
      'favor-pos M=256 D=64 norm 0.5, 2 angle 0',
      'favor-pos M=256 D=64 |x+y| 1 |x-y| 3',
    ])
  })
})
