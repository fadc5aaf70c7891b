import {describe, expect, it} from 'vitest'
import {
  CALIBRATION_PAIRS,
  calibrationPairs,
  drawSeed,
  pairOf,
  planePair,
  sumPair,
} from '../../../../src/experiments/variance/pairs.js'
import {dot} from '../../../../src/theory/kernels.js'

const CLOSE = 2 ** -48
const cell = {head_dim: 5, norm: 1.5, angle_deg: 60, seed: 4, num_features: 8}

describe('the pair of a variance experiment', () => {
  it('has the norm and the angle asked for, off the axes', () => {
    const {x, y} = pairOf(cell)
    expect(Math.abs(Math.hypot(...x) - 1.5)).toBeLessThanOrEqual(CLOSE)
    expect(Math.abs(Math.hypot(...y) - 1.5)).toBeLessThanOrEqual(CLOSE)
    expect(Math.abs(dot(x, y) - 1.5 ** 2 / 2)).toBeLessThanOrEqual(CLOSE)
    expect(x.every(entry => entry !== 0)).toBe(true)
    expect(pairOf({...cell, angle_deg: 0}).y).toEqual(x)
  })
})

describe('the pair by its coordinates', () => {
  it('has the products of the pair itself', () => {
    for (const angle_deg of [0, 60, 90, 180, 250]) {
      const [real, plane] = [pairOf({...cell, angle_deg}), planePair({...cell, angle_deg})]
      expect([plane.x.length, plane.y.length]).toEqual([2, 2])
      expect(Math.abs(dot(plane.x, plane.x) - 1.5 ** 2)).toBeLessThanOrEqual(CLOSE)
      expect(Math.abs(dot(plane.y, plane.y) - 1.5 ** 2)).toBeLessThanOrEqual(CLOSE)
      expect(Math.abs(dot(plane.x, plane.y) - dot(real.x, real.y))).toBeLessThanOrEqual(CLOSE)
    }
  })
})

describe('the pairs that features are set by', () => {
  it('are others of the same norm and angle, each in a plane of its own', () => {
    const {query, key} = calibrationPairs(cell)
    expect([query.length, key.length]).toEqual([CALIBRATION_PAIRS, CALIBRATION_PAIRS])
    const {x} = pairOf(cell)
    const seen = new Set([String(x)])
    query.forEach((own, index) => {
      expect(Math.abs(Math.hypot(...own) - 1.5)).toBeLessThanOrEqual(CLOSE)
      expect(Math.abs(dot(own, key[index]!) - 1.5 ** 2 / 2)).toBeLessThanOrEqual(CLOSE)
      seen.add(String(own))
    })
    expect(seen.size).toBe(CALIBRATION_PAIRS + 1)
  })
})

describe('the seed of draws', () => {
  it('is another one for every norm, angle, size and seed', () => {
    const others = [
      {norm: 1},
      {angle_deg: 61},
      {head_dim: 7},
      {num_features: 16},
      {seed: 5},
      {norm: 1.56, angle_deg: 0},
    ].map(change => drawSeed({...cell, ...change}))
    expect(new Set([drawSeed(cell), ...others]).size).toBe(others.length + 1)
    for (const seed of others) expect(Number.isSafeInteger(seed)).toBe(true)
  })

  it('is the same for every method and projection of a pair', () => {
    const more = {...cell, method: 'oprf', projections: ['orth']}
    expect(drawSeed(more)).toBe(drawSeed(cell))
  })
})

describe('pairs of two norms', () => {
  it('have them, at the angle asked for, in full and in the plane, with draws of their own', () => {
    const unequal = {...cell, key_norm: 0.5}
    for (const {x, y} of [pairOf(unequal), planePair(unequal)]) {
      expect(Math.abs(Math.hypot(...x) - 1.5)).toBeLessThanOrEqual(CLOSE)
      expect(Math.abs(Math.hypot(...y) - 0.5)).toBeLessThanOrEqual(CLOSE)
      expect(Math.abs(dot(x, y) - (1.5 * 0.5) / 2)).toBeLessThanOrEqual(CLOSE)
    }
    expect(drawSeed(unequal)).not.toBe(drawSeed(cell))
  })
})

describe('pairs by sum and difference', () => {
  it('have both, and equal norms', () => {
    const given = {...cell, ...sumPair(1.2, 0.5)}
    for (const {x, y} of [pairOf(given), planePair(given)]) {
      const sum = Math.hypot(...x.map((entry, d) => entry + y[d]!))
      const difference = Math.hypot(...x.map((entry, d) => entry - y[d]!))
      expect(Math.abs(sum - 1.2)).toBeLessThanOrEqual(CLOSE)
      expect(Math.abs(difference - 0.5)).toBeLessThanOrEqual(CLOSE)
      expect(Math.abs(Math.hypot(...x) - given.norm)).toBeLessThanOrEqual(CLOSE)
      expect(Math.abs(Math.hypot(...y) - given.norm)).toBeLessThanOrEqual(CLOSE)
    }
    expect(sumPair(2, 0)).toMatchObject({norm: 1, angle_deg: 0})
    expect(sumPair(0, 2)).toMatchObject({norm: 1, angle_deg: 180})
    expect(sumPair(1, 1).angle_deg).toMatchReference(90, 12)
  })

  it('are equal or opposite to the last bit where one of them is 0', () => {
    const {x, y} = pairOf({...cell, ...sumPair(0, 1)})
    expect(x.map((entry, d) => entry + y[d]!).every(entry => entry === 0)).toBe(true)
  })
})
