/** The runs behind advice on a whole model: the largest set of layers that keeps a budget, for each method; then times of the model. */

import type {MethodName} from '../../attention/names.js'
import {YARDSTICK} from '../../experiments/averaging.js'
import {type MethodSpec, plainSpec} from '../../experiments/axes.js'
import {type SwapPlan, swapPlan} from '../../experiments/swap/schema.js'

export interface ModelAdviceRequest {
  model: SwapPlan['model']
  /** What runs it; absent: the program. */
  engine?: SwapPlan['engine']
  device?: SwapPlan['device']
  texts: SwapPlan['texts']
  maxTokens: number
  layers: number
  causal: boolean
  /** Most loss that is accepted: nats per token of a causal model, 1 - cosine of an encoder. */
  budget: number
  /** L to advise for. */
  seqLen: number
  methods: readonly string[]
  /** One of the methods with learned parameters, a candidate of its own. Default: none */
  tuned?: MethodSpec | undefined
  numFeatures: readonly number[]
  effort: 'quick' | 'full'
  seed: number
  threads: number | null
}

/** What runs where flags leave it open. */
interface Effort {
  methods: readonly MethodName[]
  numFeatures: readonly number[]
  replicates: number
  texts: number
  maxTokens: number
}

export const MODEL_ADVICE: Record<'standard' | 'quick', Effort> = {
  standard: {
    methods: ['favor-pos', 'favor-hyp', 'oprf', 'rfa', 'lara', 'nystrom', 'elu'],
    numFeatures: [64, 256],
    ...{replicates: 5, texts: 100, maxTokens: 256},
  },
  quick: {
    methods: ['favor-pos', 'rfa', 'elu'],
    numFeatures: [64, 256],
    ...{replicates: 3, texts: 20, maxTokens: 256},
  },
}

/** Loss that is accepted where none is typed: 5 % more perplexity, or a cosine of 0.95. */
export const BUDGETS = {causal: 0.05, encoder: 0.05}

/** Every method searches the largest set of layers that keeps the budget; averaging V does, too. */
export function modelSwapPlan(request: ModelAdviceRequest): SwapPlan {
  const {model, engine, device, texts, maxTokens, layers, causal, budget} = request
  const {tuned, numFeatures, seed} = request
  const {replicates} = MODEL_ADVICE[request.effort === 'quick' ? 'quick' : 'standard']
  return swapPlan.parse({
    experiment: 'swap',
    methods: [...new Set([...request.methods, YARDSTICK])].map(plainSpec).concat(tuned ?? []),
    projections: ['orth'],
    num_features: [...numFeatures],
    layer_sets: [Array.from({length: layers}, (_, layer) => layer)],
    ...{model, engine, device, texts, max_tokens: maxTokens, causal, budget, replicates, seed},
    backend: 'auto',
  })
}
