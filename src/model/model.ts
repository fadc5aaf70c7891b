import type {tf} from '../tf.js'
import type {Kind} from './architectures/index.js'
import type {
  ModelHead,
  ModelLayer,
  ModelShape,
  ModelSizes,
  TokenBatch,
  TokenizedTexts,
  TokenizeOptions,
} from './types.js'

/** What a model is, as its folder says. */
export interface ModelFacts extends ModelShape {
  kind: Kind
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
