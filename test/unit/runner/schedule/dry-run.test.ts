import {describe, expect, it} from 'vitest'
import {plainSeconds} from '../../../../src/attention/internal.js'
import {meteredBackend} from '../../../../src/backends/index.js'
import type {ErrorSweepPlan} from '../../../../src/experiments/error-sweep/schema.js'
import {callShape, resolveMethod} from '../../../../src/experiments/method.js'
import {type Job, planRun} from '../../../../src/experiments/planned-run.js'
import {runtimeBytes} from '../../../../src/experiments/process-memory.js'
import {renderTerminal} from '../../../../src/report/terminal.js'
import type {Plan} from '../../../../src/results/record.js'
import {
  assertFits,
  type DryRun,
  describeRun,
  dryRunReport,
  leaderBytes,
} from '../../../../src/runner/schedule/dry-run.js'
import {PROCESS_SECONDS, schedule} from '../../../../src/runner/schedule/schedule.js'
import {bench, method, sweep} from '../../../helpers/plans.js'
import {BENCH_MANIFEST} from '../../../helpers/records/bench.js'
import {WIDE} from '../../../helpers/terminal.js'

/** What a dry run tells of a plan on so many processes. */
async function described(plan: Plan, processes = 1) {
  return describeRun(await planRun(plan), {
    processes,
    fresh: false,
    open: 0,
    trials: 0,
    threadShare: 1,
  })
}

/** Whether a plan is let in; the error if not. */
async function refusal(plan: Plan, processes = 1, memory?: {free: number; total: number}) {
  const run = await planRun(plan)
  try {
    assertFits(run, {processes, fresh: false, open: 0}, memory && {memory: () => memory})
    return undefined
  } catch (error) {
    return error
  }
}

