/** What the cells of a swap take: operations, and the peak of their process. */
import {footprint, type MeteredBackend, plainSeconds} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {MOST_SPARE} from '../../backends/native/spare.js'
import {readTexts} from '../../inputs/texts.js'
import {
  batchesOf,
  type Model,
  type ModelFacts,
  openModel,
  type TokenBatch,
} from '../../model/index.js'
import type {PredictedCell, SharedCost} from '../experiment.js'
import {callShape, type ForwardShape, type ResolvedMethod, resolveMethod} from '../method.js'
import {layerBytesPerToken} from '../model-memory.js'
import {pythonBytes, statedSizes} from '../pretrained.js'
import {runtimeBytes, UNCOLLECTED} from '../process-memory.js'
import {backendCost, timeCost} from '../rates.js'
import {layersRun, setsRun} from './layers-run.js'
import {leastTokens} from './least-tokens.js'
import {MOST_LOGITS} from './measure/next-tokens.js'
import {GROUPS} from './measure/parts.js'
import type {SwapCell, SwapPlan} from './schema.js'

/** Bytes of a number. */
const FLOAT = 4
/**
 * Seconds for calling the operations of a layer on a batch, for each entry of a hidden state on its way through a layer, for
 * reading a weight, for a logit that is held against that of the original, for an entry of an error of attention, before and
 * after the output projection, and for the similarity of two texts among those that are ranked.
 */
const SECONDS = {batch: 1e-3, entry: 6e-9, weight: 1e-9, logit: 2e-9, error: 4e-9, pair: 2e-7}

type Predicted = Pick<PredictedCell, 'predictedCost' | 'predictedBytes'>

export interface SwapCosts {
  /** The original on all texts. */
  original: SharedCost
  layers: number
  costs(cell: SwapCell, method: ResolvedMethod): Predicted
}

/** What a plan reads, and what it runs on. */
interface Facts {
  model: Pick<Model, 'sizes'> & {
    facts: Pick<ModelFacts, 'layers' | 'causal' | 'vocabulary' | 'width' | 'heads' | 'headDim'>
  }
  batches: readonly Pick<TokenBatch, 'batch' | 'length'>[]
  backend: MeteredBackend
  /** Tokens with padding. */
  rows: number
  /** How many there are. */
  texts: number
}

/** Predictions from the sizes of the model and the tokens of the texts. */
export async function swapCosts(plan: SwapPlan): Promise<SwapCosts> {
  const facts = await factsOf(plan)
  const {model, batches, rows, texts} = facts
  const exact = await resolveMethod({method: 'softmax-online', preset: 'exact', options: {}})
  const {layers, causal, vocabulary, width} = model.facts
  const rates = {backend: facts.backend, choice: plan.backend}
  const time = (seconds: number) => timeCost(seconds, plan.backend)
  const attention = attentionOf(facts, plan)
  const products = backendCost(2 * rows * model.sizes.layer, rates)
  const calls = SECONDS.batch * batches.length + SECONDS.entry * rows * width
  const layer = (own: number) => products + time(calls) + own
  const exactAttention = attention(exact, {num_features: null, causal}).cost
  const exactLayer = layer(exactAttention)
  const reading = time(SECONDS.weight * model.sizes.layer)
  const logits = backendCost(2 * rows * model.sizes.head, rates)
  const judging = time(SECONDS.logit * rows * vocabulary)
  const projected = backendCost(2 * rows * width ** 2, rates) + time(SECONDS.error * rows * width)
  const ranking = time((SECONDS.pair * (GROUPS + 1) * texts * (texts - 1)) / 2)
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
      const logitsOf = (replicates + 1) * logits + replicates * judging
      const effects = causal ? logitsOf : replicates * ranking
      const errors = exactAttention + replicates * projected
      return {
        predictedCost: replicates * each + run * reading + setsRun(cell) * (errors + effects),
        predictedBytes:
          bytesOf(facts, cell, own.bytes) + pythonBytes(plan.engine, plan.original ? 2 : 1),
      }
    },
  }
}

async function factsOf(plan: SwapPlan): Promise<Facts> {
  if (plan.engine) return statedFacts(plan, plan.engine)
  const model = await openModel(plan.model.folder)
  const {texts} = await readTexts(plan.texts.path)
  const own = texts.slice(0, plan.texts.count)
  const least = leastTokens(model.facts)
  const {batches, order} = await model.tokenize(own, {maxTokens: plan.max_tokens, least})
  const rows = batches.reduce((sum, {batch, length}) => sum + batch * length, 0)
  const backend = await meteredBackend(plan.backend)
  return {model, batches, rows, texts: order.flat().length, backend}
}

/** Letters of a token. */
const LETTERS = 3

/** Facts that the plan states of a model that is not read here. */
async function statedFacts(
  plan: SwapPlan,
  engine: NonNullable<SwapPlan['engine']>,
): Promise<Facts> {
  const rows = (await lengthsOf(plan)).map(length => Array<number>(length).fill(0))
  const {batches} = batchesOf(rows, 1)
  const model = statedSizes(engine, plan.causal)
  const backend = await meteredBackend(plan.backend)
  const tokens = batches.reduce((sum, {batch, length}) => sum + batch * length, 0)
  return {model, batches, rows: tokens, texts: rows.length, backend}
}

/** Tokens of what is read, about: letters of texts have them. */
async function lengthsOf({texts: {path, count, format}, max_tokens: most}: SwapPlan) {
  if (format) return Array<number>(count).fill(most)
  const {texts} = await readTexts(path)
  return texts
    .slice(0, count)
    .map(text => Math.max(2, Math.min(most, Math.ceil(text.length / LETTERS))))
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

/**
 * Peak of the process of a cell: hidden states of the original and of all draws, with a layer or the head in memory, and what
 * the backend keeps of outputs that are gone.
 */
function bytesOf(
  {model, batches, backend, rows}: Facts,
  {replicates, original}: Pick<SwapCell, 'replicates' | 'original'>,
  attention: number,
) {
  const {layers, width, causal, vocabulary} = model.facts
  const kept = (layers + 1 + replicates + (original ? 1 : 0)) * FLOAT * rows * width
  const sizes = [...new Set(batches.map(({batch, length}) => batch * length))]
  const largest = Math.max(...sizes)
  // errors of attention take less than the feed-forward part does later
  const perToken = layerBytesPerToken(model) + attention / largest
  const layer = FLOAT * model.sizes.layer + largest * perToken
  const logits = 2 * Math.min(MOST_LOGITS, largest * vocabulary)
  const head = causal ? FLOAT * ((original ? 2 : 1) * model.sizes.head + logits) : 0
  // outputs of batches of other sizes than the one at work
  const others = perToken * (sizes.reduce((sum, size) => sum + size, 0) - largest)
  const spare = backend === 'native' ? Math.min(MOST_SPARE, others) : 0
  return runtimeBytes(backend) + kept + Math.max(layer, head) + spare + UNCOLLECTED
}
