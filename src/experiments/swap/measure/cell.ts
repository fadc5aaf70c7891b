/** One cell: a model with the attention of some layers exchanged, on all texts, for every draw. */
import {tf} from '../../../attention/index.js'
import {estimatorNamed} from '../../../attention/names.js'
import {useBackend} from '../../../backends/index.js'
import {exactLayerAttention, type LayerAttention, repeatHeads} from '../../../model/index.js'
import {finiteOrNull} from '../../../stats/index.js'
import {attendTuned, type TunedCall, tunedCall} from '../../../tuned/call.js'
import type {TunedFile} from '../../../tuned/index.js'
import {attendOptions} from '../../axes.js'
import {computedBy} from '../../computed-by.js'
import type {CellContext, CellOutcome} from '../../experiment.js'
import {type ResolvedMethod, resolveMethod, unsupportedReason, whyNotDrawn} from '../../method.js'
import {tunedOf} from '../../tuned-methods.js'
import {layersRun} from '../layers-run.js'
import {type Effects, lossOf, type SwapCell, type SwapResult} from '../schema.js'
import {AttentionErrors} from './attention-errors.js'
import {type Original, type OriginalBatch, originalOf} from './context.js'
import {causalEffects, encoderEffects, type Finals} from './effects.js'
import {largestSet} from './largest-set.js'
import {errorsOf, partsOf} from './parts.js'
import {RelativeSquares} from './squares.js'
import {overTokens, requireFinite, tokenDistances} from './token-squares.js'

/** Runs one cell of a swap. */
export async function runSwapCell(
  cell: SwapCell,
  how: CellContext = {},
): Promise<CellOutcome<SwapResult>> {
  const backend = await useBackend(cell.backend, {threadShare: how.threadShare})
  const method = await resolveMethod(cell)
  let done = 0
  const original = await originalOf(cell, passes =>
    how.onStep?.(++done, passes * (1 + cell.replicates)),
  )
  const {facts} = original.model
  const reason = reasonAgainst(cell, method, original)
  if (reason) return {status: 'skipped', reason}
  const own = layersRun(cell, facts.layers) * cell.replicates * original.batches.length
  const steps = done + own
  const onStep = () => how.onStep?.(++done, steps)
  const run: Run = {cell, tuned: await tunedOf(cell), original, onStep}
  return {
    status: 'completed',
    result: {
      ...computedBy(backend, how),
      model_kind: facts.kind,
      model_layers: facts.layers,
      heads: facts.heads,
      head_dim: facts.headDim,
      feature_dim: method.estimator.featureDim(
        cell.num_features ?? 0,
        facts.headDim,
        method.options,
      ),
      texts_read: original.texts,
      tokens_read: original.tokens,
      texts_left_out: original.leftOut,
      pooled_by: original.model.pooledBy,
      ...(cell.budget === undefined
        ? {...(await effectsOf(run)), chosen_layers: null, tried_sets: []}
        : await withinBudget(run, cell.budget)),
    },
  }
}

/** What is run, and against what. */
interface Run {
  cell: SwapCell
  /** Learned parameters. */
  tuned: TunedFile | undefined
  original: Original
  onStep?: (() => void) | undefined
}

/** What exchanged layers do. */
type Measured = Effects & Pick<SwapResult, 'hidden_error' | 'attention_errors' | 'parts'>

/** The layers of a cell, exchanged all at once. */
async function effectsOf(run: Run): Promise<Measured> {
  const {original} = run
  const {finals, hidden, attention} = await exchanged(run)
  try {
    const {damage, tokens, ...effects} = original.model.facts.causal
      ? await causalEffects(original, finals)
      : encoderEffects(original, finals)
    return {
      ...effects,
      hidden_error: hidden.map(squares => finiteOrNull(squares ? squares.relative() : 0)),
      attention_errors: errorsOf(attention),
      parts: partsOf({damage, tokens, hidden, attention}),
    }
  } finally {
    for (const tensor of finals.hidden.flat()) tensor.dispose()
  }
}

/** The largest set of its layers found that keeps a budget; of every set the same draws in each layer. */
async function withinBudget(
  run: Run,
  budget: number,
): Promise<Measured & Pick<SwapResult, 'chosen_layers' | 'tried_sets'>> {
  const {cell} = run
  const measured = new Map<string, Measured>()
  const {chosen, tried} = await largestSet(cell.layers, budget, async set => {
    const own = await effectsOf({...run, cell: {...cell, layers: set}})
    measured.set(set.join(), own)
    return lossOf(own)
  })
  const own =
    measured.get(chosen.join()) ??
    (await effectsOf({...run, cell: {...cell, layers: []}, onStep: undefined}))
  return {...own, chosen_layers: chosen, tried_sets: tried}
}

function reasonAgainst(
  cell: SwapCell,
  method: ResolvedMethod,
  {model: {facts}, batches}: Original,
): string | undefined {
  const masked = batches.some(({tokens}) => tokens.lengths.some(own => own < tokens.length))
  const form = {causal: facts.causal, cross: false, masked: masked && !facts.causal}
  return unsupportedReason(method, form) ?? whyNotDrawn(cell, facts.headDim)
}

