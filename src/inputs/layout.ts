/** Orders in which files hold the axes of queries, keys and values; here they are always `[B, H, L, D]`. */
import {assertMemory} from './memory.js'
import {elementCount, type NdArray} from './nd-array.js'

/**
 * `bhld`: heads before tokens, `[B, H, L, D]`, as attention computes; `blhd`: tokens before heads, `[B, L, H, D]`, as
 * models in PyTorch split a projection, and as flash-attention takes it. Of three axes the batch is missing.
 */
export const LAYOUTS = ['bhld', 'blhd'] as const
export type Layout = (typeof LAYOUTS)[number]

/** Where nothing is said. */
export const DEFAULT_LAYOUT: Layout = 'bhld'

/** The layout that an array would have if it has not this one. */
export function otherLayout(layout: Layout): Layout {
  return layout === 'bhld' ? 'blhd' : 'bhld'
}

/** The four axes of a layout, as messages show them: `[B, L, H, D]`. */
export function axesOf(layout: Layout): string {
  return layout === 'bhld' ? '[B, H, L, D]' : '[B, L, H, D]'
}

/** The shapes that arrays may have in a layout, as messages show them. */
export function shapesOf(layout: Layout): string {
  return `[L, D], ${layout === 'bhld' ? '[H, L, D]' : '[L, H, D]'} or ${axesOf(layout)}`
}

/** What to do about arrays that were read in the wrong one of two layouts. */
export function layoutAdvice(read: Layout): string {
  return `say \`layout: ${otherLayout(read)}\``
}

/** Four axes with the second and the third exchanged. */
export type Four = [number, number, number, number]
export function exchanged([first, second, third, last]: Readonly<Four>): Four {
  return [first, third, second, last]
}

/**
 * An array of four axes as float32 with the second and the third axis exchanged, in one pass whatever its type.
 *
 * @param data - `[A, X, Y, D]`, row-major
 * @param shape - those axes
 * @param where - what messages call the array
 * @returns `[A, Y, X, D]`, row-major; `data` itself where it is float32 and the exchange moves nothing
 * @throws {TOO_LARGE} when the copy does not fit in memory
 */
export function exchangeAxes(
  data: NdArray['data'],
  shape: Readonly<Four>,
  where: string,
): Float32Array<ArrayBuffer> {
  const [outer, rows, columns, dim] = shape
  const moves = rows > 1 && columns > 1
  if (!moves && data instanceof Float32Array) return data
  assertMemory(where, Float32Array.BYTES_PER_ELEMENT * elementCount(shape))
  const out = new Float32Array(data.length)
  let target = 0
  for (let a = 0; a < outer; a++) {
    for (let column = 0; column < columns; column++) {
      for (let row = 0; row < rows; row++) {
        const start = ((a * rows + row) * columns + column) * dim
        for (let d = 0; d < dim; d++) out[target++] = Number(data[start + d])
      }
    }
  }
  return out
}
