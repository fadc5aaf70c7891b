/** Advice as data, of a layer of two heads. */
import type {Advice, AdviceCandidate, LayerAdvice} from '../../src/advice/schema.js'

const COST = {
  time_ns: 2e6,
  time_low_ns: 1.9e6,
  time_high_ns: 2.1e6,
  time_from: 'measured' as const,
  live_bytes: 1024,
}
const ERROR = {error: 0.03, error_low: 0.029, error_high: 0.031}
const GAIN = {gain: 4, gain_low: 3.5, gain_high: 4.5}
export const CANDIDATE: AdviceCandidate = {
  ...{label: 'favor-pos orth M=64', method: 'favor-pos', projection: 'orth', num_features: 64},
  ...{feature_dim: 64, parameters: null},
  ...ERROR,
  ...{over_mean: 0.3, over_mean_low: 0.29, over_mean_high: 0.31},
  ...COST,
  ...GAIN,
  ...{crossover_len: 1024, crossover_low_len: 900, crossover_high_len: 1200, unfit: null},
  ...{on_front: true, heads: [ERROR, ERROR]},
}
export const LAYER: LayerAdvice = {
  layer: 3,
  candidate: CANDIDATE.label,
  obstacle: null,
  statement: 'Take favor-pos orth M=64.',
  uniform_heads: [],
  candidates: [CANDIDATE, {...CANDIDATE, label: 'elu', on_front: false}],
  heads: [
    {head: 0, candidate: CANDIDATE.label, obstacle: null, ...ERROR, ...GAIN, front: ['softmax']},
    {
      head: 1,
      candidate: null,
      obstacle: 'time',
      ...{error: null, error_low: null, error_high: null},
      ...{gain: null, gain_low: null, gain_high: null},
      front: ['softmax'],
    },
  ],
  mixed: {replaced_heads: [0], time_ns: 5e6, gain: 1.6, gain_low: 1.5, gain_high: 1.7},
  changes: [],
}
export const ADVICE: Advice = {
  ...{input: 'qkv.npz', metric: 'rel_l2', tolerance: 0.05, budget_ms: null, effort: 'quick'},
  ...{seed: 0, causal: true, ran_causal: null},
  ...{batch: 1, heads: 2, head_dim: 17, value_dim: 13},
  ...{query_len: 31, key_len: 31, seq_len: 2048, timed_lens: [512, 2048]},
  backend: 'backend native, 1 thread',
  left_out: ['lara skipped: bidirectional only [1 cell]'],
  not_tried: ['ra', 'taylor'],
  exact: [{form: 'softmax', ...COST, time_ns: 8e6}],
  layers: [LAYER],
}
