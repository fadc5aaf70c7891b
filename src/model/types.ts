import type {tf} from '../tf.js'

/** Sizes of a model, and what its attention sees. */
export interface ModelShape {
  layers: number
  /** H, heads of queries. */
  heads: number
  /** Hkv, heads of keys and values; each serves `heads / keyHeads` heads of queries. */
  keyHeads: number
  /** D. */
  headDim: number
  /** W, length of a hidden state. */
  width: number
  causal: boolean
  /** V, rows of the table of embeddings. */
  vocabulary: number
  /** Positions that the model was made for. */
  maxTokens: number
  /** Tokens that a query sees at most, itself included; absent: all before it. Longer texts are refused. */
  window?: number
  /** Factor on q.k. */
  scale: number
}

/** Texts as tokens, padded at the end to the longest. */
export interface TokenBatch {
  /** `[B, L]`. */
  ids: Int32Array
  batch: number
  length: number
  /** Tokens of each text, `B` of them, each from 1 to `length`. */
  lengths: readonly number[]
  /** Tokens of each text before these, which attention has seen. Default 0. */
  offset?: number
}

/** What an attention gets in addition to queries, keys and values. */
export interface LayerContext {
  layer: number
  /** Query i sees keys j <= i only. */
  causal: boolean
  /** Factor on q.k. */
  scale: number
  /** `[B, L]`, nonzero = present; absent where no text of the batch is padded. */
  keyMask?: tf.Tensor2D
}

/**
 * The attention of one layer.
 *
 * @param query - `[B, H, L, D]`, as the model forms it, positions included; not scaled
 * @param key - `[B, Hkv, L, D]`; see `repeatHeads` for methods that need equal numbers of heads
 * @param value - `[B, Hkv, L, D]`
 * @returns `[B, H, L, D]`
 */
export type LayerAttention = (
  query: tf.Tensor4D,
  key: tf.Tensor4D,
  value: tf.Tensor4D,
  context: LayerContext,
) => tf.Tensor4D

/** One layer with its weights in memory. */
export interface ModelLayer {
  /**
   * @param hidden - `[B, L, W]`; kept
   * @returns the input of the next layer, `[B, L, W]`
   */
  forward(hidden: tf.Tensor3D, batch: TokenBatch, attention: LayerAttention): tf.Tensor3D
  /**
   * What outputs of attention add to the residual stream, without the bias of the projection: linear in them.
   *
   * @param attended - `[B, H, L, D]`; kept
   * @returns `[B, L, W]`
   */
  project(attended: tf.Tensor4D): tf.Tensor3D
  dispose(): void
}

/** The final norm and the output matrix of a causal model in memory. */
export interface ModelHead {
  /**
   * @param hidden - outputs of the last layer, `[B, L, W]`, or any tokens of them; kept
   * @returns `[B, L, V]`
   */
  logits(hidden: tf.Tensor3D): tf.Tensor3D
  dispose(): void
}

export interface TokenizeOptions {
  /** Tokens where a text is cut, special ones included. Default, and at most: those of the model. */
  maxTokens?: number
  /** Texts of a batch at most; one of several texts has 1152 tokens at most. Default 32. */
  batchSize?: number
  /** Texts with fewer tokens are left out. Default 1. */
  least?: number
  /** Time that the tokenizer has for one text. Default: 20 s, and 20 s for a million characters. */
  limitMs?: number
}

/** Texts as batches; text `order[i][j]` of those that are not left out is row j of batch i. */
export interface TokenizedTexts {
  batches: TokenBatch[]
  order: number[][]
  /** Which of the texts that were given these are, in their order. */
  taken: number[]
  /** Texts with too few tokens. */
  leftOut: number
}

export interface ModelSizes {
  /** Numbers of weights of a layer, and of final norm and output matrix; an encoder has none of these. */
  layer: number
  head: number
  /** Entries for each token between the matrices of the feed-forward part, all in memory at once. */
  inner: number
}
