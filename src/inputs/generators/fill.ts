import {type RandomStream, randomStream} from '../../random/index.js'
import type {AttentionArray} from '../attention-input.js'
import type {GeneratedArrays, GeneratorShape} from './types.js'

/** Writes the `length * dim` elements of one batch and head, token by token. */
type HeadWriter = (rows: Float32Array, head: number) => void

/**
 * Makes an array head by head.
 *
 * @param shape - `[B, H, L, D]`
 * @param write - called once per batch and head with its part of the array; `head` is `b * H + h`
 */
function fillHeads(shape: AttentionArray['shape'], write: HeadWriter): AttentionArray {
  const [batch, heads, length, dim] = shape
  const data = new Float32Array(batch * heads * length * dim)
  for (let head = 0; head < batch * heads; head++) {
    write(data.subarray(head * length * dim, (head + 1) * length * dim), head)
  }
  return {shape, data}
}

/** Empty (zero) arrays of the three shapes, to be filled together where they depend on each other. */
export function emptyArrays(shape: GeneratorShape): GeneratedArrays {
  const {batch, heads, queryLen, keyLen, headDim, valueDim} = shape
  const empty = (length: number, dim: number) => fillHeads([batch, heads, length, dim], () => {})
  return {
    query: empty(queryLen, headDim),
    key: empty(keyLen, headDim),
    value: empty(keyLen, valueDim),
  }
}

/** The elements of one batch and head, `[L, D]`; a view. */
export function headOf({shape, data}: AttentionArray, head: number): Float32Array {
  const size = shape[2] * shape[3]
  return data.subarray(head * size, (head + 1) * size)
}

/**
 * Independent standard normals, one stream per batch and head that walks along the tokens: the
 * first tokens do not depend on the length.
 *
 * @param shape - `[B, H, L, D]`
 * @param seed - of the plan
 * @param name - of the draw, e.g. `input.gaussian.query`
 */
export function gaussianArray(
  shape: AttentionArray['shape'],
  seed: number,
  name: string,
): AttentionArray {
  return fillHeads(shape, (rows, head) => randomStream(seed, name, head).fillNormals(rows))
}

/** Normals that {@link withNormals} holds at a time: 64 KiB of doubles. */
const CHUNK = 8192

/**
 * Draws standard normals in double precision for `length` rows, some rows at a time.
 *
 * @param use - called for each row in turn, with an array that holds its `width` normals from `start` on
 */
export function withNormals(
  length: number,
  width: number,
  stream: RandomStream,
  use: (normals: Float64Array, start: number, row: number) => void,
): void {
  const step = Math.max(1, Math.floor(CHUNK / width))
  const chunk = new Float64Array(width * Math.min(step, length))
  for (let first = 0; first < length; first += step) {
    const rows = Math.min(step, length - first)
    const drawn = chunk.subarray(0, rows * width)
    stream.fillNormals(drawn)
    for (let i = 0; i < rows; i++) use(drawn, i * width, first + i)
  }
}