describe('describeRun', () => {
  it('names all cells and predicts time and memory', async () => {
    const run = await planRun(bench())
    const description = describeRun(run, schedule(run))
    expect(description.cells).toBe(6)
    expect(description.cell_labels[0]).toBe('softmax L=32')
    expect(description.predicted_seconds).toBeGreaterThan(0)
    // q, k, v and out of the longest cell, at least
    expect(description.predicted_peak_bytes).toBeGreaterThanOrEqual(4 * 128 * 8 * 4)
  })

  it('divides the work among the threads of all processes', async () => {
    const run = await planRun(sweep({methods: [method('elu')], scales: [1]}))
    const seconds = (threads: number) =>
      describeRun(run, schedule(run, threads)).predicted_seconds - PROCESS_SECONDS
    expect(run.jobs).toHaveLength(1)
    // sums of two numbers below one, rounded once each
    expect(Math.abs(seconds(4) - seconds(1) / 4)).toBeLessThanOrEqual(2 ** -52)
  })

  it('predicts the memory of as many cells as there are, however many threads', async () => {
    const plan = sweep({methods: [method('softmax')], scales: [1]})
    const [one, many] = [await described(plan, 1), await described(plan, 64)]
    expect(many.predicted_peak_bytes).toBe(one.predicted_peak_bytes)
  })

  it('counts the program itself, which grows with the number of cells', async () => {
    const run = await planRun(sweep({methods: [method('elu')], scales: [1]}))
    const [job] = [...run.jobs]
    const {predicted_peak_bytes: peakBytes} = describeRun(run, schedule(run, 1))
    expect(peakBytes).toBe(leaderBytes(1) + job!.predictedBytes)
    // measured peaks, none of which is predicted too low, nor 1.2 times too high
    const measured = {200: 129.4e6, 2000: 299.6e6, 20000: 449e6}
    for (const [cells, bytes] of Object.entries(measured)) {
      expect(leaderBytes(Number(cells)) / bytes, cells).toBeGreaterThanOrEqual(1)
      expect(leaderBytes(Number(cells)) / bytes, cells).toBeLessThan(1.2)
    }
  })

  it('counts every benchmark that waits for its turn, and what their process has once for all', async () => {
    const run = await planRun(bench())
    const [a, b] = run.jobs.toSorted((x, y) => y.predictedBytes - x.predictedBytes)
    const common = a!.commonBytes!
    expect(common).toBe(runtimeBytes('cpu'))
    const atOnce = {processes: 1, fresh: true, open: 2, trials: 1, threadShare: undefined}
    const bytes = (jobs: readonly Job[]) =>
      describeRun({...run, jobs}, atOnce).predicted_peak_bytes - leaderBytes(jobs.length)
    expect(bytes(run.jobs)).toBe(a!.predictedBytes + b!.predictedBytes - common)
    // other threads, another process
    const other = {...b!, cell: {...b!.cell, threads: 7}}
    expect(bytes([a!, other])).toBe(a!.predictedBytes + b!.predictedBytes)
  })

  it('counts a process of its own for each plug-in, and those of every thread', async () => {
    const run = await planRun(sweep({methods: [method('elu')], scales: [1]}))
    const [elu] = run.jobs
    const of = (plugins: string[], processes = 1, fresh = false) => {
      const own = plugins.map(plugin => ({...elu!, cell: {...elu!.cell, plugin}}))
      const jobs = [elu!, ...own]
      const how = {processes, fresh, open: 1, trials: 1, threadShare: 1}
      return describeRun({...run, jobs}, how).predicted_peak_bytes - leaderBytes(jobs.length)
    }
    const each = elu!.predictedBytes
    expect(of(['a'])).toBe(2 * each)
    expect(of(['a', 'b'])).toBe(3 * each)
    expect(of(['a', 'a', 'b', 'b'], 2)).toBe(5 * each) // there is one cell without
    expect(of(['a', 'b'], 1, true)).toBe(each) // a new process for each cell, one after the other
  })

  /** Of processes that compute. */
  const bytesOf = async (changes: Partial<ErrorSweepPlan>) => {
    const plan = sweep({methods: [method('favor-pos')], ...changes})
    const {predicted_peak_bytes: peakBytes, cells} = await described(plan)
    return peakBytes - leaderBytes(cells)
  }

  it('counts what row metrics, causal composites and every kept context take', async () => {
    const plain = await bytesOf({seq_lens: [512]})
    // exact weights in double precision, implied ones and their identity in single
    const weights = 3 * 512 * 512 * (8 + 4 + 4)
    expect(await bytesOf({seq_lens: [512], row_metrics: true})).toBeGreaterThan(plain + weights)
    // exact weights of 66 queries in double precision, estimated ones in single
    const sampled = 66 * 512 * (8 + 4)
    expect(await bytesOf({seq_lens: [512], row_queries: 64})).toBeGreaterThan(plain + sampled)
    // features of both sides for each of the six ways in which halves of a chunk are paired
    const features = 3 * 512 * 13 * 4
    expect(await bytesOf({seq_lens: [512], causal: true})).toBeGreaterThan(plain + 6 * features)
    // the input scaled: queries, keys, values, both of the former again, outputs in double precision
    const context = 3 * 512 * (4 * (4 * 7 + 5) + 8 * 5)
    const scaled = await bytesOf({seq_lens: [512], scales: [2]})
    expect(await bytesOf({seq_lens: [512], scales: [2, 3, 4, 5]})).toMatchReference(
      scaled + 2 * context,
      9,
    )
  })

  it('knows that fused kernels hold less than what they are made of', async () => {
    const causal = {causal: true, seq_lens: [1024], num_features: [256]}
    const native = await bytesOf({...causal, backend: 'native'})
    expect(await bytesOf({...causal, backend: 'wasm'})).toBeGreaterThan(
      native + 3 * 1024 * 256 * 4 * 20,
    )
  })

  it('predicts the time of the exact output, which cells have in common', async () => {
    const plan = sweep({
      methods: [method('mean-value')],
      seq_lens: [2048],
      scales: [1],
      backend: 'native',
    })
    const {jobs} = await planRun(plan)
    const exact = 2 * 3 * 2048 * 2048 * (7 + 5) // multiply-adds count two
    expect(jobs[0]!.shared![0]!.cost).toBeGreaterThan(exact)
    // a loop in JavaScript does some 1.6e9 of them a second, the kernels that costs are counted for 4e9
    const [plain] = (await planRun({...plan, backend: 'wasm'} as Plan)).jobs
    expect(plain!.shared![0]!.cost / 4e9).toBeGreaterThan(exact / 1.6e9)
    const both = await planRun({...plan, methods: [method('mean-value'), method('elu')]} as Plan)
    const [first, second] = both.jobs
    expect(first).toEqual(jobs[0])
    expect(second!.shared).toEqual(first!.shared)
  })

  it('has in it what native leaves to plain JavaScript, for every replicate', async () => {
    const plan = (name: 'reformer' | 'elu', replicates: number) =>
      sweep({methods: [method(name)], seq_lens: [512], replicates, backend: 'native'})
    const serial = async (...of: Parameters<typeof plan>) =>
      (await planRun(plan(...of))).jobs[0]!.predictedCost / 6e10
    const once = await serial('reformer', 1)
    const {estimator, options} = await resolveMethod(method('reformer'))
    const sizes = {batch: 1, heads: 3, queryLen: 512, keyLen: 512, headDim: 7, valueDim: 5 + 1}
    const call = callShape(sizes, {num_features: 11, causal: false})
    const plain = plainSeconds(estimator, options, call, 'native')
    expect(once).toBeGreaterThan(plain)
    expect(await serial('reformer', 6)).toMatchReference(6 * once, 9)
    expect(await serial('elu', 1)).toBeLessThan(plain)
  })

  it('counts the exact output once for each process that needs it', async () => {
    const names = ['elu', 'mean-value', 'squared-relu', 'dpfp']
    const plan = sweep({methods: names.map(name => method(name)), seq_lens: [4096], scales: [1]})
    const run = await planRun({...plan, backend: 'native'} as Plan)
    const seconds = (processes: number) =>
      describeRun(run, {processes, fresh: false, open: 0, trials: 0, threadShare: 1})
        .predicted_seconds - PROCESS_SECONDS
    const [context] = run.jobs[0]!.shared!
    expect(run.jobs.map(({shared}) => shared)).toEqual(new Array(4).fill([context]))
    const exact = context!.cost / 6e10
    expect(seconds(1)).toBeGreaterThan(exact)
    // more processes share the rest, but each computes what it compares with
    expect(seconds(4)).toBeGreaterThan(exact)
    expect(seconds(4)).toMatchReference(exact + (seconds(1) - exact) / 4, 9)
  })

  it('counts what theory predicts once for each process, of the methods and rows that it covers', async () => {
    const names = ['favor-pos', 'favor-trig', 'favor-relu'] as const
    const axes = {
      projections: ['iid', 'orth-sqrt-d', 'orth'],
      num_features: [16, 32],
      seq_lens: [64],
    }
    const unasked = {
      ...sweep({methods: names.map(name => method(name)), scales: [1]}),
      ...axes,
    } as Plan
    const curvesOf = async (plan: Plan) => (await planRun(plan)).jobs.map(({shared}) => shared![1])
    expect(new Set(await curvesOf(unasked))).toEqual(new Set([undefined]))
    const curves = await curvesOf({...unasked, predictions: true} as Plan)
    const others = curves.slice(12)
    expect(others).toEqual(others.map(() => undefined))
    expect(others.length).toBeGreaterThan(0)
    for (const first of [0, 6]) {
      const own = curves.slice(first, first + 6)
      const [iid, orth] = [own[0]!, own[4]!]
      expect(own).toEqual([iid, iid, undefined, undefined, orth, orth])
      // rows of each kind are drawn by themselves
      expect(orth).toEqual({id: expect.not.stringContaining(iid.id), cost: iid.cost})
      expect(iid.cost).toBeGreaterThan(0)
    }
  })

  it('predicts no other time for auto than for the backend that it takes', async () => {
    const seconds = async (backend: string) => {
      const run = await planRun({...sweep({scales: [1]}), backend} as Plan)
      return describeRun(run, {processes: 1, fresh: false, open: 0, trials: 0, threadShare: 1})
        .predicted_seconds
    }
    expect(await seconds('auto')).toMatchReference(await seconds(await meteredBackend('auto')), 9)
  })
})

