/** Random draws in C++: what `src/random` and `src/attention/projections` define. */
import {expected} from '../../errors.js'
import type {HostLoops} from '../../host-loops.js'
import type {DrawsAddon} from './addon.js'

/** Words of a stream: two of the key, four of the counter. */
const STREAM_WORDS = 6
const KEY_WORDS = 2

/** The draws of the addon. They check arrays and sizes: C++ does not. */
export function nativeDraws(
  addon: DrawsAddon,
): Pick<HostLoops, 'normals' | 'normalBlocks' | 'orthogonalRows' | 'orthonormalizeRows'> {
  return {
    normals(stream, out) {
      checkWords('stream', stream, STREAM_WORDS)
      checkReals('out', out)
      return addon.normals(stream, out)
    },
    normalBlocks(call) {
      const {key, replicates, heads, length, blockLength, out} = call
      checkWords('key', key, KEY_WORDS)
      checkSizes({replicates, heads, length, blockLength})
      checkReals('out', out, replicates * heads * length)
      addon.normalBlocks(call)
    },
    orthogonalRows(call) {
      const {directionKey, lengthKey, replicates, heads, numFeatures, headDim, out} = call
      checkWords('directionKey', directionKey, KEY_WORDS)
      if (lengthKey) checkWords('lengthKey', lengthKey, KEY_WORDS)
      checkSizes({replicates, heads, numFeatures, headDim})
      checkReals('out', out, replicates * heads * numFeatures * headDim)
      addon.orthogonalRows(call)
    },
    orthonormalizeRows(matrix, columns) {
      checkSizes({columns})
      if (!(matrix instanceof Float64Array)) refuse('matrix', 'Float64Array', matrix)
      const rows = matrix.length / columns
      if (!Number.isInteger(rows) || rows > columns) {
        refuse('matrix', `at most ${columns} rows of ${columns}`, matrix)
      }
      addon.orthonormalizeRows(matrix, columns)
    },
  }
}

/** @throws {SHAPE_MISMATCH} unless all are whole numbers, at least 1 */
function checkSizes(sizes: Record<string, number>): void {
  for (const [name, size] of Object.entries(sizes)) {
    if (Number.isSafeInteger(size) && size > 0) continue
    throw expected('SHAPE_MISMATCH', 'draws', `${name}: a whole number of at least 1`, `${size}`)
  }
}

/** @throws {SHAPE_MISMATCH} unless it is a number of 32-bit words */
function checkWords(name: string, words: Uint32Array, count: number): void {
  if (words instanceof Uint32Array && words.length === count) return
  refuse(name, `Uint32Array of ${count}`, words)
}

/** @throws {SHAPE_MISMATCH} unless it is an array of floats or doubles, and of a length where one is given */
function checkReals(name: string, array: Float64Array | Float32Array, length?: number): void {
  const isReal = array instanceof Float32Array || array instanceof Float64Array
  if (isReal && (length === undefined || array.length === length)) return
  const wanted = 'Float32Array or Float64Array'
  refuse(name, length === undefined ? wanted : `${wanted} of ${length}`, array)
}

/** @throws {SHAPE_MISMATCH} */
function refuse(name: string, wanted: string, got: ArrayLike<number> | undefined): never {
  const found = `${got?.constructor.name} of ${got?.length}`
  throw expected('SHAPE_MISMATCH', 'draws', `${name}: ${wanted}`, found)
}
