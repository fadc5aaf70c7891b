/** Small plans on the plain backend. */
import type {MethodSpec} from '../../src/experiments/axes.js'
import type {BenchPlan} from '../../src/experiments/bench/schema.js'
import type {ErrorSweepPlan} from '../../src/experiments/error-sweep/schema.js'

export const method = (name: string, options: MethodSpec['options'] = {}): MethodSpec => ({
  method: name,
  preset: 'exact',
  options,
})

export const sweep = (changes: Partial<ErrorSweepPlan> = {}): ErrorSweepPlan => ({
  experiment: 'error-sweep',
  input: {
    ...{kind: 'generator', name: 'gaussian', batch: 1, heads: 3, head_dim: 7, value_dim: 5},
    key_len: null,
  },
  methods: [method('favor-pos'), method('mean-value'), method('rfa')],
  ...{projections: ['iid', 'orth'], orth_sign: 'haar', num_features: [11, 13], seq_lens: [17]},
  ...{scales: [1, 2], targets: ['raw', 'matched'], replicates: 3, causal: false},
  ...{row_metrics: false, seed: 0, backend: 'cpu'},
  ...changes,
})

export const bench = (changes: Partial<BenchPlan> = {}): BenchPlan => ({
  experiment: 'bench',
  methods: [method('softmax'), method('elu')],
  ...{projections: ['orth'], orth_sign: 'haar', redraw: 'fixed', num_features: [16]},
  ...{seq_lens: [32, 64, 128], batch: 1, heads: 1, head_dim: 8, value_dim: 8, causal: false},
  ...{timing: {warmup_runs: 1, min_runs: 2, max_runs: 2, min_time_ns: 0}, order: 'listed', seed: 0},
  ...{backend: 'cpu', threads: null},
  ...changes,
})
