/**
 * Philox4x32-10: a counter-based generator. The 128-bit output is a pure function of a 64-bit key
 * and a 128-bit counter, so any draw can be made alone, in any order, on any machine.
 *
 * Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"; checked
 * against the known-answer vectors of its reference library.
 */

const MULTIPLIER_0 = 0xd2511f53
const MULTIPLIER_1 = 0xcd9e8d57
const WEYL_0 = 0x9e3779b9
const WEYL_1 = 0xbb67ae85
const ROUNDS = 10

/** High 32 bits of the product of two unsigned 32-bit integers, without BigInt. */
function mulHigh(a: number, b: number): number {
  const aLow = a & 0xffff
  const aHigh = a >>> 16
  const bLow = b & 0xffff
  const bHigh = b >>> 16
  const low = aLow * bLow
  const cross = aHigh * bLow + (low >>> 16)
  const middle = aLow * bHigh + (cross & 0xffff)
  return (aHigh * bHigh + (cross >>> 16) + (middle >>> 16)) >>> 0
}

/**
 * One block of four random words, written over `out`.
 *
 * @param out - receives four unsigned 32-bit words
 * @param counter - four unsigned 32-bit words; not changed
 * @param key - two unsigned 32-bit words; not changed
 */
export function philox4x32(out: Uint32Array, counter: Uint32Array, key: Uint32Array): void {
  let c0 = counter[0]!
  let c1 = counter[1]!
  let c2 = counter[2]!
  let c3 = counter[3]!
  let k0 = key[0]!
  let k1 = key[1]!
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = mulHigh(MULTIPLIER_0, c0)
    const low0 = Math.imul(MULTIPLIER_0, c0) >>> 0
    const high1 = mulHigh(MULTIPLIER_1, c2)
    const low1 = Math.imul(MULTIPLIER_1, c2) >>> 0
    c0 = (high1 ^ c1 ^ k0) >>> 0
    c1 = low1
    c2 = (high0 ^ c3 ^ k1) >>> 0
    c3 = low0
    k0 = (k0 + WEYL_0) >>> 0
    k1 = (k1 + WEYL_1) >>> 0
  }
  out[0] = c0
  out[1] = c1
  out[2] = c2
  out[3] = c3
}
