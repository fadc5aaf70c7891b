import {describe, expect, it} from 'vitest'
import type {BenchPlan, TimingProtocol} from '../../../../src/experiments/bench/schema.js'
import {rateOf} from '../../../../src/experiments/rates.js'
import {benchCells, benchJobs} from '../../../helpers/cells.js'
import {bench, method} from '../../../helpers/plans.js'

/** Predicted seconds of the first cell. */
async function predicted(changes: Partial<BenchPlan>, timing: Partial<TimingProtocol>) {
  const plan = bench({methods: [method('elu')], ...changes}) as BenchPlan
  const jobs = await benchJobs({...plan, timing: {...plan.timing, ...timing}})
  const [first] = jobs
  return first!.predictedCost / rateOf([plan.backend].flat()[0]!)
}

/** The same product, taken in another order: three roundings on either side. */
function expectSame(seconds: number, wanted: number): void {
  expect(Math.abs(seconds / wanted - 1)).toBeLessThan(8 * 2 ** -53)
}

describe('the predicted time of a cell', () => {
  const fixed = {warmup_runs: 0, min_runs: 10, max_runs: 10, min_time_ns: 0}

  it('is that of its runs, warm-up included', async () => {
    const once = await predicted({}, {...fixed, min_runs: 1, max_runs: 1})
    expectSame(await predicted({}, fixed), 10 * once)
    expectSame(await predicted({}, {...fixed, warmup_runs: 5}), 15 * once)
  })

  it('is the least time where calls are short, but for the most runs', async () => {
    const once = await predicted({}, {...fixed, min_runs: 1, max_runs: 1})
    const long = await predicted({}, {...fixed, max_runs: 1e9, min_time_ns: 2e9})
    expect(long).toBeGreaterThanOrEqual(2)
    expect(long).toBeLessThan(2 + 2 * once)
    expectSame(await predicted({}, {...fixed, max_runs: 20, min_time_ns: 2e9}), 20 * once)
  })

  it('has in it what native leaves to plain JavaScript, on one thread', async () => {
    const on = (name: string, threads: number) =>
      predicted({backend: 'native', methods: [method(name)], seq_lens: [512], threads}, fixed)
    // c + p on one thread and c / 16 + p on sixteen
    const unshared = async (name: string) => (16 * (await on(name, 16)) - (await on(name, 1))) / 15
    // ten calls, each with kernels that take 5 us to be called
    expect(await unshared('reformer')).toBeGreaterThan(10 * 5e-6)
    expect(Math.abs(await unshared('elu'))).toBeLessThan((await on('elu', 1)) * 2 ** -48)
  })

  it('has in it the parts that are timed, and their memory, of methods that have them', async () => {
    const jobsOf = async (name: string, changes: Partial<BenchPlan>) =>
      (await benchJobs(bench({methods: [method(name)], ...changes}) as BenchPlan))
        [Symbol.iterator]()
        .next().value!
    const [plain, broken] = [await jobsOf('elu', {}), await jobsOf('elu', {breakdown: true})]
    expect(broken.predictedCost).toBe(2 * plain.predictedCost)
    const {batch, heads, seq_len, head_dim, value_dim} = broken.cell
    // queries, keys, sums and outputs, each kept and made once more
    const perToken = 2 * head_dim + 2 * value_dim + 1
    expect(broken.predictedBytes - plain.predictedBytes).toBe(
      8 * batch * heads * seq_len * perToken,
    )
    expect(plain.cell).not.toHaveProperty('breakdown')
    expect((await jobsOf('nystrom', {breakdown: true})).predictedCost).toBe(
      (await jobsOf('nystrom', {})).predictedCost,
    )
  })

  it('goes by the threads that compute', async () => {
    const native = {backend: 'native' as const}
    const one = await predicted({...native, threads: 1}, fixed)
    expectSame(await predicted({...native, threads: 4}, fixed), one / 4)
    const wasm = await predicted({backend: 'wasm'}, fixed)
    expect(await predicted({backend: 'wasm', threads: 1}, fixed)).toBe(wasm)
  })
})

describe('several batches', () => {
  const plan = bench({batch: [1, 3], seq_lens: [32, 64]}) as BenchPlan

  it('are an axis, of which each value has the cells of a plan of its own', async () => {
    const both = await benchCells(plan)
    const apart = await Promise.all([1, 3].map(async batch => await benchCells({...plan, batch})))
    expect(both.map(cell => cell.batch)).toContain(3)
    const texts = (cells: object[]) => cells.map(cell => JSON.stringify(cell)).sort()
    expect(texts(both)).toEqual(texts(apart.flat()))
  })

  it('are reported in labels, and cost what they take', async () => {
    const jobs = await benchJobs(plan)
    expect(jobs.map(({label}) => label)).toEqual(
      jobs.map(({cell}) => expect.stringContaining(`B=${cell.batch} L=${cell.seq_len}`)),
    )
    const [alone] = await benchJobs({...plan, batch: 3, seq_lens: [64]})
    const same = jobs.find(({cell}) => JSON.stringify(cell) === JSON.stringify(alone!.cell))
    expect(same).toMatchObject({
      predictedCost: alone!.predictedCost,
      predictedBytes: alone!.predictedBytes,
    })
    expect(alone!.label).not.toContain('B=')
  })
})