describe('a dry run of a large plan', () => {
  const axis = (length: number) => Array.from({length}, (_, at) => at + 1)
  const large = sweep({
    methods: [method('favor-pos')],
    projections: ['iid'],
    num_features: axis(300),
    scales: axis(500),
  })

  it('adds up all cells, but names the first only', async () => {
    const run = await described(large)
    expect([run.cells, run.cell_labels.length]).toEqual([150_000, 10_000])
    const text = renderTerminal(dryRunReport(run), WIDE)
    expect(text).toContain('and 149960 more; --json lists the first 10000')
    expect(text).toContain('More than 100000 cells are run with --force only.')
  })

  it('predicts what it would of each cell', async () => {
    const one = sweep({...large, num_features: [299, 300], scales: [500]})
    const last = (await planRun(large)).jobs.at(-1)
    const [, alone] = (await planRun(one)).jobs
    expect(last!.label).toBe(alone!.label)
    expect(last!.predictedCost).toBe(alone!.predictedCost)
  })
})

describe('assertFits', () => {
  const huge = bench({seq_lens: [10_000_000], methods: [method('softmax')]})
  const machine = (free: number, total = 2 ** 34) => ({free, total})

  it('refuses a plan beyond the memory of any machine, naming the cell and the remedies', async () => {
    expect(await refusal(huge)).toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('"softmax L=10000000"'),
      suggestions: expect.arrayContaining([expect.stringContaining('`force`')]),
    })
  })

  it('begins with what makes the largest cell large', async () => {
    const sizes = 'lower `seqLen`, `batch` or `heads`'
    const force = 'run it all the same with `force`'
    const tight = machine(2 ** 20)
    const many = bench({methods: [method('favor-pos')], num_features: [1e9], seq_lens: [64]})
    expect(await refusal(many)).toMatchObject({suggestions: ['lower `numFeatures`', sizes, force]})
    expect(await refusal(huge)).toMatchObject({
      suggestions: [sizes, expect.stringContaining('softmax-online'), force],
    })
    const online = bench({methods: [method('softmax-online')], seq_lens: [10_000_000]})
    expect(await refusal(online, 1, tight)).toMatchObject({suggestions: [sizes, force]})
  })

  it('says that fewer threads need less', async () => {
    const plan = {...huge, seq_lens: [10_000_000, 20_000_000]}
    expect(await refusal(plan, 7)).toMatchObject({
      message: expect.stringContaining('(2 processes at once)'),
      suggestions: expect.arrayContaining(['lower `threads`: each has a cell in memory']),
    })
  })

  it('lets a plan in that fits into what is free, and no other, by the figure of a dry run', async () => {
    const plan = sweep({seq_lens: [64]})
    const {predicted_peak_bytes: peakBytes} = await described(plan, 2)
    const needed = peakBytes - leaderBytes(0) // which this process has already
    expect(await refusal(plan, 2, machine(needed))).toBeUndefined()
    expect(await refusal(plan, 2, machine(needed - 1))).toMatchObject({code: 'TOO_LARGE'})
  })

  it('counts as free what the process holds that made the plan', async () => {
    const plan = sweep({seq_lens: [64]})
    const run = await planRun(plan)
    const needed = (await described(plan)).predicted_peak_bytes - leaderBytes(0)
    const fits = (heldBytes: number) => () =>
      assertFits(
        run,
        {processes: 1, fresh: false, open: 0},
        {memory: () => machine(needed - 1000), heldBytes},
      )
    expect(fits(999)).toThrow('expected to fit into memory')
    expect(fits(1000)).not.toThrow()
  })

  it('says what is needed, what is free and what there is', async () => {
    const plan = bench({seq_lens: [100_000], methods: [method('softmax')]})
    expect(await refusal(plan, 1, machine(2 ** 29))).toMatchObject({
      message: expect.stringMatching(
        /^plan: expected to fit into memory, got one that needs about \d+ GiB, 0\.500 GiB free \(16\.0 GiB in all\); most for "softmax L=100000"$/,
      ),
    })
  })

  it('refuses row metrics at 768 tokens in a container of 260 MB that holds this process too', async () => {
    const plan = sweep({methods: [method('favor-pos')], seq_lens: [768], row_metrics: true})
    const here = machine(260e6 - 130e6, 260e6)
    expect(await refusal(plan, 1, here)).toMatchObject({code: 'TOO_LARGE'})
  })
})

