import {describe, expect, it} from 'vitest'
import {
  angleShare,
  arcCosineKernel,
  exponentialKernel,
  exponentialVariance,
  fourierVariance,
  gaussianKernel,
  hyperbolicVariance,
  positiveVariance,
  rectifiedVariance,
  softmaxKernel,
  squaredNorms,
  trigonometricVariance,
} from '../../../src/theory/kernels.js'
import type {TargetKernel} from '../../../src/theory/target-kernel.js'
import {TARGET_KERNELS} from '../../../src/theory/target-kernels.js'

const vec = (...x: number[]) => Float64Array.from(x)

/** Reference values for one random vector, printed with six decimals: half a unit of the last is 5e-7. */
const HALF_UNIT = 5e-7
const TABLE = [
  {
    x: vec(0.5, 0),
    y: vec(0, 0.5),
    ...{softmax: 1, trig: 0.127626, positive: 0.648721, hyperbolic: 0.127626, relu: 0.039789},
    ...{gaussian: 0.778801, fourier: 0.077409},
  },
  {
    x: vec(0.5, 0),
    y: vec(0.5, 0),
    ...{softmax: 1.284025, trig: 0, positive: 2.832968, hyperbolic: 0.895389, relu: 0.125},
    ...{gaussian: 1, fourier: 0},
  },
  {
    x: vec(0.5, 0),
    y: vec(-0.5, 0),
    ...{softmax: 0.778801, trig: 0.329395, positive: 0, hyperbolic: 0, relu: 0, gaussian: 0.606531},
    fourier: 0.199788,
  },
  {
    x: vec(0.6, 0.2, -0.1, 0.3),
    y: vec(0.1, 0.4, 0.2, -0.2),
    ...{softmax: 1.061837, trig: 0.231251, positive: 1.563738, hyperbolic: 0.454304},
    ...{relu: 0.072082, gaussian: 0.729789, fourier: 0.109235},
  },
  {
    x: vec(1, 0, 0, 0),
    y: vec(0, 1, 0, 0),
    ...{softmax: 1, trig: 2.762196, positive: 6.389056, hyperbolic: 2.762196, relu: 0.159155},
    ...{gaussian: 0.367879, fourier: 0.373823},
  },
] as const

const FUNCTIONS = {
  softmax: softmaxKernel,
  trig: (x: Float64Array, y: Float64Array) => trigonometricVariance(x, y, 1),
  positive: (x: Float64Array, y: Float64Array) => positiveVariance(x, y, 1),
  hyperbolic: (x: Float64Array, y: Float64Array) => hyperbolicVariance(x, y, 1),
  relu: arcCosineKernel,
  gaussian: gaussianKernel,
  fourier: (x: Float64Array, y: Float64Array) => fourierVariance(x, y, 1),
} as const

