import {randomStream} from '../../random/index.js'
import {emptyArrays, headOf, withNormals} from './fill.js'
import type {GeneratedArrays, GeneratorShape} from './types.js'

/** Standard deviation of what is added to a token to make its query and its key. */
export const TOKEN_NOISE = 0.3

/**
 * Makes the tokens of one head, `[length, width]`, entries of mean 0 and variance 1.
 *
 * @param length - max(L, S)
 * @param width - max(D, Dv)
 * @param head - `b * H + h`
 */
type TokenSource = (length: number, width: number, head: number) => Float64Array

/**
 * Input of a self-attention layer over tokens x_t: `q_t = (x_t + noise) / c`, `k_t = (x_t + noise')
 * / c`, `v_t = x_t`, with `noise ~ N(0, 0.3^2 I)` independent for q and k and `c = sqrt(1 +
 * 0.3^2)`, so that q and k have variance 1; multiply them by 1.044 for the unnormalised form.
 *
 * With L != S, queries and keys are the first L and the first S tokens; with D != Dv, q and k take
 * the first D entries of a token and v the first Dv.
 *
 * @param shape - sizes and seed
 * @param generator - its name, part of the names of the draws
 * @param tokens - makes x
 */
export function mixTokens(
  shape: GeneratorShape,
  generator: string,
  tokens: TokenSource,
): GeneratedArrays {
  const {batch, heads, queryLen, keyLen, headDim, valueDim, seed} = shape
  const arrays = emptyArrays(shape)
  const width = Math.max(headDim, valueDim)
  const norm = Math.sqrt(1 + TOKEN_NOISE ** 2)
  for (let head = 0; head < batch * heads; head++) {
    const token = tokens(Math.max(queryLen, keyLen), width, head)
    for (const part of ['query', 'key'] as const) {
      const noise = randomStream(seed, `input.${generator}.${part}`, head)
      const rows = headOf(arrays[part], head)
      withNormals(rows.length / headDim, headDim, noise, (normals, start, row) => {
        for (let d = 0; d < headDim; d++) {
          const x = token[row * width + d]! + TOKEN_NOISE * normals[start + d]!
          rows[row * headDim + d] = x / norm
        }
      })
    }
    const value = headOf(arrays.value, head)
    for (let i = 0; i < value.length; i++) {
      value[i] = token[Math.floor(i / valueDim) * width + (i % valueDim)]!
    }
  }
  return arrays
}
