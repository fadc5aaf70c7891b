/** The inputs of error-predictions.ts. */
import {fileURLToPath} from 'node:url'
import type {ErrorSweepPlan} from '../src/experiments/error-sweep/schema.js'

/** One input, both ways round. */
export interface Case {
  name: string
  /** Layers that rules of norms are fitted on, layers kept apart, and inputs of no model. */
  group: 'fitted' | 'kept apart' | 'generated'
  plan: ErrorSweepPlan
}

const method = (name: string) => ({method: name, preset: 'exact' as const, options: {}})

const LAYER_METHODS = ['favor-pos', 'favor-hyp', 'oprf', 'saderf', 'sderf'].map(method)
const GENERATOR_METHODS = ['favor-pos', 'favor-hyp', 'oprf', 'sderf'].map(method)

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

const DIRECTIONS = [false, true]

function layer(file: string, group: Case['group']): Case[] {
  const path = fileURLToPath(new URL(`../../fixtures/${file}.safetensors`, import.meta.url))
  const names = {query: 'q', key: 'k', value: 'v'}
  return DIRECTIONS.map(causal => ({
    name: `${file}${causal ? ' causal' : ''}`,
    group,
    plan: {
      ...COMMON,
      input: {kind: 'file', paths: [path], names},
      ...{methods: LAYER_METHODS, seq_lens: null, scales: [1], causal},
    },
  }))
}

const GENERATORS = ['gaussian', 'ar1', 'grid2d', 'clustered', 'anisotropic', 'peaky'] as const

function generated(name: (typeof GENERATORS)[number]): Case[] {
  return DIRECTIONS.map(causal => ({
    name: `${name}${causal ? ' causal' : ''}`,
    group: 'generated',
    plan: {
      ...COMMON,
      input: {
        kind: 'generator',
        name,
        ...{batch: 1, heads: 2, head_dim: 32, value_dim: 32, key_len: null},
      },
      ...{methods: GENERATOR_METHODS, seq_lens: [256], scales: [0.5, 1, 1.5], causal},
    },
  }))
}

export const INPUTS: readonly Case[] = [
  ...layer('charlm-layer0', 'fitted'),
  ...layer('minilm-layer1', 'fitted'),
  ...layer('charlm-layer3', 'kept apart'),
  ...layer('minilm-layer5', 'kept apart'),
  ...GENERATORS.flatMap(generated),
]
