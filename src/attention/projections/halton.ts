import type {RandomStream} from '../../random/index.js'
import {normalCell, offsetOf, quasiNormal} from './quasi-normal.js'
import type {GivenRow, MatrixShape, ProjectionDefinition, StreamOf} from './types.js'

/** Digits are permuted until they say this much; below, each point is drawn at random. */
const CELLS = 2 ** 32

/**
 * Scrambled Halton points through the inverse normal distribution function, one point per row:
 * digits in base p, the d-th prime, with a random permutation per place.
 */
export const halton: ProjectionDefinition = {
  title: 'scrambled Halton points through the normal quantile; any M',
  rows: 'normal',
  rotationInvariant: false,
  citation: 'Owen 2017, arXiv:1706.02808',
  draw: (shape, stream) => haltonRows(shape, stream),
}

/** @param given - a row that the points have: all permutations with that row are as likely as they are without it */
export function haltonRows(
  {numFeatures, headDim}: MatrixShape,
  stream: StreamOf,
  given?: GivenRow,
): Float64Array {
  const sequences = firstPrimes(headDim).map((prime, d) => scrambling(prime, stream('digits', d)))
  if (given) {
    for (const [d, sequence] of sequences.entries()) steer(sequence, given.row, given.vector[d]!)
  }
  const offsets = stream('offsets')
  const rows = Float64Array.from({length: numFeatures * headDim}, (_, at) => {
    const sequence = sequences[at % headDim]!
    const cell = cellOf(Math.floor(at / headDim), sequence)
    return quasiNormal(cell, offsetOf(offsets), sequence.cells)
  })
  if (given) rows.set(given.vector, given.row * headDim)
  return rows
}

/** Exchanges two digits of each permutation so that a point is in the cell of a normal number. */
function steer({prime, permutations, cells}: Scrambling, point: number, value: number): void {
  const cell = normalCell(value, cells)
  let [rest, place] = [point, cells]
  for (const digits of permutations) {
    place /= prime
    const from = rest % prime
    const digit = Math.floor(cell / place) % prime
    const other = digits.indexOf(digit)
    ;[digits[from], digits[other]] = [digit, digits[from]!]
    rest = Math.floor(rest / prime)
  }
}

interface Scrambling {
  prime: number
  /** One permutation of the digits per place, most significant place first. */
  permutations: Uint32Array[]
  /** prime to the number of places */
  cells: number
}

function scrambling(prime: number, stream: RandomStream): Scrambling {
  const permutations: Uint32Array[] = []
  let cells = 1
  for (; cells < CELLS; cells *= prime) permutations.push(permutation(prime, stream))
  return {prime, permutations, cells}
}

/** The cell of a point: its index with digits reversed (the radical inverse, as a whole number) and permuted. */
function cellOf(index: number, {prime, permutations}: Scrambling): number {
  let rest = index
  let cell = 0
  for (const digits of permutations) {
    cell = cell * prime + digits[rest % prime]!
    rest = Math.floor(rest / prime)
  }
  return cell
}

function permutation(size: number, stream: RandomStream): Uint32Array {
  const out = Uint32Array.from({length: size}, (_, i) => i)
  for (let i = size - 1; i > 0; i--) {
    const j = stream.integer(i + 1)
    ;[out[i], out[j]] = [out[j]!, out[i]!]
  }
  return out
}

export function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) {
    if (!primes.some(prime => prime * prime <= n && n % prime === 0)) primes.push(n)
  }
  return primes
}
