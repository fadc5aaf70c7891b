import {afterEach, describe, expect, it, vi} from 'vitest'
import {planRun} from '../../../src/experiments/planned-run.js'
import {checkInput, prepareDryRun, prepareRun} from '../../../src/runner/preparation.js'
import {bench, method, sweep} from '../../helpers/plans.js'

afterEach(() => void vi.unstubAllEnvs())

describe('prepareRun', () => {
  it('makes the jobs of a plan whose backend runs', async () => {
    const plan = sweep()
    const {jobs} = await planRun(plan)
    expect(await prepareRun(plan)).toEqual({
      ...{plan, jobs, threading: 'one', notes: [], warnings: [], serves: true},
      heldBytes: expect.any(Number),
    })
  })

  it('refuses a backend that cannot run, and threads that it does not have', async () => {
    vi.stubEnv('RFA_ISA', 'nonsense')
    await expect(prepareRun(bench({backend: 'cpu', threads: 2}))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    })
    const both = bench({backend: ['cpu', 'wasm'], threads: 2})
    await expect(prepareRun(both)).rejects.toMatchObject({code: 'UNSUPPORTED'})
    const unknown = bench({backend: ['cpu', 'gpu'] as never})
    await expect(prepareRun(unknown)).rejects.toMatchObject({code: 'UNKNOWN_NAME'})
    await expect(prepareRun(bench({threads: 0}))).rejects.toMatchObject({code: 'BAD_OPTION'})
  })

  it('pins the input to what the files hold', async () => {
    const input = {kind: 'file', paths: ['nowhere.npz'], names: {query: 'q', key: 'k', value: 'v'}}
    const plan = sweep({input: input as never})
    await expect(prepareRun(plan)).rejects.toMatchObject({code: 'FILE_MISSING'})
    await expect(prepareDryRun(plan)).rejects.toMatchObject({code: 'FILE_MISSING'})
  })
})

describe('a large plan', () => {
  const axis = (length: number) => Array.from({length}, (_, at) => at + 1)
  const large = sweep({scales: axis(500), num_features: axis(500), methods: [method('favor-pos')]})

  it('is refused with the number of its cells and the lists that make it', async () => {
    await expect(prepareRun(large)).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message:
        'plan: expected at most 100000 cells, got 500000 (longest lists: 500 num_features, 500 scales, 2 projections)',
      suggestions: expect.arrayContaining([
        'see what they would take with `dryRun`',
        'run it all the same with `force`',
      ]),
    })
  })

  it('is let in when that is forced, up to a million, its jobs to be made where they are run', async () => {
    const forced = sweep({scales: axis(110_000), methods: [method('elu')]})
    expect(await prepareRun(forced, {force: true})).toMatchObject({jobs: null})
    const larger = {...large, seq_lens: axis(3)}
    await expect(prepareRun(larger, {force: true})).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('expected at most 1000000 cells, got 1500000'),
    })
  })
})

describe('prepareDryRun', () => {
  it('makes the same jobs', async () => {
    const plan = sweep()
    const named = await prepareRun(plan)
    const jobs = [...(await prepareDryRun(plan)).jobs]
    expect(jobs.map(({cell, label}) => ({cell, label}))).toEqual(
      named.jobs!.map(({cell, label}) => ({cell, label})),
    )
  })

  it('looks at a plan that is too large to be run unless forced, but at none of any size', async () => {
    const axis = (length: number) => Array.from({length}, (_, at) => at + 1)
    const large = sweep({scales: axis(110_000), methods: [method('elu')]})
    expect((await prepareDryRun(large)).jobs).toHaveLength(110_000)
    const huge = sweep({scales: axis(10_000), num_features: axis(10_000)})
    await expect(prepareDryRun(huge)).rejects.toMatchObject({code: 'TOO_LARGE'})
  })
})

describe('checkInput', () => {
  it('refuses what would be generated beyond all memory, once for all cells', async () => {
    await expect(checkInput(sweep({seq_lens: [17, 1e12]}))).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringMatching(/^generator gaussian: expected arrays that fit into /),
    })
  })

  it('has nothing to read where nothing is', async () => {
    await expect(checkInput(sweep())).resolves.toBeUndefined()
    await expect(checkInput(bench())).resolves.toBeUndefined()
  })
})
