/** Records of swaps, with round numbers: of a causal model unless said otherwise. */
import swapExperiment from '../../../src/experiments/swap/index.js'
import {
  type CompletedSwap,
  type Effect,
  type SwapCell,
  swapResult,
} from '../../../src/experiments/swap/schema.js'
import {normals, randomStream} from '../../../src/random/index.js'
import {cellKey} from '../../../src/results/keys.js'
import {madeBy} from './made-by.js'

/** Layers of the model. */
export const LAYERS = 4
const GROUPS = 10

/** What is true of a cell. */
export interface SwapTruth {
  damage?: number
  /** After each layer. */
  hidden?: readonly number[]
  /** Errors of attention in the first exchanged layer. */
  error?: number
  /** The same of means over tokens. Default: `error`. */
  tokenMean?: number
  /** Standard deviation of the logarithm of each number, over draws and groups of texts. Default 0.02. */
  spread?: number
}

function swapCell(changes: Partial<SwapCell> = {}): SwapCell {
  return {
    ...{method: 'favor-pos', preset: 'exact', options: {}},
    ...{projection: 'orth', orth_sign: 'haar', num_features: 64},
    layers: Array.from({length: LAYERS}, (_, layer) => layer),
    model: {folder: 'fixtures/charlm', digest: 'a'},
    texts: {path: 'fixtures/charlm/texts.txt', digest: 'b', count: 40},
    ...{max_tokens: 256, causal: true, replicates: 3, seed: 0, backend: 'auto'},
    ...changes,
  }
}

export const point = (mean: number): Effect => ({mean, low: 0.9 * mean, high: 1.1 * mean})

/** A completed cell with a part for each draw and group. */
export function swap(changes: Partial<SwapCell> = {}, truth: SwapTruth = {}): CompletedSwap {
  const cell = swapCell(changes)
  const {damage = 0.5, hidden = [0.1, 0.2, 0.3, 0.4], error = 0.3} = truth
  const {tokenMean = error, spread = 0.02} = truth
  const draws = cell.projection === null ? 1 : cell.replicates
  const noise = normals(
    randomStream(
      7,
      `${cell.method} ${cell.num_features} ${cell.layers}${cell.tuned ? ' tuned' : ''}`,
      0,
    ),
    1e3,
  )
  let next = 0
  const noisy = (value: number) => value * Math.exp(spread * noise[next++ % noise.length]!)
  const errors = () => ({
    rel_l2: noisy(error),
    token_mean_rel_l2: noisy(tokenMean),
    residual: noisy(tokenMean / 2),
    token_mean_residual: noisy(tokenMean / 2),
  })
  const result = swapResult.parse({
    ...madeBy({backend: 'wasm'}),
    ...{model_kind: 'gpt2', model_layers: LAYERS, heads: 4, head_dim: 32, feature_dim: 64},
    ...{texts_read: 40, tokens_read: 8120, original_nats: 1.6},
    causal_effects: {nats_added: point(damage), kl_nats: point(damage), top_agreement: point(0.8)},
    encoder_effects: null,
    hidden_error: hidden,
    attention_errors: errors(),
    parts: Array.from({length: draws * GROUPS}, (_, at) => ({
      ...{draw: Math.floor(at / GROUPS), group: at % GROUPS},
      damage: noisy(damage),
      hidden_error: hidden.map(noisy),
      attention_errors: errors(),
    })),
  })
  const {schema} = swapExperiment
  return {schema, key: cellKey(schema, cell), status: 'completed', cell, result}
}
