import type {RandomStream} from '../../random/index.js'
import {normalCell, offsetOf, quasiNormal} from './quasi-normal.js'
import {SOBOL_DIRECTIONS} from './sobol-directions.js'
import type {GivenRow, MatrixShape, ProjectionDefinition, StreamOf} from './types.js'

/** Binary digits of the net; what lies below is drawn at random for each point. */
const BITS = 32
/** The largest D that the table of direction numbers serves. */
export const MAX_SOBOL_DIM = SOBOL_DIRECTIONS.length + 1

/**
 * Scrambled Sobol points through the inverse normal distribution function, one point per row.
 *
 * Scrambling: a random lower-triangular matrix and a digital shift per dimension (Matousek), so every
 * point is uniform and the net keeps its balance, which is best for M a power of two.
 */
export const sobol: ProjectionDefinition = {
  title: 'scrambled Sobol points through the normal quantile; best for M a power of two',
  rows: 'normal',
  rotationInvariant: false,
  citation: 'Joe & Kuo 2008, SIAM J. Sci. Comput. 30; Avron et al. 2016, JMLR 17',
  refuses: ({headDim}) =>
    headDim <= MAX_SOBOL_DIM
      ? undefined
      : {
          what: 'headDim',
          expected: `at most ${MAX_SOBOL_DIM} for sobol`,
          got: String(headDim),
        },
  draw: (shape, stream) => sobolRows(shape, stream),
}

/** @param given - a row that the points have: all scramblings with that row are as likely as they are without it */
export function sobolRows(
  {numFeatures, headDim}: MatrixShape,
  stream: StreamOf,
  given?: GivenRow,
): Float64Array {
  const source = stream('directions')
  const used = 32 - Math.clz32(numFeatures - 1) // direction numbers that M points take
  const nets = Array.from({length: headDim}, (_, d) => {
    const directions = scrambled(directionNumbers(d).subarray(0, used), source)
    const shift = source.uint32()
    return {directions, digits: given ? shiftFor(directions, d, given) : shift}
  })
  const offsets = stream('offsets')
  const rows = Float64Array.from({length: numFeatures * headDim}, (_, at) => {
    const net = nets[at % headDim]!
    const point = Math.floor(at / headDim)
    // Gray code: one direction number takes a point to the next
    if (point > 0) net.digits ^= net.directions[trailingZeros(point)]!
    return quasiNormal(net.digits >>> 0, offsetOf(offsets), 2 ** BITS)
  })
  if (given) rows.set(given.vector, given.row * headDim)
  return rows
}

/** The digital shift of a dimension that takes a point into the cell of its entry. */
function shiftFor(directions: Uint32Array, dimension: number, {row, vector}: GivenRow): number {
  let digits = normalCell(vector[dimension]!, 2 ** BITS)
  for (let point = 1; point <= row; point++) digits ^= directions[trailingZeros(point)]!
  return digits
}

/**
 * Direction numbers of one dimension, from the first digit on, as 32-bit fractions.
 *
 * Source: Bratley & Fox 1988, algorithm 659; Joe & Kuo 2008.
 */
export function directionNumbers(dimension: number): Uint32Array {
  const out = new Uint32Array(BITS)
  const [polynomial = 0, ...initial] = dimension === 0 ? [] : SOBOL_DIRECTIONS[dimension - 1]!
  const degree = initial.length
  for (let i = 0; i < BITS; i++) {
    if (degree === 0) out[i] = 1 << (BITS - 1 - i)
    else if (i < degree) out[i] = initial[i]! << (BITS - 1 - i)
    else {
      let number = out[i - degree]! ^ (out[i - degree]! >>> degree)
      for (let k = 1; k < degree; k++) {
        if ((polynomial >>> (degree - 1 - k)) & 1) number ^= out[i - k]!
      }
      out[i] = number
    }
  }
  return out
}

/** Multiplies each number, as a column of binary digits, by a random lower-triangular matrix of ones on the diagonal. */
function scrambled(numbers: Uint32Array, stream: RandomStream): Uint32Array {
  const masks = Uint32Array.from({length: BITS}, (_, digit) => {
    const above = digit === 0 ? 0 : ~(0xffffffff >>> digit)
    return (stream.uint32() & above) | (1 << (BITS - 1 - digit))
  })
  return numbers.map(number =>
    masks.reduce((sum, mask, digit) => sum | (parity(number & mask) << (BITS - 1 - digit)), 0),
  )
}

function parity(word: number): number {
  let bits = word
  for (const shift of [16, 8, 4, 2, 1]) bits ^= bits >>> shift
  return bits & 1
}

/** Zeros behind the last one of a positive integer. */
function trailingZeros(n: number): number {
  return 31 - Math.clz32(n & -n)
}
