import {describe, expect, it} from 'vitest'
import type {MethodSpec} from '../../../src/experiments/axes.js'
import errorSweep from '../../../src/experiments/error-sweep/index.js'
import {planKeys, planRun} from '../../../src/experiments/planned-run.js'
import type {Plan} from '../../../src/results/record.js'
import {bench, method, sweep} from '../../helpers/plans.js'
import {VARIANCE_PLAN} from '../../helpers/records/variance.js'

const jobsOf = async (plan: Plan) => (await planRun(plan)).jobs

describe('planRun of an error sweep', () => {
  it('crosses only the axes that a method has', async () => {
    const jobs = await jobsOf(sweep())
    const of = (name: string) =>
      jobs.filter(({cell}) => 'method' in cell && cell.method === name).length
    expect(of('favor-pos')).toBe(2 * 2 * 2) // projections x features x scales
    expect(of('mean-value')).toBe(2) // scales
    expect(of('rfa')).toBe(2 * 2 * 2 * 2) // and both targets
  })

  it('runs a method without random vectors once, whatever the replicates', async () => {
    const [job] = await jobsOf(sweep({methods: [method('elu')]}))
    expect(job!.cell).toMatchObject({replicates: 1, projection: null, num_features: null})
  })

  it('crosses the numbers of features only where a method uses them', async () => {
    const counts = async (causal: boolean, options: MethodSpec['options'] = {}) => {
      const jobs = await jobsOf(sweep({methods: [method('eva', options)], scales: [1], causal}))
      return jobs.map(({cell}) => ('num_features' in cell ? cell.num_features : undefined))
    }
    expect(await counts(false)).toEqual([11, 13])
    // causal chunks have a size, not a number: how many there will be is not known
    expect(await counts(true)).toEqual([null])
    expect(await counts(false, {chunkSize: 4})).toEqual([null])
  })

  it('takes no projection for options that do not use one', async () => {
    const methods = [method('favor-relu', {features: 'deterministic'})]
    const jobs = await jobsOf(sweep({methods, scales: [1]}))
    expect(jobs.map(({cell}) => cell)).toEqual([
      expect.objectContaining({projection: null, target: 'raw'}),
    ])
  })

  it('generates an input of each head dimension, which a plan of one does not mention', async () => {
    const one = sweep({methods: [method('elu')], scales: [1]})
    const jobs = await jobsOf({...one, head_dims: [7, 9]} as Plan)
    expect(jobs.map(({cell}) => cell)).toMatchObject([
      {input: {head_dim: 7, value_dim: 7}},
      {input: {head_dim: 9, value_dim: 9}},
    ])
    expect(jobs.map(({label}) => label)).toEqual(['elu D=7 L=17 raw', 'elu D=9 L=17 raw'])
    const input = {...one.input, value_dim: 7} as typeof one.input
    const [alone] = await jobsOf({...one, input})
    expect(jobs[0]!.key).toBe(alone!.key)
    const names = {query: 'q', key: 'k', value: 'v'}
    const file: typeof one.input = {kind: 'file', paths: ['a.npz'], names}
    await expect(jobsOf({...one, input: file, head_dims: [7]} as Plan)).rejects.toThrow(
      '`head_dims` of a plan: expected a generated input, got a file',
    )
  })

  it('gives every cell a key of its own, the same each time', async () => {
    const [first, second] = await Promise.all([jobsOf(sweep()), jobsOf(sweep())])
    expect(first).toHaveLength((await errorSweep.grid(sweep())).count)
    expect(second.map(job => job.key)).toEqual(first.map(job => job.key))
  })
})

describe('planRun of a benchmark', () => {
  it('shuffles by the seed and keeps every cell', async () => {
    const listed = await jobsOf(bench())
    const shuffled = await jobsOf(bench({order: 'random', seed: 1}))
    const again = await jobsOf(bench({order: 'random', seed: 1}))
    const labels = (jobs: typeof listed) => jobs.map(job => job.label)
    expect(labels(shuffled)).toEqual(labels(again))
    expect(labels(shuffled)).not.toEqual(labels(listed))
    expect(labels(shuffled).sort()).toEqual(labels(listed).sort())
  })
})

describe('the cells of a plan', () => {
  const twice = {
    methods: [method('favor-pos'), method('rfa'), method('favor-pos')],
    num_features: [11, 13, 11],
  }
  it.each<Plan>([
    sweep(),
    sweep({seq_lens: [17, 19, 17], ...twice}),
    bench(),
    bench({order: 'random', seq_lens: [32, 64, 32], ...twice}),
    {...VARIANCE_PLAN, ...twice} as Plan,
  ])('are counted before they are made: $experiment $#', async plan => {
    const {experiment, jobs} = await planRun(plan)
    const grid = await experiment.grid(plan)
    expect(grid.count).toBe(jobs.length)
    expect(new Set(jobs.map(({key}) => key)).size).toBe(jobs.length)
    expect(grid.cells()).toEqual(jobs.map(({cell}) => cell))
  })
})

describe('a plan of a billion cells', () => {
  const axis = Array.from({length: 1e4}, (_, i) => i + 1)
  const tooLarge = {
    code: 'TOO_LARGE',
    message: expect.stringMatching(
      /^plan: expected at most 1000000 cells, got \d+ \(longest lists: /,
    ),
    suggestions: expect.arrayContaining(['split it into several plans, and run each']),
  }

  it.each<Plan>([
    sweep({seq_lens: axis, scales: axis, num_features: axis}),
    bench({seq_lens: axis, num_features: axis, methods: [method('favor-pos')]}),
    {...VARIANCE_PLAN, norms: axis, angles_deg: axis, num_features: axis} as Plan,
  ])('is refused before any is made: $experiment', async plan => {
    await expect(planRun(plan)).rejects.toMatchObject(tooLarge)
    await expect(planKeys(plan)).rejects.toMatchObject(tooLarge)
  })
})

describe('planKeys', () => {
  it.each([sweep(), sweep({seq_lens: [17, 19]}), bench()])(
    'are those of the jobs of a plan, in its order: $experiment',
    async plan => {
      expect(await planKeys(plan)).toEqual((await jobsOf(plan)).map(({key}) => key))
    },
  )

  it('names a cell once that a plan has twice', async () => {
    const plan = bench({seq_lens: [32, 64, 32]})
    expect(await planKeys(plan)).toEqual(await planKeys(bench({seq_lens: [32, 64]})))
  })

  it('needs no input', async () => {
    const names = {query: 'q', key: 'k', value: 'v'}
    const plan = sweep({input: {kind: 'file', paths: ['gone.npz'], names}, seq_lens: null})
    await expect(planRun(plan)).rejects.toMatchObject({code: 'FILE_MISSING'})
    expect(await planKeys(plan)).toHaveLength(2 * (4 + 1 + 2 * 4)) // scales x (favor-pos, mean-value, rfa)
  })
})

describe('planRun', () => {
  it('runs equal cells once', async () => {
    expect(await jobsOf(bench({seq_lens: [32, 64, 32]}))).toHaveLength(4)
  })

  it('refuses an experiment that it does not know', async () => {
    const plan = {...bench(), experiment: 'benchmark'}
    await expect(planRun(plan)).rejects.toMatchObject({code: 'UNKNOWN_NAME'})
  })
})
