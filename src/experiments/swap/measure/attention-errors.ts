/** Errors of exchanged attention by itself, on the hidden states that exact attention would read. */
import {tf} from '../../../attention/index.js'
import {hostData} from '../../../attention/internal.js'
import {hostLoops} from '../../../host-loops.js'
import {
  exactLayerAttention,
  type LayerAttention,
  type ModelLayer,
  type TokenBatch,
} from '../../../model/index.js'
import {ATTENTION_ERRORS, type AttentionErrorName} from '../schema.js'
import type {OriginalBatch} from './context.js'
import {RelativeSquares, type TextSquares, textSquares} from './squares.js'

/** Which call of attention it is. */
interface Call {
  draw: number
  /** Number of the batch. */
  at: number
  /** What the layer reads, `[B, L, width]`: the same in every draw. */
  stream: tf.Tensor3D
}

/** Exact attention in one layer on one batch, and what errors are measured against. */
interface ExactAttention {
  /** `[B, H, L, D]` */
  out: tf.Tensor4D
  /** Squares of these outputs by text, and of the residual stream. */
  outputs: TextSquares[]
  stream: TextSquares[]
}

/**
 * Errors of the attention of one layer that reads the same in every draw: of the first exchanged layer, which does so anyway. They
 * cost one exact attention for each batch, and one product with the output projection for each draw.
 */
export class AttentionErrors {
  readonly squares: Readonly<Record<AttentionErrorName, RelativeSquares>>
  /** On the batch at hand. */
  #exact: ExactAttention | undefined

  constructor(
    private readonly measured: {batches: readonly OriginalBatch[]; draws: number; texts: number},
  ) {
    this.squares = forEachError(() => new RelativeSquares(measured))
  }

  /** An attention that notes its errors. */
  noting(attention: LayerAttention, layer: ModelLayer, call: Call): LayerAttention {
    return (query, key, value, context) => {
      const own = attention(query, key, value, context)
      this.#exact ??= this.exact(exactLayerAttention(query, key, value, context), call)
      this.note(own, this.#exact, layer, call)
      return own
    }
  }

  /** Drops what is kept of a batch: to be called after its last draw. */
  endBatch(): void {
    this.#exact?.out.dispose()
    this.#exact = undefined
  }

  private exact(out: tf.Tensor4D, {at, stream}: Call): ExactAttention {
    const {tokens} = this.measured.batches[at]!
    const data = hostData(() => ({out, stream}))
    return {
      out: tf.keep(out),
      outputs: squaresOf(tokens, data.out, out.shape[1]),
      stream: squaresOf(tokens, data.stream),
    }
  }

  private note(
    own: tf.Tensor4D,
    {out, outputs, stream}: ExactAttention,
    layer: ModelLayer,
    {draw, at}: Call,
  ): void {
    const {tokens, texts} = this.measured.batches[at]!
    const off = (): tf.Tensor4D => tf.sub(own, out)
    const errors = passingSquares(tokens, off, out.shape[1])
    const added = passingSquares(tokens, () => layer.project(off()))
    texts.forEach((text, row) => {
      const at = {draw, text}
      this.add(at, ['rel_l2', 'token_mean_rel_l2'], errors[row]!, outputs[row]!)
      this.add(at, ['residual', 'token_mean_residual'], added[row]!, stream[row]!)
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

/** Squares of the texts of a batch. @param data - `[B, blocks, L, width]` */
function squaresOf(
  {batch, length, lengths}: TokenBatch,
  data: ArrayLike<number>,
  blocks = 1,
): TextSquares[] {
  const sizes = {blocks, length, width: data.length / (batch * blocks * length)}
  return lengths.map((tokens, row) => textSquares(data, sizes, row, tokens))
}

/** The same of a tensor that is made for this alone: its memory goes back to the backend. */
function passingSquares(tokens: TokenBatch, make: () => tf.Tensor, blocks?: number): TextSquares[] {
  const {data} = hostData(() => ({data: make()}))
  const squares = squaresOf(tokens, data, blocks)
  hostLoops().recycle?.(data as Float32Array)
  return squares
}

export function forEachError<T>(
  of: (name: AttentionErrorName) => T,
): Record<AttentionErrorName, T> {
  return Object.fromEntries(ATTENTION_ERRORS.map(name => [name, of(name)])) as Record<
    AttentionErrorName,
    T
  >
}
