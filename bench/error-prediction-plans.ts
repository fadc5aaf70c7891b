/** The inputs of error-predictions.ts. */
import {fileURLToPath} from 'node:url'
import type {ErrorSweepPlan} from '../src/experiments/error-sweep/schema.js'

/** One input, one way round. */
export interface Case {
  name: string
  plan: ErrorSweepPlan
}

const method = (name: string) => ({method: name, preset: 'exact' as const, options: {}})

const COMMON = {
  experiment: 'error-sweep',
  projections: ['iid', 'orth'],
  orth_sign: 'haar',
  num_features: [16, 64, 256, 1024, 4096],
  targets: ['raw'],
  replicates: 6,
  row_metrics: false,
  seed: 0,
  backend: 'auto',
} satisfies Partial<ErrorSweepPlan>

/** Layers of trained models: those that tests know, then those that only this comparison reads. */
const LAYERS = [
  'fixtures/charlm-layer0',
  'fixtures/charlm-layer3',
  'fixtures/minilm-layer1',
  'fixtures/minilm-layer5',
  'bench/layers/minilm-layer0',
  'bench/layers/minilm-layer3',
]

function casesOf(file: string): Case[] {
  const path = fileURLToPath(new URL(`../../${file}.safetensors`, import.meta.url))
  const names = {query: 'q', key: 'k', value: 'v'}
  return [false, true].map(causal => ({
    name: `${file.split('/').at(-1)}${causal ? '-causal' : ''}`,
    plan: {
      ...COMMON,
      input: {kind: 'file', paths: [path], names},
      // replicates of causal attention are what takes longest
      methods: (causal ? ['favor-pos'] : ['favor-pos', 'oprf']).map(method),
      ...{seq_lens: null, scales: [0.25, 0.5, 1, 2], causal},
    },
  }))
}

export const INPUTS: readonly Case[] = LAYERS.flatMap(casesOf)

/** What the time of a prediction is told of: heads of 64 dimensions at 1024 tokens, of large norms. */
export const TIMED: readonly Case[] = [false, true].map(causal => ({
  name: causal ? 'causal' : 'bidirectional',
  plan: {
    ...COMMON,
    input: {
      kind: 'generator',
      name: 'gaussian',
      ...{batch: 1, heads: 2, head_dim: 64, value_dim: 64, key_len: null},
    },
    ...{methods: [method('favor-pos')], projections: ['orth'], num_features: [4096]},
    ...{seq_lens: [1024], scales: [2], causal},
  },
}))
