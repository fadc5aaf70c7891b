import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../src/attention/estimators/index.js'
import {PROJECTION_NAMES} from '../../../src/attention/projections/index.js'
import {type ApplyFlags, toApplyRequest} from '../../../src/cli/plans/apply.js'
import {BENCH, type BenchFlags, toBenchPlan} from '../../../src/cli/plans/bench.js'
import {
  ERROR_SWEEP,
  type ErrorSweepFlags,
  toErrorSweepPlan,
} from '../../../src/cli/plans/error-sweep.js'
import type {EstimatorFacts} from '../../../src/cli/plans/method-specs.js'
import {checkedPlan} from '../../../src/cli/plans/values.js'
import {toVariancePlan, VARIANCE, type VarianceFlags} from '../../../src/cli/plans/variance.js'
import {benchPlan} from '../../../src/experiments/bench/schema.js'
import {BENCH_FLAGS, ERROR_SWEEP_FLAGS, VARIANCE_FLAGS} from '../../helpers/flags.js'

let estimators: EstimatorFacts = {}
beforeAll(async () => {
  estimators = await loadEstimators()
})

/** Plans of flags beside those that nobody typed. */
const plan = (flags: Partial<BenchFlags> = {}) =>
  toBenchPlan({...BENCH_FLAGS, ...flags}, estimators)
const variance = (flags: Partial<VarianceFlags> = {}) =>
  toVariancePlan({...VARIANCE_FLAGS, ...flags}, estimators)
const sweep = (flags: Partial<ErrorSweepFlags> = {}) =>
  toErrorSweepPlan({...ERROR_SWEEP_FLAGS, ...flags}, estimators)

describe('toErrorSweepPlan', () => {
  it('runs the standard grid on the length of the packaged file', () => {
    const plan = sweep()
    expect(plan).toMatchObject({
      seq_lens: null,
      num_features: ERROR_SWEEP.standard.numFeatures,
      replicates: ERROR_SWEEP.standard.replicates,
      targets: ['raw', 'matched'],
      seed: 0,
      backend: 'auto',
    })
    expect(plan.methods.map(({method}) => method)).toEqual(ERROR_SWEEP.standard.methods)
  })

  it('lets typed flags win over the quick grid', () => {
    const flags = {quick: true, 'num-features': [[7, 13], [7]], replicates: 5}
    expect(sweep(flags)).toMatchObject({
      num_features: [7, 13],
      replicates: 5,
      projections: ERROR_SWEEP.quick.projections,
    })
  })

  it('gives a generated input a length', () => {
    expect(sweep({generator: 'gaussian'}).seq_lens).toEqual([512])
    expect(sweep({generator: 'gaussian', 'seq-len': [[31, 63]]}).seq_lens).toEqual([31, 63])
  })

  it('makes the same plan of the same flags', () => {
    const make = () => JSON.stringify(sweep())
    expect(make()).toBe(make())
  })
})

