/**
 * The two 16-bit floating-point formats. Every 16-bit value is a float32 value, so decoding is
 * exact; encoding rounds to nearest, ties to even.
 *
 * `float16`: 1 sign, 5 exponent, 10 fraction bits (IEEE 754 binary16). `bfloat16`: the upper half
 * of a float32.
 */

const scratchFloat = new Float32Array(1)
const scratchBits = new Uint32Array(scratchFloat.buffer)

export function float16ToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >>> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN
  if (exponent === 0) return sign * fraction * 2 ** -24 // subnormal, and both zeros
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** Nearest float16 pattern of a number; magnitudes from 65520 on become infinity. */
export function numberToFloat16(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const magnitude = Math.abs(value)
  if (Number.isNaN(value)) return 0x7e00
  if (magnitude >= 65520) return sign | 0x7c00
  // the spacing of float16 values around `magnitude`; below 2^-14 it stays that of the subnormals
  const exponent = Math.max(-14, Math.floor(Math.log2(magnitude)))
  const units = roundHalfEven(magnitude / 2 ** (exponent - 10))
  // carries into the exponent by itself when rounding reaches the next power of two
  return sign | (((exponent + 14) << 10) + units)
}

/** Nearest bfloat16 pattern of a float32 value. */
export function numberToBfloat16(value: number): number {
  scratchFloat[0] = value
  const bits = scratchBits[0]!
  if (Number.isNaN(value)) return 0x7fc0
  // adding half of the dropped range, less one unless the kept part is odd, rounds ties to even
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff
}

/** Every float16 value by its pattern, made when one is needed first: looking up is ten times faster than computing. */
let float16Values: Float32Array | undefined

/** Widens 16-bit patterns to float32, exactly. */
export function widen(bits: Uint16Array, dtype: 'float16' | 'bfloat16'): Float32Array<ArrayBuffer> {
  const out = new Float32Array(bits.length)
  if (dtype === 'bfloat16') {
    const patterns = new Uint32Array(out.buffer)
    for (let i = 0; i < bits.length; i++) patterns[i] = bits[i]! << 16
    return out
  }
  float16Values ??= allFloat16()
  for (let i = 0; i < bits.length; i++) out[i] = float16Values[bits[i]!]!
  return out
}

/** Normal numbers by their bits, which have another bias of the exponent and more places for the fraction. */
function allFloat16(): Float32Array {
  const values = new Float32Array(2 ** 16)
  const bits = new Uint32Array(values.buffer)
  for (let pattern = 0; pattern < values.length; pattern++) {
    const exponent = (pattern >>> 10) & 0x1f
    if (exponent % 0x1f === 0) values[pattern] = float16ToNumber(pattern)
    else bits[pattern] = ((pattern & 0x8000) << 16) | (((pattern & 0x7fff) << 13) + (112 << 23))
  }
  return values
}

/** Rounds numbers to 16-bit patterns, ties to even. */
export function narrow(
  values: ArrayLike<number>,
  dtype: 'float16' | 'bfloat16',
): Uint16Array<ArrayBuffer> {
  const encode = dtype === 'float16' ? numberToFloat16 : numberToBfloat16
  const out = new Uint16Array(values.length)
  for (let i = 0; i < values.length; i++) out[i] = encode(values[i]!)
  return out
}

/** Nearest integer of a non-negative number, the even one in a tie. */
function roundHalfEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  if (rest !== 0.5) return Math.round(value)
  return floor % 2 === 0 ? floor : floor + 1
}
