/** Queries, keys and values of one layer on all texts. */
import {hostData} from '../attention/internal.js'
import {KEY_MASK} from '../inputs/key-mask.js'
import type {NdArray} from '../inputs/nd-array.js'
import {exactLayerAttention, type LayerAttention, type ModelFacts} from '../model/index.js'
import {tf} from '../tf.js'

/** How many texts, of how many tokens at most. */
export interface TextSizes {
  texts: number
  length: number
}

/** Arrays that are filled batch by batch; tokens that a text does not have stay 0. */
export class CapturedLayer {
  /** `q` `[B, H, L, D]`, `k` and `v` `[B, Hkv, L, D]`. */
  private readonly arrays: Readonly<Record<'q' | 'k' | 'v', NdArray & {data: Float32Array}>>
  /** Which tokens are of texts, `[B, L]`. */
  private readonly present: NdArray & {data: Uint8Array}

  constructor(
    {heads, keyHeads, headDim}: Pick<ModelFacts, 'heads' | 'keyHeads' | 'headDim'>,
    {texts, length}: TextSizes,
  ) {
    const zeros = (own: number) => ({
      shape: [texts, own, length, headDim],
      dtype: 'float32' as const,
      data: new Float32Array(texts * own * length * headDim),
    })
    this.arrays = {q: zeros(heads), k: zeros(keyHeads), v: zeros(keyHeads)}
    const data = new Uint8Array(texts * length)
    this.present = {shape: [texts, length], dtype: 'bool', data}
  }

  /** The arrays, and where some tokens are padding which ones are not. */
  written(): Record<string, NdArray> {
    const isPadded = this.present.data.includes(0)
    return {...this.arrays, ...(isPadded && {[KEY_MASK]: this.present})}
  }

  /**
   * Exact attention that keeps what it reads.
   *
   * @param texts - which of all texts the rows of the batch are
   * @param lengths - their tokens, without padding
   */
  noting(texts: readonly number[], lengths: readonly number[]): LayerAttention {
    return (query, key, value, context) => {
      const data = hostData(() => ({q: tf.clone(query), k: tf.clone(key), v: tf.clone(value)}))
      this.note(data, query.shape[2], texts, lengths)
      return exactLayerAttention(query, key, value, context)
    }
  }

  /**
   * Takes the texts of a batch.
   *
   * @param data - `q` `[B, H, tokens, D]`, `k` and `v` `[B, Hkv, tokens, D]`
   * @param texts - which of all texts its rows are
   * @param lengths - their tokens, without padding
   */
  note(
    data: Readonly<Record<'q' | 'k' | 'v', ArrayLike<number>>>,
    tokens: number,
    texts: readonly number[],
    lengths: readonly number[],
  ): void {
    const [, most] = this.present.shape as [number, number]
    texts.forEach((text, row) => {
      this.present.data.fill(1, text * most, text * most + lengths[row]!)
      for (const name of ['q', 'k', 'v'] as const) {
        copyText(data[name], this.arrays[name], {tokens, row, text, length: lengths[row]!})
      }
    })
  }
}

/** Where a text lies. */
interface Place {
  /** Tokens of the batch. */
  tokens: number
  /** Row of the batch. */
  row: number
  /** Number of the text among all. */
  text: number
  /** Tokens of the text. */
  length: number
}

function copyText(
  from: ArrayLike<number>,
  to: NdArray & {data: Float32Array},
  {tokens, row, text, length}: Place,
): void {
  const [, heads, allTokens, dim] = to.shape as [number, number, number, number]
  for (let head = 0; head < heads; head++) {
    const source = (row * heads + head) * tokens * dim
    const target = (text * heads + head) * allTokens * dim
    for (let at = 0; at < length * dim; at++) to.data[target + at] = from[source + at]!
  }
}
