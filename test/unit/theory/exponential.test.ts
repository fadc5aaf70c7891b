import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {logSecondMoment, optimalExponent, swappedExponent} from '../../../src/theory/exponential.js'
import {softmaxKernel, squaredNorms} from '../../../src/theory/kernels.js'

const vec = (...x: number[]) => Float64Array.from(x)

/** Best exponent and variance for one random vector, printed with six decimals. */
const HALF_UNIT = 5e-7
const TABLE = [
  {x: vec(0.5, 0), y: vec(0, 0.5), exponent: -0.097597, variance: 0.437482},
  {x: vec(0.5, 0), y: vec(0.5, 0), exponent: -0.176777, variance: 1.362784},
  {x: vec(0.5, 0), y: vec(-0.5, 0), exponent: 0, variance: 0},
  {
    x: vec(0.6, 0.2, -0.1, 0.3),
    y: vec(0.1, 0.4, 0.2, -0.2),
    exponent: -0.08651,
    variance: 1.034237,
  },
  {x: vec(1, 0, 0, 0), y: vec(0, 1, 0, 0), exponent: -0.176777, variance: 2.336358},
]

/** For D equal axes and a mean of |x + y|^2 in all. */
const total = (a: number, axes: number, sum2: number) => logSecondMoment(a, axes, sum2)

const positive = fc.double({min: 1e-3, max: 1e3, noNaN: true})

describe('generalised exponential features', () => {
  it.each(TABLE)('have the tabled exponent and variance at $x, $y', ({x, y, ...expected}) => {
    const {sum} = squaredNorms(x, y)
    const a = optimalExponent(sum / x.length)
    const variance = softmaxKernel(x, y) ** 2 * Math.expm1(total(a, x.length, sum))
    expect(Math.abs(a - expected.exponent)).toBeLessThanOrEqual(HALF_UNIT)
    expect(Math.abs(variance - expected.variance)).toBeLessThanOrEqual(HALF_UNIT)
  })

  it('with exponent zero have the second moment of positive features', () => {
    expect(total(0, 7, 3.25)).toBe(3.25)
  })

  it('have the exponent of the published formula where that does not cancel', () => {
    fc.assert(
      fc.property(positive, fc.integer({min: 1, max: 128}), (sum2, dim) => {
        const root = Math.sqrt((2 * sum2 + dim) ** 2 + 8 * dim * sum2)
        const rho = (root - 2 * sum2 - dim) / (4 * sum2)
        const published = (1 - 1 / rho) / 8
        // root - (2 sum2 + dim) loses all but its difference, which is at least sum2 / (1 + sum2 / dim)
        const lost = (8 * Number.EPSILON * root) / (root - 2 * sum2 - dim)
        const bound = lost * (1 + Math.abs(published))
        expect(Math.abs(optimalExponent(sum2 / dim) - published)).toBeLessThanOrEqual(bound)
      }),
      {seed: 5},
    )
  })

  it('keep the full precision of a small exponent: -t/2 (1 - 2t + ...)', () => {
    for (const t of [1e-6, 1e-12, 1e-100]) {
      const series = (-t / 2) * (1 - 2 * t)
      const bound = (8 * Number.EPSILON + 20 * t * t) * Math.abs(series)
      expect(Math.abs(optimalExponent(t) - series)).toBeLessThanOrEqual(bound)
    }
    expect(Math.abs(optimalExponent(0))).toBe(0)
    expect(optimalExponent(1e9) / 1e9).toMatchReference(-1 / 4, 6)
  })

  it('have no better exponent than the optimal one', () => {
    fc.assert(
      fc.property(
        positive,
        fc.integer({min: 1, max: 128}),
        fc.double({min: -1, max: 0.12, noNaN: true}),
        (sum2, dim, other) => {
          const best = total(optimalExponent(sum2 / dim), dim, sum2)
          const slack = 16 * Number.EPSILON * (dim + sum2)
          expect(best).toBeLessThanOrEqual(total(other, dim, sum2) + slack)
          const swapped = swappedExponent(sum2 / dim)
          expect(best).toBeLessThanOrEqual(total(swapped, dim, sum2) + slack)
        },
      ),
      {seed: 6},
    )
  })

  it('save more than e^60 of variance over positive features at |x+y|^2 = 100, D = 64', () => {
    const saved = (sum2: number) => sum2 - total(optimalExponent(sum2 / 64), 64, sum2)
    expect(saved(100)).toBeGreaterThan(60)
    expect(saved(16)).toBeGreaterThan(0) // |x+y|^2 of standard normal queries and keys
    expect(saved(16)).toBeLessThan(saved(32))
  })

  it('with the exchanged formula do not become plain features at small norms', () => {
    expect(swappedExponent(0)).toBe(-1 / 8)
    expect(total(swappedExponent(0), 64, 0)).toBeGreaterThan(3)
  })
})