describe('toBenchPlan', () => {
  it('puts both exact forms before the methods, each once', () => {
    const {methods} = plan({methods: ['favor-pos', 'softmax']})
    expect(methods.map(({method}) => method)).toEqual(['softmax-online', 'favor-pos', 'softmax'])
  })

  it('leaves the exact forms out on request', () => {
    expect(plan({exact: false, methods: ['elu']}).methods).toHaveLength(1)
  })

  it('counts time in nanoseconds and values as wide as keys', () => {
    expect(plan({'min-time': 0.25, 'head-dim': 17})).toMatchObject({
      timing: {min_time_ns: 250_000_000, warmup_runs: BENCH.standard.warmupRuns},
      value_dim: 17,
    })
  })

  it('lowers the least number of runs to a smaller --max-runs, and lifts the most to --min-runs', () => {
    const timing = (flags: Partial<BenchFlags>) => plan(flags).timing
    expect(timing({'max-runs': 3})).toMatchObject({min_runs: 3, max_runs: 3})
    expect(timing({'min-runs': 501})).toMatchObject({min_runs: 501, max_runs: 501})
  })

  it('takes five fresh processes for each cell, three where it is quick, or as many as were typed', () => {
    const processes = (flags: Partial<BenchFlags>) => plan(flags).timing.processes
    expect(processes({})).toBe(5)
    expect(processes({quick: true})).toBe(3)
    expect(processes({quick: true, processes: 1})).toBe(1)
  })

  it('has a mode where it is not forward passes, with one exact form and fewer runs to warm up', () => {
    expect(plan({mode: 'forward'})).toEqual(plan({}))
    expect(plan({})).not.toHaveProperty('mode')
    const decode = plan({mode: 'decode', methods: ['rfa']})
    expect(decode).toMatchObject({mode: 'decode', causal: true, timing: {warmup_runs: 1}})
    expect(decode.methods.map(({method}) => method)).toEqual(['softmax', 'rfa'])
    const layer = plan({mode: 'layer', methods: ['rfa'], redraw: 'call'})
    expect(layer).toMatchObject({mode: 'layer', causal: false, redraw: 'call'})
    expect(layer.methods.map(({method}) => method)).toEqual([
      'softmax',
      'softmax-online',
      'identity',
      'rfa',
    ])
    expect(plan({mode: 'decode', warmup: 3}).timing.warmup_runs).toBe(3)
    expect(() => plan({mode: 'decode', redraw: 'call'})).toThrow(
      '--redraw: expected nothing with --mode decode: projections last for a sequence, got call',
    )
  })

  it('times parts of forward passes alone', () => {
    expect(plan({breakdown: true})).toMatchObject({breakdown: true})
    expect(plan({})).not.toHaveProperty('breakdown')
    expect(() => plan({breakdown: true, mode: 'layer'})).toThrow(
      '--breakdown: expected forward passes of the attention alone, which have parts, got --mode layer',
    )
  })

  it('refuses methods in Python without the peer that times them, before anything runs', () => {
    const python = {path: 'my.py', library: 'torch', options: []} as const
    const known = {...estimators, mine: {...estimators.elu!, name: 'mine', python}}
    const plan = (flags: object) =>
      toBenchPlan({...BENCH_FLAGS, methods: ['elu', 'mine'], ...flags}, known)
    expect(() => plan({})).toThrow(
      '--peers: expected the peer that times methods in Python, got mine without it',
    )
    expect(plan({peers: ['torch']}).peers).toEqual(['torch'])
    expect(plan({methods: ['elu']}).methods).toHaveLength(3)
  })

  it('refuses --max-runs below --min-runs', () => {
    expect(() => plan({'min-runs': 7, 'max-runs': 3})).toThrow(
      expect.objectContaining({
        code: 'USAGE',
        message: '--max-runs: expected at least --min-runs 7, got 3',
      }),
    )
  })
})

