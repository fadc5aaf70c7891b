import {describe, expect, it} from 'vitest'
import {
  assertFits,
  describePlan,
  planJobs,
  planKeys,
  runCell,
} from '../../../src/experiments/index.js'
import type {BenchPlan, ErrorSweepPlan, MethodSpec} from '../../../src/results/schemas/index.js'

const method = (name: string, options: MethodSpec['options'] = {}): MethodSpec => ({
  method: name,
  preset: 'exact',
  options,
})

const sweep = (changes: Partial<ErrorSweepPlan> = {}): ErrorSweepPlan => ({
  experiment: 'error-sweep',
  input: {
    kind: 'generator',
    name: 'gaussian',
    batch: 1,
    heads: 3,
    head_dim: 7,
    value_dim: 5,
    key_len: null,
  },
  methods: [method('favor-pos'), method('mean-value'), method('rfa')],
  projections: ['iid', 'orth'],
  orth_sign: 'haar',
  num_features: [11, 13],
  seq_lens: [17],
  scales: [1, 2],
  targets: ['raw', 'matched'],
  replicates: 3,
  causal: false,
  row_metrics: false,
  seed: 0,
  backend: 'cpu',
  ...changes,
})

const bench = (changes: Partial<BenchPlan> = {}): BenchPlan => ({
  experiment: 'bench',
  methods: [method('softmax'), method('elu')],
  projections: ['orth'],
  orth_sign: 'haar',
  redraw: 'fixed',
  num_features: [16],
  seq_lens: [32, 64, 128],
  batch: 1,
  heads: 1,
  head_dim: 8,
  value_dim: 8,
  causal: false,
  timing: {warmup_runs: 1, min_runs: 2, max_runs: 2, min_time_ns: 0},
  order: 'listed',
  seed: 0,
  backend: 'cpu',
  threads: null,
  ...changes,
})

describe('planJobs of an error sweep', () => {
  it('crosses only the axes that a method has', async () => {
    const jobs = await planJobs(sweep())
    const of = (name: string) =>
      jobs.filter(({cell}) => 'method' in cell && cell.method === name).length
    expect(of('favor-pos')).toBe(2 * 2 * 2) // projections x features x scales
    expect(of('mean-value')).toBe(2) // scales
    expect(of('rfa')).toBe(2 * 2 * 2 * 2) // and both targets
  })

  it('runs a method without random vectors once, whatever the replicates', async () => {
    const [job] = await planJobs(sweep({methods: [method('elu')]}))
    expect(job!.cell).toMatchObject({replicates: 1, projection: null, num_features: null})
  })

  it('crosses the numbers of features only where a method uses them', async () => {
    const counts = async (causal: boolean, options: MethodSpec['options'] = {}) => {
      const jobs = await planJobs(sweep({methods: [method('eva', options)], scales: [1], causal}))
      return jobs.map(({cell}) => ('num_features' in cell ? cell.num_features : undefined))
    }
    expect(await counts(false)).toEqual([11, 13])
    // causal chunks have a size, not a number: how many there will be is not known
    expect(await counts(true)).toEqual([null])
    expect(await counts(false, {chunkSize: 4})).toEqual([null])
  })

  it('takes no projection for options that do not use one', async () => {
    const methods = [method('favor-relu', {features: 'deterministic'})]
    const jobs = await planJobs(sweep({methods, scales: [1]}))
    expect(jobs.map(({cell}) => cell)).toEqual([
      expect.objectContaining({projection: null, target: 'raw'}),
    ])
  })

  it('gives every cell a key of its own, the same each time', async () => {
    const [first, second] = await Promise.all([planJobs(sweep()), planJobs(sweep())])
    expect(new Set(first.map(job => job.key)).size).toBe(first.length)
    expect(second.map(job => job.key)).toEqual(first.map(job => job.key))
  })
})

