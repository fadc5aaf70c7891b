import {afterEach, describe, expect, it, vi} from 'vitest'
import {planRun} from '../../../src/experiments/planned-run.js'
import {checkInput, prepareDryRun, prepareRun} from '../../../src/runner/preparation.js'
import {bench, sweep} from '../../helpers/plans.js'

afterEach(() => void vi.unstubAllEnvs())

describe('prepareRun', () => {
  it('makes the jobs of a plan whose backend runs', async () => {
    const plan = sweep()
    const {jobs} = await planRun(plan)
    expect(await prepareRun(plan)).toEqual({
      ...{plan, jobs, threading: 'one', notes: [], warnings: [], serves: true},
    })
  })

  it('refuses a backend that cannot run, and threads that it does not have', async () => {
    vi.stubEnv('RFA_ISA', 'nonsense')
    await expect(prepareRun(bench({backend: 'cpu', threads: 2}))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    })
    await expect(prepareRun(bench({threads: 0}))).rejects.toMatchObject({code: 'BAD_OPTION'})
  })

  it('pins the input to what the files hold', async () => {
    const input = {kind: 'file', paths: ['nowhere.npz'], names: {query: 'q', key: 'k', value: 'v'}}
    const plan = sweep({input: input as never})
    await expect(prepareRun(plan)).rejects.toMatchObject({code: 'FILE_MISSING'})
    await expect(prepareDryRun(plan)).rejects.toMatchObject({code: 'FILE_MISSING'})
  })
})

describe('prepareDryRun', () => {
  it('makes the same jobs', async () => {
    const plan = sweep()
    expect((await prepareDryRun(plan)).jobs).toEqual((await prepareRun(plan)).jobs)
  })
})

describe('checkInput', () => {
  it('has nothing to read where nothing is', async () => {
    await expect(checkInput(sweep())).resolves.toBeUndefined()
    await expect(checkInput(bench())).resolves.toBeUndefined()
  })
})