describe('what projections are drawn with', () => {
  it('uniform signs and one draw unless typed otherwise', () => {
    expect(plan()).toMatchObject({orth_sign: 'haar', redraw: 'fixed'})
    const typed = {'orth-sign': 'raw', redraw: 'pool:8'} as const
    expect(plan(typed)).toMatchObject({orth_sign: 'raw', redraw: 'pool:8'})
    for (const make of [sweep, variance]) {
      expect(make({'orth-sign': 'raw'}).orth_sign).toBe('raw')
      expect(make().orth_sign).toBe('haar')
    }
  })

  it('refuses a policy it cannot read and a pool too small for the heads', () => {
    const bench = (redraw: string) => () => plan({heads: 4, redraw})
    expect(bench('often')).toThrow(/^--redraw: expected fixed, call, every:CALLS or pool:SIZE/)
    expect(bench('pool:3')).toThrow('--redraw: expected a pool of at least 4 matrices, got pool:3')
  })

  it('refuses a variance experiment with a projection that a size of the grid rules out', () => {
    const flags = {projections: ['moment' as const], 'num-features': [[16]]}
    expect(() => variance({...flags, 'head-dim': [[16]]})).toThrow(
      '--projections: expected more than the head dimension 16 for moment, got 16',
    )
    expect(variance({...flags, 'head-dim': [[8]]}).head_dims).toEqual([8])
  })

  it('gives pairs of a variance experiment by norms, by two norms, or by sum and difference', () => {
    const sums = {'sum-norms': [[1]], 'difference-norms': [[0, 2]]}
    expect(variance(sums)).toMatchObject({norms: [], angles_deg: [], sum_norms: [1]})
    expect(variance({...sums, norms: [[3]]})).toMatchObject({norms: [3], difference_norms: [0, 2]})
    expect(variance({'key-norms': [[0.5]]})).toMatchObject({
      norms: VARIANCE.standard.norms,
      key_norms: [0.5],
    })
    expect(Object.keys(variance({}))).not.toContain('key_norms')
    expect(() => variance({'sum-norms': [[1]]})).toThrow(
      '--sum-norms: expected --difference-norms beside it, got none',
    )
    expect(() => variance({'difference-norms': [[1]]})).toThrow(
      '--difference-norms: expected --sum',
    )
  })

  it('takes the pairs of an input alone, at its D', () => {
    const pair = {
      ...{batch: 0, head: 1, query_index: 2, key_index: 3, norm: 1, key_norm: 0.5, angle_deg: 60},
    }
    const sampled = {input: 'file', pairs: [pair], headDim: 32}
    expect(toVariancePlan(VARIANCE_FLAGS, estimators, sampled)).toMatchObject({
      head_dims: [32],
      norms: [],
      angles_deg: [],
      sampled: {input: 'file', pairs: [pair]},
    })
  })

  it('lets a variance experiment draw on until intervals are narrow enough', () => {
    expect(variance({'until-ci': 0.1}).until_ci).toEqual({
      relative_half_width: 0.1,
      max_replicates: 100_000,
    })
    expect(variance({'until-ci': 0.1, 'max-replicates': 10})).toMatchObject({
      replicates: 10,
      until_ci: {max_replicates: 10},
    })
    expect(() => variance({'max-replicates': 5000})).toThrow(
      '--max-replicates: expected with --until-ci',
    )
    expect(() => variance({'until-ci': 0.1, replicates: 50, 'max-replicates': 10})).toThrow(
      '--max-replicates: expected at least',
    )
  })

  it('compares rows of sampled queries with --details, of as many as are asked for, of all, or of none', () => {
    expect(sweep({})).not.toHaveProperty('row_queries')
    expect(sweep({details: true})).toMatchObject({row_metrics: false, row_queries: 64})
    expect(sweep({'row-queries': 500}).row_queries).toBe(500)
    expect(sweep({details: true, 'row-queries': 0})).not.toHaveProperty('row_queries')
    expect(sweep({details: true, 'row-metrics': true})).not.toHaveProperty('row_queries')
    expect(() => sweep({'row-metrics': true, 'row-queries': 0})).toThrow(
      '--row-queries: expected left out with --row-metrics',
    )
  })

  it('predicts errors where that is typed, or every table is asked for', () => {
    expect(sweep({})).not.toHaveProperty('predictions')
    expect(sweep({details: true}).predictions).toBe(true)
    expect(sweep({predictions: true}).predictions).toBe(true)
    expect(sweep({details: true, predictions: false})).not.toHaveProperty('predictions')
  })

  it('takes all projections as those that every size of a variance experiment has', () => {
    expect(sweep({projections: ['all']}).projections).toEqual(PROJECTION_NAMES)
    expect(sweep({projections: ['orth', 'all']}).projections).toEqual(PROJECTION_NAMES)
    const all = {projections: ['all' as const], 'head-dim': [[16]]}
    const fitting = (M: number) => variance({...all, 'num-features': [[M]]}).projections
    expect(fitting(16)).toContain('iid')
    expect(fitting(16)).not.toContain('moment')
    expect(fitting(64)).toContain('moment')
  })
})