describe('planJobs of a benchmark', () => {
  it('shuffles by the seed and keeps every cell', async () => {
    const listed = await planJobs(bench())
    const shuffled = await planJobs(bench({order: 'random', seed: 1}))
    const again = await planJobs(bench({order: 'random', seed: 1}))
    const labels = (jobs: typeof listed) => jobs.map(job => job.label)
    expect(labels(shuffled)).toEqual(labels(again))
    expect(labels(shuffled)).not.toEqual(labels(listed))
    expect(labels(shuffled).sort()).toEqual(labels(listed).sort())
  })
})

describe('planKeys', () => {
  it('does not walk a grid that nobody could run', async () => {
    const axis = Array.from({length: 1e4}, (_, i) => i + 1)
    const plan = {...sweep(), seq_lens: axis, scales: axis, num_features: axis}
    await expect(planKeys(plan)).rejects.toMatchObject({code: 'TOO_LARGE'})
  })

  it.each([sweep(), sweep({seq_lens: [17, 19]}), bench()])(
    'are those of the jobs of a plan, in its order: $experiment',
    async plan => {
      expect(await planKeys(plan)).toEqual((await planJobs(plan)).map(({key}) => key))
    },
  )

  it('names a cell once that a plan has twice', async () => {
    const plan = bench({seq_lens: [32, 64, 32]})
    expect(await planKeys(plan)).toEqual(await planKeys(bench({seq_lens: [32, 64]})))
  })

  it('needs no input', async () => {
    const names = {query: 'q', key: 'k', value: 'v'}
    const plan = sweep({input: {kind: 'file', paths: ['gone.npz'], names}, seq_lens: null})
    await expect(planJobs(plan)).rejects.toMatchObject({code: 'FILE_MISSING'})
    expect(await planKeys(plan)).toHaveLength(2 * (4 + 1 + 2 * 4)) // scales x (favor-pos, mean-value, rfa)
  })
})