/** What comes out of the last layer, and how far the output of every layer is from the original. */
interface Exchanged {
  finals: Finals
  /** Errors of the output of every layer; `undefined`: it is that of the original. */
  hidden: (RelativeSquares | undefined)[]
  /** Errors of attention in the first exchanged layer. */
  attention: AttentionErrors['squares']
}

/** All draws, layer by layer: the weights of a layer are read once, and what comes before the first exchanged layer is the original. */
async function exchanged({cell, tuned, original, onStep}: Run): Promise<Exchanged> {
  const {model, batches} = original
  const {layers} = model.facts
  const first = Math.min(...cell.layers, layers)
  const finals = startOf(cell, original, first)
  const sizes = {batches, draws: cell.replicates, texts: original.texts}
  const hidden: Exchanged['hidden'] = Array(first).fill(undefined)
  const attention = new AttentionErrors(sizes)
  for (let index = first; index < layers; index++) {
    const layer = await model.layer(index)
    const squares = new RelativeSquares(sizes)
    const heard = attentionsOf({cell, tuned}, index, layers)
    batches.forEach(({tokens, texts, hidden: exact, squares: perToken}, at) => {
      const sizes = overTokens(perToken[index + 1]!, tokens)
      // all draws of a batch in turn: what one has freed is of the sizes that the next one needs
      finals.hidden.forEach((own, draw) => {
        const before = own[at]!
        const attend = heard[draw]!
        const noted = index === first ? attention.noting(attend, layer, {index, draw, at}) : attend
        own[at] = layer.forward(before, tokens, noted)
        before.dispose()
        const distances = tokenDistances(own[at]!, exact[index + 1]!)
        finals.distances[draw]![at] = distances
        const errors = overTokens(distances, tokens)
        requireFinite(errors, `the exchanged model, after layer ${index}`)
        errors.forEach((error, row) => {
          squares.add(draw, texts[row]!, error, sizes[row]!)
        })
        onStep?.()
      })
      attention.endBatch()
    })
    hidden.push(squares)
    layer.dispose()
  }
  return {finals, hidden, attention: attention.squares}
}

/** What the first exchanged layer reads, for every draw: hidden states of the original. */
function startOf({replicates}: SwapCell, {batches}: Original, first: number): Finals {
  const forEachDraw = <T>(make: (batch: OriginalBatch) => T) =>
    Array.from({length: replicates}, () => batches.map(make))
  return {
    hidden: forEachDraw(({hidden}) => hidden[first]!.clone()),
    distances: forEachDraw(({tokens}) => new Float32Array(tokens.batch * tokens.length)),
  }
}

/** The attention of a layer in every draw. */
function attentionsOf(
  {cell, tuned}: Pick<Run, 'cell' | 'tuned'>,
  index: number,
  layers: number,
): LayerAttention[] {
  return Array.from({length: cell.replicates}, (_, draw) => {
    if (!cell.layers.includes(index)) return exactLayerAttention
    const own = tuned && tunedCall(tuned, index, draw)
    return drawnAttention(cell, draw * layers + index, own)
  })
}

/** What queries of exact forms are multiplied by, and logits divided by: each entry is rounded once more, as 3 is no power of 2. */
const ROUNDING_FACTOR = 3

/**
 * The method of a cell, in the place of softmax attention. Exact forms, which may be the original bit for bit, show what rounding of
 * float32 does.
 *
 * @param draw - which of the independent ones
 * @param tuned - learned parameters
 */
function drawnAttention(
  cell: SwapCell,
  draw: number,
  tuned: TunedCall | undefined,
): LayerAttention {
  const options = {...attendOptions(cell, draw), ...(tuned && {tuned})}
  const {unbiasedFor, noise} = estimatorNamed(cell.method)
  const factor = unbiasedFor === 'exact' ? ROUNDING_FACTOR : 1
  const attention: LayerAttention = (query, key, value, {scale, keyMask}) => {
    const own = factor === 1 ? query : tf.mul(query, factor)
    const [ownKey, ownValue] = [key, value].map(tensor => repeatHeads(tensor, query.shape[1]))
    const call = {...options, scale: scale / factor, ...(keyMask && {keyMask})}
    return attendTuned(own as tf.Tensor4D, ownKey!, ownValue!, call).out
  }
  return noise ? textByText(attention) : attention
}

/** Every text as the first of a batch: random arrays have rows for each place in it, and those of a text are not its neighbours'. */
function textByText(attention: LayerAttention): LayerAttention {
  return (query, key, value, {keyMask, ...context}) => {
    const texts = Array.from({length: query.shape[0]}, (_, at) => {
      const of = <T extends tf.Tensor>(x: T): T => {
        const [, ...rest] = x.shape
        return tf.slice(x, [at, ...rest.map(() => 0)], [1, ...rest])
      }
      const own = {...context, ...(keyMask && {keyMask: of(keyMask)})}
      return attention(of(query), of(key), of(value), own)
    })
    return tf.concat(texts, 0)
  }
}
