/** Errors of exchanged attention by itself, on the hidden states of the original. */
import {tf} from '../../../attention/index.js'
import {hostData} from '../../../attention/internal.js'
import {exactLayerAttention, type LayerAttention, type ModelLayer} from '../../../model/index.js'
import {ATTENTION_ERRORS, type AttentionErrorName} from '../schema.js'
import type {OriginalBatch} from './context.js'
import {RelativeSquares, type TextSquares, textSquares} from './squares.js'

/** Which call of attention it is. */
interface Call {
  /** Number of the layer. */
  index: number
  draw: number
  /** Number of the batch. */
  at: number
}

/**
 * Errors of the attention of one layer that reads the hidden states of the original: of the first exchanged layer, which does so
 * anyway. They cost one exact attention for each batch, and one product with the output projection for each draw.
 */
export class AttentionErrors {
  readonly squares: Readonly<Record<AttentionErrorName, RelativeSquares>>
  /** Outputs of the original's attention, `[B, H, L, D]`, by batch. */
  #exact: tf.Tensor4D[] = []

  constructor(
    private readonly measured: {batches: readonly OriginalBatch[]; draws: number; texts: number},
  ) {
    this.squares = forEachError(() => new RelativeSquares(measured))
  }

  /** An attention that notes its errors. */
  noting(attention: LayerAttention, layer: ModelLayer, call: Call): LayerAttention {
    return (query, key, value, context) => {
      const own = attention(query, key, value, context)
      this.#exact[call.at] ??= tf.keep(exactLayerAttention(query, key, value, context))
      this.note(own, this.#exact[call.at]!, layer, call)
      return own
    }
  }

  /** Drops what was kept for the layer. */
  dispose(): void {
    tf.dispose(this.#exact)
    this.#exact = []
  }

  private note(
    own: tf.Tensor4D,
    exact: tf.Tensor4D,
    layer: ModelLayer,
    {index, draw, at}: Call,
  ): void {
    const {tokens, texts, hidden} = this.measured.batches[at]!
    const {out, difference, added, stream} = hostData(() => {
      const off: tf.Tensor4D = tf.sub(own, exact)
      return {out: exact, difference: off, added: layer.project(off), stream: hidden[index]!}
    })
    const [, blocks, length, headDim] = exact.shape
    const heads = {blocks, length, width: headDim}
    const rows = {length, width: hidden[index]!.shape[2]}
    tokens.lengths.forEach((count, row) => {
      const text = {draw, text: texts[row]!}
      const error = textSquares(difference, heads, row, count)
      const projected = textSquares(added, rows, row, count)
      const names = ['rel_l2', 'token_mean_rel_l2'] as const
      this.add(text, names, error, textSquares(out, heads, row, count))
      const against = ['residual', 'token_mean_residual'] as const
      this.add(text, against, projected, textSquares(stream, rows, row, count))
    })
  }

  private add(
    {draw, text}: {draw: number; text: number},
    [whole, ofMeans]: readonly [AttentionErrorName, AttentionErrorName],
    error: TextSquares,
    size: TextSquares,
  ): void {
    this.squares[whole].add(draw, text, error.all, size.all)
    this.squares[ofMeans].add(draw, text, error.mean, size.mean)
  }
}

/** A value for each kind of error. */
export function forEachError<T>(
  of: (name: AttentionErrorName) => T,
): Record<AttentionErrorName, T> {
  return Object.fromEntries(ATTENTION_ERRORS.map(name => [name, of(name)])) as Record<
    AttentionErrorName,
    T
  >
}