describe('closed forms', () => {
  it('the exponential kernel is the softmax kernel times both norm factors, its variance likewise', () => {
    for (const {x, y} of TABLE) {
      const norms = squaredNorms(x, y)
      const factor = Math.exp((norms.x + norms.y) / 2)
      const near = (got: number, expected: number) =>
        expect(Math.abs(got - expected)).toBeLessThanOrEqual(2 ** -48 * Math.abs(expected))
      near(exponentialKernel(x, y), factor * softmaxKernel(x, y))
      near(exponentialVariance(x, y, 3), factor ** 2 * positiveVariance(x, y, 3))
    }
  })

  const names = Object.keys(FUNCTIONS) as (keyof typeof FUNCTIONS)[]
  const cases = TABLE.flatMap((row, n) => names.map(name => [name, n + 1, row] as const))

  it.each(cases)('%s of reference pair %i', (name, _n, row) => {
    const got = FUNCTIONS[name](row.x, row.y)
    // a printed value may itself be rounded either way at the half: one unit in the seventh place more
    expect(Math.abs(got - row[name])).toBeLessThanOrEqual(HALF_UNIT + 1e-9)
  })

  it.each(names)('%s is symmetric in its two vectors', name => {
    for (const {x, y} of TABLE) expect(FUNCTIONS[name](y, x)).toBe(FUNCTIONS[name](x, y))
  })

  it('variances fall like 1 / M', () => {
    const {x, y} = TABLE[3]
    for (const variance of [
      positiveVariance,
      hyperbolicVariance,
      trigonometricVariance,
      fourierVariance,
      rectifiedVariance,
    ]) {
      expect(variance(x, y, 8)).toBe(variance(x, y, 1) / 8)
    }
  })

  it('trigonometric variance is exactly zero for equal vectors, positive for opposite ones', () => {
    const {x} = TABLE[3]
    expect(trigonometricVariance(x, x, 3)).toBe(0)
    const opposite = x.map(value => -value)
    expect(positiveVariance(x, opposite, 3)).toBe(0)
    expect(Math.abs(hyperbolicVariance(x, opposite, 3))).toBe(0)
  })

  it('the rectified variance is that of its integral', () => {
    // independent evaluation in the plane of x and y: w = r (cos a, sin a), E r^4 = 8 for d = 2
    const x = vec(0.9, 0)
    const y = vec(0.3, 0.5)
    const steps = 100_000
    let second = 0
    for (let i = 0; i < steps; i++) {
      const angle = (2 * Math.PI * (i + 0.5)) / steps
      const a = Math.max(0, x[0]! * Math.cos(angle))
      const b = Math.max(0, y[0]! * Math.cos(angle) + y[1]! * Math.sin(angle))
      second += (a * b) ** 2 / steps
    }
    const expected = 8 * second - arcCosineKernel(x, y) ** 2
    // midpoint rule: 8 (2 pi / steps)^2 / 24 max|f''|, with |f''| <= 16 |x|^2 |y|^2; and summing rounds
    const bound = (8 * (2 * Math.PI) ** 2 * 16 * 0.81 * 0.34) / 24 / steps ** 2 + steps * 2 ** -53
    expect(Math.abs(rectifiedVariance(x, y, 1) - expected)).toBeLessThanOrEqual(bound)
  })

  it('rectified features of opposite vectors share nothing: kernel and variance are exactly zero', () => {
    for (const {x, y} of TABLE) {
      for (const vector of [x, y]) {
        const opposite = vector.map(value => -value)
        expect(Math.abs(arcCosineKernel(vector, opposite))).toBe(0)
        expect(rectifiedVariance(vector, opposite, 3)).toBe(0)
      }
    }
  })

  it('kernels of a zero vector are those of the formula', () => {
    const zero = vec(0, 0)
    const x = vec(0.5, 0.1)
    expect(arcCosineKernel(zero, x)).toBe(0)
    expect(rectifiedVariance(x, zero, 1)).toBe(0)
    expect(softmaxKernel(zero, x)).toBe(1)
  })

  it('squared norms of a pair', () => {
    expect(squaredNorms(vec(1, 2), vec(3, -1))).toEqual({x: 5, y: 10, sum: 17, difference: 13})
  })

  it('has no spread left of opposite vectors, and never less than none', () => {
    const x = vec(0.1, 0.7, -0.3, 1 / 3)
    const opposite = x.map(entry => -entry)
    expect(squaredNorms(x, opposite).sum).toBe(0)
    expect(squaredNorms(x, x).difference).toBe(0)
    expect(positiveVariance(x, opposite, 7)).toBe(0)
    const nearly = opposite.map(entry => entry * (1 + 2 ** -52))
    expect(positiveVariance(x, nearly, 7)).toBeGreaterThan(0)
    expect(positiveVariance(x, nearly, 7)).toBeLessThan(2 ** -103)
  })
})

describe('the angle of two vectors', () => {
  it('keeps its digits next to 0 and next to pi', () => {
    // entries of 2 err by 2^-53 each, so an angle between vectors of length 2 by about 2^-52
    const at = (angle: number) => vec(2 * Math.cos(angle), 2 * Math.sin(angle))
    for (const small of [1e-9, 1e-6, 0.1, 1]) {
      const share = small / Math.PI
      const opposite = at(1 + small).map(value => -value / 3)
      expect(Math.abs(angleShare(at(1), at(1 + small)) - share)).toBeLessThan(2 ** -51)
      expect(Math.abs(angleShare(at(1), opposite) - (1 - share))).toBeLessThan(2 ** -51)
    }
    expect(angleShare(vec(0, 0), at(1))).toBe(0.5)
  })
})

it('kernels with a bias of keys have row weights of its form', () => {
  const pair = {dot: 0.3, xLength: 1.1, yLength: 1.7, dim: 5}
  const biased = Object.values<TargetKernel>(TARGET_KERNELS).filter(({keyBias}) => keyBias)
  expect(biased.length).toBe(3)
  for (const {rowWeight, keyBias} of biased) expect(rowWeight(pair)).toBe(0.3 + keyBias!(1.7))
})
