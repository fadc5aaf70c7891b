/** Squares of hidden states, token by token: sums of a text, of a position or of all leave padding out. */
import {tf} from '../../../attention/index.js'
import {hostData} from '../../../attention/internal.js'
import {expected} from '../../../errors.js'
import type {TokenBatch} from '../../../model/index.js'

/** Squared length of the vector of every token, `[B L]`. @param hidden - `[B, L, width]` */
export function tokenSquares(hidden: tf.Tensor3D): Float32Array {
  return read(() => hidden)
}

/** Squared distance of the vectors of every token, `[B L]`. */
export function tokenDistances(own: tf.Tensor3D, exact: tf.Tensor3D): Float32Array {
  return read(() => tf.sub(own, exact))
}

function read(of: () => tf.Tensor3D): Float32Array {
  const {squares} = hostData(() => ({squares: tf.sum(tf.square(of()), -1)}))
  return squares as Float32Array
}

/** The sum over the tokens of each text. @param squares - `[B L]` */
export function overTokens(
  squares: Float32Array,
  {length, lengths}: Pick<TokenBatch, 'length' | 'lengths'>,
): number[] {
  return lengths.map((tokens, text) => {
    const own = squares.subarray(text * length, text * length + tokens)
    return own.reduce((sum, square) => sum + square, 0)
  })
}

/**
 * Refuses hidden states that are not numbers, or so large that float32 cannot hold their squares.
 *
 * @param sums - of squares, for each text
 * @param where - which model, after which layer
 * @throws {NOT_FINITE}
 */
export function requireFinite(sums: readonly number[], where: string): void {
  const wrong = sums.find(sum => !Number.isFinite(sum))
  if (wrong === undefined) return
  const got = `squares that sum to ${wrong}`
  throw expected('NOT_FINITE', where, 'hidden states with squares that float32 can hold', got)
}