describe('describePlan and assertFits', () => {
  it('names all cells and predicts time and memory', async () => {
    const description = await describePlan(bench())
    expect(description.cells).toBe(6)
    expect(description.cellLabels[0]).toBe('softmax L=32')
    expect(description.predictedSeconds).toBeGreaterThan(0)
    // q, k, v and out of the longest cell, at least
    expect(description.peakBytes).toBeGreaterThanOrEqual(4 * 128 * 8 * 4)
  })

  it('refuses a plan beyond the memory of any machine, naming the cell and the remedies', async () => {
    const plan = bench({seq_lens: [10_000_000], methods: [method('softmax')]})
    await expect(assertFits(plan, {force: false})).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('"softmax L=10000000"'),
      suggestions: expect.arrayContaining([expect.stringContaining('--force')]),
    })
  })

  it('says that fewer threads need less', async () => {
    const plan = bench({seq_lens: [10_000_000, 20_000_000], methods: [method('softmax')]})
    await expect(assertFits(plan, {force: false, concurrency: 7})).rejects.toMatchObject({
      message: expect.stringContaining('(2 processes at once)'),
      suggestions: expect.arrayContaining(['lower --threads: each has a cell in memory']),
    })
  })

  const machine = (free: number, total = 2 ** 34) => ({memory: () => ({free, total})})

  it('lets a plan in that fits into what is free, and no other, by the figure of a dry run', async () => {
    const plan = sweep({seq_lens: [64]})
    const {peakBytes} = await describePlan(plan, 2)
    const fits = (free: number) =>
      assertFits(plan, {force: false, concurrency: 2, ...machine(free)})
    await expect(fits(peakBytes)).resolves.toBeUndefined()
    await expect(fits(peakBytes - 1)).rejects.toMatchObject({code: 'TOO_LARGE'})
    await expect(assertFits(plan, {force: true, ...machine(1)})).resolves.toBeUndefined()
  })

  it('says what is needed, what is free and what there is', async () => {
    const plan = bench({seq_lens: [100_000], methods: [method('softmax')]})
    await expect(assertFits(plan, {force: false, ...machine(2 ** 29)})).rejects.toMatchObject({
      message: expect.stringMatching(
        /^plan: expected to fit into memory, got one that needs about \d+ GiB, 0\.500 GiB free \(16\.0 GiB in all\); most for "softmax L=100000"$/,
      ),
    })
  })

  it('refuses row metrics at 768 tokens in a container of 260 MB that holds this process too', async () => {
    const plan = sweep({methods: [method('favor-pos')], seq_lens: [768], row_metrics: true})
    const here = machine(260e6 - 130e6, 260e6)
    await expect(assertFits(plan, {force: false, ...here})).rejects.toMatchObject({
      code: 'TOO_LARGE',
    })
  })

  const bytesOf = async (changes: Partial<ErrorSweepPlan>) =>
    (await describePlan(sweep({methods: [method('favor-pos')], ...changes}))).peakBytes

  it('counts what row metrics, causal composites and every kept context take', async () => {
    const plain = await bytesOf({seq_lens: [512]})
    // exact weights in double precision, implied ones and their identity in single
    const weights = 3 * 512 * 512 * (8 + 4 + 4)
    expect(await bytesOf({seq_lens: [512], row_metrics: true})).toBeGreaterThan(plain + weights)
    // features of both sides for each of the six ways in which halves of a chunk are paired
    const features = 3 * 512 * 13 * 4
    expect(await bytesOf({seq_lens: [512], causal: true})).toBeGreaterThan(plain + 6 * features)
    // the input scaled: queries, keys, values, both of the former again, outputs in double precision
    const context = 3 * 512 * (4 * (4 * 7 + 5) + 2 * 8 * 5)
    const scaled = await bytesOf({seq_lens: [512], scales: [2]})
    expect(await bytesOf({seq_lens: [512], scales: [2, 3, 4, 5]})).toBeCloseTo(scaled + 2 * context)
  })

  it('knows that fused kernels hold less than what they are made of', async () => {
    const causal = {causal: true, seq_lens: [1024], num_features: [256]}
    const native = await bytesOf({...causal, backend: 'native'})
    expect(await bytesOf({...causal, backend: 'wasm'})).toBeGreaterThan(
      native + 3 * 1024 * 256 * 4 * 20,
    )
  })

  it('predicts the time of the exact output, once for the cells that share it', async () => {
    const plan = sweep({
      methods: [method('mean-value')],
      seq_lens: [2048],
      scales: [1],
      backend: 'native',
    })
    const [alone] = await planJobs(plan)
    const exact = 2 * 3 * 2048 * 2048 * (7 + 5) // multiply-adds count two
    // a loop in JavaScript does some 1.6e9 of them a second, the kernels that costs are counted for 3e10
    expect(alone!.predictedCost / 3e10).toBeGreaterThan(exact / 1.6e9)
    const [first, second] = await planJobs({
      ...plan,
      methods: [method('mean-value'), method('elu')],
    })
    expect(first!.predictedCost).toBe(alone!.predictedCost)
    expect(second!.predictedCost).toBeLessThan(first!.predictedCost / 2)
  })

  it('predicts the memory of as many cells as there are, however many threads', async () => {
    const plan = bench({seq_lens: [128], methods: [method('softmax')]})
    const [one, many] = [await describePlan(plan, 1), await describePlan(plan, 64)]
    expect(many.peakBytes).toBe(one.peakBytes)
  })

  it('lets it pass when forced', async () => {
    const plan = bench({seq_lens: [10_000_000], methods: [method('softmax')]})
    await expect(assertFits(plan, {force: true})).resolves.toBeUndefined()
  })
})

describe('runCell', () => {
  it('refuses a schema that it does not know', async () => {
    const [job] = await planJobs(bench())
    await expect(runCell('rfa.bench/99', job!.cell)).rejects.toMatchObject({code: 'UNKNOWN_SCHEMA'})
  })
})
