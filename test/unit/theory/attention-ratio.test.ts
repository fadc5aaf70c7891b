import {describe, expect, it} from 'vitest'
import {type AttentionRow, ratioMoments} from '../../../src/theory/attention-ratio.js'

const vec = (...x: number[]) => Float64Array.from(x)
const ROW: AttentionRow = {
  query: vec(0.4, -0.2, 0.1),
  keys: [vec(0.3, 0.5, 0), vec(-0.6, 0.1, 0.2), vec(0.2, 0.2, -0.7), vec(0, 0, 0)],
  values: [vec(1, 0), vec(-2, 0.5), vec(0.25, 3), vec(0, -1)],
}
const MAPS = ['positive', 'hyperbolic', 'trigonometric'] as const

describe('ratioMoments', () => {
  it('of one key are 0: the weight cancels', () => {
    const found = ratioMoments(
      {...ROW, keys: ROW.keys.slice(0, 1), values: [vec(3, 4)]},
      'positive',
      8,
    )
    expect([...found.output]).toEqual([3, 4])
    expect([...found.bias, ...found.variance].every(value => value === 0)).toBe(true)
    expect(found.denominatorVariance).toBeGreaterThan(0)
  })

  it('of two keys are those of one ratio of two numbers', () => {
    // R = (K1 v1 + K2 v2) / (K1 + K2): with p, q and O all depends on d = v1 - v2
    const [x, y1, y2] = [vec(0.5), vec(0.8), vec(-0.4)]
    const row = {query: x, keys: [y1, y2], values: [vec(2), vec(-1)]}
    const p = 1 / (1 + Math.exp(0.5 * (-0.4 - 0.8)))
    const q = 1 - p
    const [z1, z2] = [1.3, 0.1]
    const c = (a: number, b: number) => Math.expm1(a * b)
    const found = ratioMoments(row, 'positive', 10)
    // v1 - O = 3 q, v2 - O = -3 p
    const spread = c(z1, z1) - 2 * c(z1, z2) + c(z2, z2)
    expect(found.output[0]).toMatchReference(2 * p - q, 14)
    expect(found.variance[0]).toMatchReference(((3 * p * q) ** 2 * spread) / 10, 14)
    const pull = p * (c(z1, z1) - c(z1, z2)) + q * (c(z1, z2) - c(z2, z2))
    expect(found.bias[0]).toMatchReference((-3 * p * q * pull) / 10, 14)
  })

  it.each(MAPS)('%s: fall like 1 / M, and shift with all values by nothing', map => {
    const one = ratioMoments(ROW, map, 1)
    const shifted = ratioMoments({...ROW, values: ROW.values.map(v => v.map(e => e + 5))}, map, 16)
    for (let d = 0; d < 2; d++) {
      // sums of 16 terms of values up to 8
      expect(Math.abs(shifted.bias[d]! - one.bias[d]! / 16)).toBeLessThan(2 ** -46)
      expect(Math.abs(shifted.variance[d]! - one.variance[d]! / 16)).toBeLessThan(2 ** -46)
      expect(one.variance[d]).toBeGreaterThan(0)
    }
  })

  it('of trigonometric features of equal vectors vanish', () => {
    const row = {query: vec(1, 2), keys: [vec(1, 2), vec(1, 2)], values: [vec(1), vec(2)]}
    const {variance, bias, denominatorVariance} = ratioMoments(row, 'trigonometric', 4)
    expect([...variance, ...bias, denominatorVariance].map(Math.abs)).toEqual([0, 0, 0])
  })
})
