import type {tf} from '../tf.js'

/** What a model is, as its folder says. */
export interface ModelFacts {
  kind: 'bert' | 'gpt2' | 'llama'
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

/** Settings of {@link Model.tokenize}. */
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
  /** Texts with too few tokens. */
  leftOut: number
}

/** What a model takes. */
export interface ModelSizes {
  /** Numbers of weights of a layer, and of final norm and output matrix; an encoder has none of these. */
  layer: number
  head: number
  /** Entries for each token between the matrices of the feed-forward part, all in memory at once. */
  inner: number
}

/** A pretrained transformer that runs layer by layer, forward only. Weights are read when a part is asked for. */
export interface Model {
  readonly facts: ModelFacts
  readonly sizes: ModelSizes
  /** How an encoder makes one vector of a text, in words; `null` for a causal model. */
  readonly pooledBy: string | null
  /** Whether there is a final norm and an output matrix: a decoder may be stored without. */
  readonly hasHead: boolean
  /**
   * Texts as batches of similar length, shortest first. Texts that are too long are cut; special tokens stay. Texts that are too
   * short are left out.
   *
   * @throws {BAD_OPTION} for settings that are no positive integers, or `maxTokens` without room beside special tokens
   * @throws {BAD_FILE} where all texts are too short, or for tokens that the model has no embedding of
   * @throws {UNSUPPORTED} for a tokenizer with parts that are not known here, one that does not end on a text, and for texts
   *   longer than the window of the model
   */
  tokenize(texts: readonly string[], options?: TokenizeOptions): Promise<TokenizedTexts>
  /**
   * The input of the first layer, `[B, L, W]`.
   *
   * @throws {BAD_OPTION} for ids or a length that the model has no embedding of
   */
  embed(batch: TokenBatch): Promise<tf.Tensor3D>
  /**
   * Reads the weights of a layer; the caller disposes of it.
   *
   * @param index - from 0
   * @throws {BAD_RANGE} for a layer that the model does not have
   */
  layer(index: number): Promise<ModelLayer>
  /**
   * Reads the final norm and the output matrix; the caller disposes of it.
   *
   * @throws {UNSUPPORTED} where there is none
   */
  head(): Promise<ModelHead>
  /** {@link head} for one use: logits `[B, L, V]` of the outputs of the last layer. */
  logits(hidden: tf.Tensor3D, batch: TokenBatch): Promise<tf.Tensor3D>
  /**
   * A vector of each text, pooled as the folder says, at unit length, `[B, W]`.
   *
   * @throws {UNSUPPORTED} for a causal model
   */
  embedding(hidden: tf.Tensor3D, batch: TokenBatch): tf.Tensor2D
  close(): Promise<void>
}
