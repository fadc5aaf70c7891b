/** What the cells of a swap take: operations, and the peak of their process. */
import {footprint, type MeteredBackend, plainSeconds} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {type Model, openModel, type TokenBatch} from '../../model/index.js'
import type {PredictedCell, SharedCost} from '../experiment.js'
import {callShape, type ForwardShape, type ResolvedMethod, resolveMethod} from '../method.js'
import {runtimeBytes, UNCOLLECTED} from '../process-memory.js'
import {backendCost, timeCost} from '../rates.js'
import {readTexts} from './files.js'
import {layersRun} from './layers-run.js'
import {MOST_LOGITS} from './measure/next-tokens.js'
import type {SwapCell, SwapPlan} from './schema.js'

/** Bytes of a number. */
const FLOAT = 4
/** Widths of a layer's input that it has in memory for each token at once, without attention and feed-forward part. */
const WIDTHS = 14
/**
 * Seconds for calling the operations of a layer on a batch, for each entry of a hidden state on its way through a layer, for
 * reading a weight, and for a logit that is held against that of the original.
 */
const SECONDS = {batch: 1e-3, entry: 6e-9, weight: 1e-9, logit: 2e-9}

type Predicted = Pick<PredictedCell, 'predictedCost' | 'predictedBytes'>

/** Predictions of the cells of a plan. */
export interface SwapCosts {
  /** The original on all texts. */
  original: SharedCost
  /** Layers of the model. */
  layers: number
  costs(cell: SwapCell, method: ResolvedMethod): Predicted
}

/** What a plan reads, and what it runs on. */
interface Facts {
  model: Model
  batches: readonly TokenBatch[]
  backend: MeteredBackend
  /** Tokens with padding. */
  rows: number
}

/**
 * Predictions from the sizes of the model and the tokens of the texts.
 *
 * @throws what opening the model and reading the texts throw
 */
export async function swapCosts(plan: SwapPlan): Promise<SwapCosts> {
  const facts = await factsOf(plan)
  const {model, batches, rows} = facts
  const exact = await resolveMethod({method: 'softmax-online', preset: 'exact', options: {}})
  const {layers, causal, vocabulary} = model.facts
  const rates = {backend: facts.backend, choice: plan.backend}
  const time = (seconds: number) => timeCost(seconds, plan.backend)
  const attention = attentionOf(facts, plan)
  const products = backendCost(2 * rows * model.sizes.layer, rates)
  const calls = SECONDS.batch * batches.length + SECONDS.entry * rows * model.facts.width
  const layer = (own: number) => products + time(calls) + own
  const exactLayer = layer(attention(exact, {num_features: null, causal}).cost)
  const reading = time(SECONDS.weight * model.sizes.layer)
  const logits = backendCost(2 * rows * model.sizes.head, rates)
  const judging = time(SECONDS.logit * rows * vocabulary)
  const known = new Map<string, ReturnType<typeof attention>>()
  return {
    original: {id: 'original', cost: layers * (exactLayer + reading)},
    layers,
    costs(cell, method) {
      const {replicates, num_features} = cell
      const key = JSON.stringify([cell.method, cell.preset, cell.options, num_features])
      const own = known.get(key) ?? attention(method, cell)
      known.set(key, own)
      const run = layersRun(cell, layers)
      // of a search up to half of the layers that it runs
      const exchanged = cell.budget === undefined ? cell.layers.length : run / 2
      const each = exchanged * layer(own.cost) + (run - exchanged) * exactLayer
      const effects = causal ? (replicates + 1) * logits + replicates * judging : 0
      return {
        predictedCost: replicates * each + run * reading + effects,
        predictedBytes: bytesOf(facts, replicates, own.bytes),
      }
    },
  }
}

async function factsOf(plan: SwapPlan): Promise<Facts> {
  const model = await openModel(plan.model.folder)
  const {texts} = await readTexts(plan.texts.path)
  const own = texts.slice(0, plan.texts.count)
  const {batches} = model.tokenize(own, {maxTokens: plan.max_tokens})
  const rows = batches.reduce((sum, {batch, length}) => sum + batch * length, 0)
  return {model, batches, rows, backend: await meteredBackend(plan.backend)}
}

/** What the attention of one layer takes on all batches, and the most bytes on one. */
function attentionOf({model, batches, backend, rows}: Facts, plan: SwapPlan) {
  const {heads, headDim} = model.facts
  const shapes = batches.map(
    ({batch, length}): ForwardShape => ({
      ...{batch, heads, queryLen: length, keyLen: length, headDim, valueDim: headDim},
    }),
  )
  const size = ({batch, queryLen}: ForwardShape) => batch * queryLen
  const largest = shapes.reduce((a, b) => (size(b) > size(a) ? b : a))
  return (
    {estimator, options}: ResolvedMethod,
    call: Pick<SwapCell, 'num_features' | 'causal'>,
  ) => {
    const flops = shapes.reduce(
      (sum, shape) => sum + estimator.cost(callShape(shape, call), options).flops,
      0,
    )
    const most = callShape(largest, call)
    const plain = (plainSeconds(estimator, options, most, backend) * rows) / size(largest)
    const cost = backendCost(flops, {backend, choice: plan.backend}) + timeCost(plain, plan.backend)
    return {cost, bytes: footprint(estimator, options, most, backend)}
  }
}

/** Peak of the process of a cell: hidden states of the original and of all draws, with a layer or the head in memory. */
function bytesOf({model, batches, backend, rows}: Facts, replicates: number, attention: number) {
  const {layers, width, causal, vocabulary} = model.facts
  const hidden = FLOAT * rows * width
  const kept = (layers + 1 + replicates) * hidden
  const largest = Math.max(...batches.map(({batch, length}) => batch * length))
  const entries = WIDTHS * width + model.sizes.inner
  const layer = FLOAT * (model.sizes.layer + largest * entries) + attention
  const logits = 2 * Math.min(MOST_LOGITS, largest * vocabulary)
  const head = causal ? FLOAT * (model.sizes.head + logits) : 0
  return runtimeBytes(backend) + kept + Math.max(layer, head) + UNCOLLECTED
}
