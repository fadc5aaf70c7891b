/** Sums of squares of errors and of what they are errors of, kept for every draw and text. */

/** A sum over all tokens, and the square of their mean. */
export interface TextSquares {
  all: number
  /** Of the mean over the tokens, all entries together. */
  mean: number
}

/**
 * Squares of one text of a batch, without its padding.
 *
 * @param data - `[B, blocks, L, width]`
 * @param text - row of the batch
 * @param tokens - of the text
 */
export function textSquares(
  data: ArrayLike<number>,
  {blocks = 1, length, width}: {blocks?: number; length: number; width: number},
  text: number,
  tokens: number,
): TextSquares {
  let [all, mean] = [0, 0]
  const sums = new Float64Array(width)
  for (let block = 0; block < blocks; block++) {
    sums.fill(0)
    const start = (text * blocks + block) * length * width
    for (let token = 0; token < tokens; token++) {
      for (let i = 0; i < width; i++) {
        const value = data[start + token * width + i]!
        all += value * value
        sums[i]! += value
      }
    }
    for (const sum of sums) mean += (sum / tokens) ** 2
  }
  return {all, mean}
}

/** Relative errors by draw and text: sums of squares of any of them. */
export class RelativeSquares {
  readonly #errors: Float64Array
  readonly #sizes: Float64Array

  constructor(private readonly of: {draws: number; texts: number}) {
    this.#errors = new Float64Array(of.draws * of.texts)
    this.#sizes = new Float64Array(of.draws * of.texts)
  }

  add(draw: number, text: number, error: number, size: number): void {
    const at = draw * this.of.texts + text
    this.#errors[at]! += error
    this.#sizes[at]! += size
  }

  /** Root of the squared error over the squared size. @param draw - absent: of all @param isIn - which texts count; absent: all */
  relative({draw, isIn = () => true}: {draw?: number; isIn?: (text: number) => boolean} = {}) {
    let [error, size] = [0, 0]
    const {texts} = this.of
    for (let at = 0; at < this.#errors.length; at++) {
      if (draw !== undefined && Math.floor(at / texts) !== draw) continue
      if (!isIn(at % texts)) continue
      error += this.#errors[at]!
      size += this.#sizes[at]!
    }
    return Math.sqrt(error / size)
  }
}