describe('dryRunReport', () => {
  const dryRun: Omit<DryRun, 'predicted_seconds'> = {
    schema: 'rfa.dry-run/1',
    plan: BENCH_MANIFEST.plan,
    cells: 1,
    kept_cells: 0,
    predicted_peak_bytes: 2 ** 21,
    cell_labels: ['elu L=7'],
  }

  it('reports cells, time and memory', () => {
    expect(renderTerminal(dryRunReport({...dryRun, predicted_seconds: 90}), WIDE)).toBe(
      'bench: 1 cell, predicted time 90.0 s, predicted peak memory 2.00 MiB\n\n- elu L=7',
    )
  })

  it('says how many cells of a run to continue are missing', () => {
    const resumed = {...dryRun, kept_cells: 4, predicted_seconds: 90}
    expect(renderTerminal(dryRunReport(resumed), WIDE)).toMatch(
      /^bench: 1 of 5 cells missing, predicted time/,
    )
  })

  it('lists forty cells and counts the others', () => {
    const cell_labels = Array.from({length: 43}, (_, at) => `cell ${at}`)
    const blocks = dryRunReport({...dryRun, cells: 43, cell_labels, predicted_seconds: 1})
    const text = renderTerminal(blocks, WIDE)
    expect(text.match(/^- cell/gm)).toHaveLength(40)
    expect(text).toContain('and 3 more; --json lists all')
  })
})
