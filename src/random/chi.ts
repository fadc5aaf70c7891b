import {normals, type RandomStream} from './stream.js'

/**
 * Where {@link chis} takes its numbers from: separate streams, so that a longer draw begins with the lengths of a
 * shorter one.
 */
export interface ChiStreams {
  /** Three normals for each length. */
  normal: RandomStream
  /** Three for each one that is tried again. */
  again: RandomStream
}

/**
 * Independent numbers with the law of |N(0, I_dim)|, exact, at a cost that does not grow with the dimension: their
 * squares are twice gamma numbers of shape dim / 2. Half the sum of two squared normals stands for the negative
 * logarithm of a uniform number.
 *
 * Source: Marsaglia & Tsang 2000, "A simple method for generating gamma variables", ACM TOMS 26(3), for shapes from 1 up.
 *
 * @param dim - at least 1
 */
export function chis({normal, again}: ChiStreams, count: number, dim: number): Float64Array {
  const triples = normals(normal, 3 * count)
  const out = new Float64Array(count)
  const d = dim / 2 - 1 / 3
  const slope = 1 / Math.sqrt(9 * d)
  for (let at = 0; at < count; at++) {
    let x = triples[3 * at]!
    if (dim === 1) {
      out[at] = Math.abs(x)
      continue
    }
    let exponential = (triples[3 * at + 1]! ** 2 + triples[3 * at + 2]! ** 2) / 2
    let v = cube(1 + slope * x)
    while (!accepts(x, v, d, exponential)) {
      x = again.normal()
      exponential = (again.normal() ** 2 + again.normal() ** 2) / 2
      v = cube(1 + slope * x)
    }
    out[at] = Math.sqrt(2 * d * v)
  }
  return out
}

function cube(x: number): number {
  return x * x * x // a power takes ten times as long
}

/** Whether v, the cube, is taken for gamma / d: with probability `min(1, exp(x^2/2 + d (1 - v + ln v)))`. */
function accepts(x: number, v: number, d: number, exponential: number): boolean {
  if (v <= 0) return false
  const square = x * x
  // that is at least 1 - q, and -ln(1 - q) < q + q^2 up to 0.68: this saves most logarithms
  const q = 0.0331 * square * square
  if (q < 0.5 && exponential > q + q * q) return true
  return -exponential < square / 2 + d * (1 - v + Math.log(v))
}