describe('sizes of a benchmark', () => {
  it('have heads of keys and values where they are fewer', () => {
    expect(plan({heads: 12, 'kv-heads': 3})).toMatchObject({heads: 12, kv_heads: 3})
    expect(plan({'kv-heads': 1})).toMatchObject({heads: BENCH.standard.heads, kv_heads: 1})
    for (const flags of [{}, {heads: 12, 'kv-heads': 12}]) {
      expect(plan(flags)).not.toHaveProperty('kv_heads')
    }
  })

  it.each([
    [{heads: 12, 'kv-heads': 5}, '--heads 12, got 5', '--kv-heads 4'],
    [{heads: 12, 'kv-heads': 24}, '--heads 12, got 24', '--kv-heads 12'],
    [{quick: true, 'kv-heads': 3}, '--heads 2, got 3', '--kv-heads 2'],
  ])(
    'refuse heads of keys and values that do not divide those of queries: %j',
    (flags, end, remedy) => {
      expect(() => plan(flags)).toThrow(
        expect.objectContaining({
          code: 'USAGE',
          message: `--kv-heads: expected a number that divides ${end}`,
          suggestions: [remedy],
        }),
      )
    },
  )

  it('are those of a file, with its length and its mask unless they are typed', () => {
    const lengths = {queryLen: 512, keyLen: 512}
    const file = {
      batch: 2,
      heads: 6,
      keyHeads: 2,
      ...lengths,
      headDim: 32,
      valueDim: 16,
      causal: true,
    }
    const of = (flags: Partial<BenchFlags>) =>
      toBenchPlan({...BENCH_FLAGS, ...flags}, estimators, file)
    expect(of({})).toMatchObject({
      ...{batch: 2, heads: 6, kv_heads: 2, head_dim: 32, value_dim: 16},
      ...{seq_lens: [512], causal: true},
    })
    expect(of({'seq-len': [[64, 1024]], causal: false})).toMatchObject({
      seq_lens: [64, 1024],
      causal: false,
    })
    expect(() => of({redraw: 'pool:5'})).toThrow('a pool of at least 6 matrices')
    expect(toBenchPlan(BENCH_FLAGS, estimators, {...file, keyHeads: 6})).not.toHaveProperty(
      'kv_heads',
    )
  })

  it('leave a decode no way to see what comes', () => {
    expect(plan({mode: 'decode'}).causal).toBe(true)
    expect(() => plan({mode: 'decode', causal: false})).toThrow(
      '--causal: expected nothing else with --mode decode, which is always causal, got --no-causal',
    )
  })
})

describe('toVariancePlan', () => {
  it('runs the quick grid', () => {
    expect(variance({quick: true})).toMatchObject({
      norms: VARIANCE.quick.norms,
      angles_deg: VARIANCE.quick.anglesDeg,
      head_dims: VARIANCE.quick.headDims,
    })
  })

  it('takes for all only the methods that estimate a kernel', () => {
    const plan = variance({methods: ['all']})
    const able = Object.values(estimators).filter(({kernel}) => kernel)
    expect(plan.methods.map(({method}) => method)).toEqual(able.map(({name}) => name))
  })

  it('refuses a method that estimates no kernel', () => {
    expect(() => variance({methods: ['elu']})).toThrow(
      expect.objectContaining({
        code: 'USAGE',
        message: expect.stringMatching(
          /^--methods: expected a method that estimates a kernel: .*, got elu$/,
        ),
      }),
    )
  })

  it('refuses a single replicate, which has no variance', () => {
    expect(() => variance({replicates: 1})).toThrow(
      expect.objectContaining({code: 'USAGE', message: '--replicates: expected at least 2, got 1'}),
    )
  })
})

describe('toApplyRequest', () => {
  const flags: ApplyFlags = {
    method: 'rfa',
    input: ['qkv.npz'],
    output: 'out.npz',
    force: false,
    causal: false,
  }

  it('fills in the documented defaults', () => {
    expect(toApplyRequest(flags, estimators)).toMatchObject({
      ...{method: 'rfa', preset: 'exact', numFeatures: 256, projection: null, scale: null, seed: 0},
      backend: 'auto',
    })
  })

  it('refuses an output of no known format', () => {
    expect(() => toApplyRequest({...flags, output: 'out.csv'}, estimators)).toThrow(
      expect.objectContaining({
        code: 'USAGE',
        message: '--output: expected a file ending in .npy, .npz, .safetensors, got out.csv',
      }),
    )
  })
})

describe('checkedPlan', () => {
  const usual = plan()
  const timing = {...usual.timing, min_time_ns: Infinity}

  it.each([
    [{heads: 0}, '--heads: expected a value that a plan can hold, got 0'],
    [{kv_heads: 3}, '--kv-heads: expected a value that a plan can hold, got 3'],
    [{seq_lens: [64, -1]}, '--seq-len: expected a value that a plan can hold, got -1'],
    [{timing}, '--min-time: expected a value that a plan can hold, got Infinity'],
  ])('names the flag of the first field that does not fit the schema: %j', (change, message) => {
    expect(() => checkedPlan(benchPlan, {...usual, ...change})).toThrow(
      expect.objectContaining({code: 'USAGE', message}),
    )
  })
})
