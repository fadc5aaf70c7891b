/** Models that are run here: all draws of a batch, layer by layer. */
import {tf} from '../../../attention/index.js'
import {hostData} from '../../../attention/internal.js'
import {estimatorNamed} from '../../../attention/names.js'
import {exactLayerAttention, type LayerAttention, repeatHeads} from '../../../model/index.js'
import type {ComputedBy} from '../../../results/record.js'
import {attendTuned, type TunedCall, tunedCall} from '../../../tuned/call.js'
import {attendOptions} from '../../axes.js'
import type {SwapCell} from '../schema.js'
import {AttentionErrors} from './attention-errors.js'
import type {Original, OriginalBatch} from './context.js'
import type {Engine, Exchanged, Run} from './engine.js'
import type {Embeddings} from './neighbours.js'
import {type NextTokens, nextTokens} from './next-tokens.js'
import {RelativeSquares} from './squares.js'
import {overTokens, requireFinite, tokenDistances} from './token-squares.js'

/** What comes out of the last layer: draws, in each the batches. */
interface Finals {
  /** `[B, L, width]` */
  hidden: tf.Tensor3D[][]
  /** Squared distances of the vectors of every token from those of the original, `[B L]`. */
  distances: Float32Array[][]
}

/** The engine of models that are run here, layer by layer. */
export function nativeEngine(original: Original, computedBy: ComputedBy): Engine {
  const {model, batches, changed} = original
  const {kind, layers, heads, headDim, causal, vocabulary} = model.facts
  const exchangedModel = {model: changed?.model ?? model, batches}
  return {
    ...original,
    facts: {kind, layers, heads, headDim, causal, vocabulary},
    pooledBy: model.pooledBy,
    result: computedBy,
    refuses: () => undefined,
    embeddings: () =>
      embeddingsOf(
        original,
        batches.map(({hidden}) => hidden.at(-1)!),
      ),
    async exchanged(run) {
      const {finals, ...found} = await exchanged(original, run)
      try {
        return {
          ...found,
          distances: finals.distances,
          ...(causal
            ? {predictions: await predictionsOf(original, finals)}
            : {embeddings: finals.hidden.map(own => embeddingsOf(exchangedModel, own))}),
        }
      } finally {
        for (const tensor of finals.hidden.flat()) tensor.dispose()
      }
    },
  }
}

/** All draws, layer by layer: the weights of a layer are read once, and what comes before the first exchanged layer is the original. */
async function exchanged(original: Original, {cell, tuned, onStep}: Run) {
  const {batches, changed} = original
  const model = changed?.model ?? original.model
  const {layers} = model.facts
  const firstExchanged = Math.min(...cell.layers)
  const first = changed ? 0 : Math.min(firstExchanged, layers)
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
        const call = {draw, at, stream: before}
        const noted = index === firstExchanged ? attention.noting(attend, layer, call) : attend
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

/** What the first layer that runs reads, for every draw: hidden states of the original, or embeddings of changed weights. */
function startOf({replicates}: SwapCell, {batches, changed}: Original, first: number): Finals {
  const forEachDraw = <T>(make: (batch: OriginalBatch, at: number) => T) =>
    Array.from({length: replicates}, () => batches.map(make))
  return {
    hidden: forEachDraw(({hidden}, at) => (changed?.embedded[at] ?? hidden[first]!).clone()),
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

/** What queries of exact forms are multiplied by, and logits divided by: each entry is rounded once more, as 3 is not a power of 2. */
export const ROUNDING_FACTOR = 3

/**
 * The method of a cell, in the place of softmax attention. Exact forms, which may be the original bit for bit, show what rounding of
 * float32 does.
 *
 * @param draw - which of the independent ones
 * @param tuned - learned parameters
 */
export function drawnAttention(
  cell: Parameters<typeof attendOptions>[0],
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

/** Next tokens of the texts of each draw. */
async function predictionsOf(original: Original, finals: Finals): Promise<NextTokens[][]> {
  const {model, batches, changed} = original
  const table: NextTokens[][] = finals.hidden.map(() => [])
  const head = await model.head()
  const ownHead = await changed?.model.head()
  const last = {heads: [head, ownHead] as const, vocabulary: model.facts.vocabulary}
  try {
    batches.forEach(({tokens, texts, hidden}, at) => {
      const own = finals.hidden.map(batch => batch[at]!)
      nextTokens(last, tokens, hidden.at(-1)!, own).forEach((found, draw) => {
        texts.forEach((text, place) => {
          table[draw]![text] = found[place]!
        })
      })
    })
  } finally {
    head.dispose()
    ownHead?.dispose()
  }
  return table
}

/** Embeddings in the order of the texts. */
function embeddingsOf(
  {model, batches}: Pick<Original, 'model' | 'batches'>,
  hidden: readonly tf.Tensor3D[],
): Embeddings {
  const found: Float32Array[] = []
  batches.forEach(({tokens, texts}, at) => {
    const {vectors} = hostData(() => ({vectors: model.embedding(hidden[at]!, tokens)}))
    const values = vectors as Float32Array
    const width = values.length / texts.length
    texts.forEach((text, place) => {
      found[text] = values.slice(place * width, (place + 1) * width)
    })
  })
  return found
}
