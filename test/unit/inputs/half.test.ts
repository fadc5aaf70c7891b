import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {
  float16ToNumber,
  narrow,
  numberToBfloat16,
  numberToFloat16,
  widen,
} from '../../../src/inputs/half.js'

/** Value of one bfloat16 pattern. */
const widened = (bits: number) => widen(new Uint16Array([bits]), 'bfloat16')[0]!

const FORMATS = {
  float16: {decode: float16ToNumber, encode: numberToFloat16, infinity: 0x7c00},
  bfloat16: {decode: widened, encode: numberToBfloat16, infinity: 0x7f80},
} as const

describe.each(Object.keys(FORMATS) as (keyof typeof FORMATS)[])('%s', name => {
  const {decode, encode, infinity} = FORMATS[name]

  test('every pattern survives decoding and encoding, NaN as NaN', () => {
    for (let bits = 0; bits <= 0xffff; bits++) {
      const value = decode(bits)
      if (Number.isNaN(value)) expect(decode(encode(value))).toBeNaN()
      else if (encode(value) !== bits) expect.fail(`pattern ${bits} came back as ${encode(value)}`)
    }
  })

  test('every decoded value is a float32 value', () => {
    for (let bits = 0; bits <= 0xffff; bits++) {
      const value = decode(bits)
      if (!Object.is(Math.fround(value), value)) expect.fail(`pattern ${bits} is ${value}`)
    }
  })

  test('encoding takes the nearest value, the even pattern in a tie', () => {
    fc.assert(
      fc.property(
        fc.integer({min: 0, max: infinity - 2}),
        fc.double({min: 0, max: 1, noNaN: true}),
        (bits, t) => {
          const [low, high] = [decode(bits), decode(bits + 1)]
          const value = Math.fround(low + t * (high - low))
          const toLow = value - low
          const toHigh = high - value
          const nearest = toLow < toHigh || (toLow === toHigh && bits % 2 === 0) ? bits : bits + 1
          expect(encode(value)).toBe(nearest)
          expect(encode(-value)).toBe(nearest | 0x8000)
        },
      ),
      {
        examples: [
          [0x3c00, 0.5],
          [0x3c01, 0.5],
          [0, 0.5],
          [1, 0.5],
        ],
      },
    )
  })

  test('arrays go element by element', () => {
    const bits = new Uint16Array([0, 0x8000, infinity, 1, 0x3c01])
    expect([...narrow(widen(bits, name), name)]).toEqual([...bits])
  })
})

test.each([
  [0x3c00, 1],
  [0xc000, -2],
  [0x7bff, 65504],
  [0x0001, 2 ** -24],
  [0x03ff, 1023 * 2 ** -24],
  [0x0400, 2 ** -14],
  [0x3555, 1365 / 4096],
  [0x7c00, Infinity],
])('float16 pattern %i is %d', (bits, value) => {
  expect(float16ToNumber(bits)).toBe(value)
})

test.each([
  [0x3f80, 1],
  [0xc000, -2],
  [0x4049, 3.140625],
  [0x0001, 2 ** -133],
  [0xff80, -Infinity],
])('bfloat16 pattern %i is %d', (bits, value) => {
  expect(widened(bits)).toBe(value)
})

test.each([
  [65519.99, 0x7bff],
  [65520, 0x7c00],
  [-1e300, 0xfc00],
  [2 ** -25, 0],
  [1.5 * 2 ** -25, 1],
])('float16 rounds %d to pattern %i at the ends of its range', (value, bits) => {
  expect(numberToFloat16(value)).toBe(bits)
})
