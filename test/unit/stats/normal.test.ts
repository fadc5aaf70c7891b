import {describe, expect, it} from 'vitest'
import {bonferroniZ, normalQuantile} from '../../../src/stats/index.js'

/** The algorithm's stated relative accuracy is 1e-16; its evaluation rounds about ten times. */
const RELATIVE_BOUND = 10 * Number.EPSILON

describe('normalQuantile', () => {
  // 0.25: printed with AS 241; the others: Newton's method on the continued fraction of the upper tail,
  // in 50-digit arithmetic
  it.each([
    [0.25, -0.6744897501960817],
    [0.1, -1.2815515655446004],
    [0.025, -1.9599639845400543],
    [0.001, -3.0902323061678136],
    [1e-20, -9.262340089798407],
    [1e-300, -37.0470962993612],
  ])('of %d is %d', (p, z) => {
    expect(Math.abs(normalQuantile(p) / z - 1)).toBeLessThan(RELATIVE_BOUND)
  })

  it('is 0 at one half and odd around it', () => {
    expect(normalQuantile(0.5)).toBe(0)
    for (const offset of [0.125, 0.25, 0.4375, 0.46875]) {
      expect(normalQuantile(0.5 + offset)).toBe(-normalQuantile(0.5 - offset))
    }
  })

  it('inverts the integral of the density', () => {
    for (const p of [0.003, 0.08, 0.31, 0.71, 0.99]) {
      // Simpson's rule from 0 with step h errs by at most h^4 / 180 * |z| * max |4th derivative| (1.2)
      const z = normalQuantile(p)
      const bound = ((Math.abs(z) / 1000) ** 4 / 180) * Math.abs(z) * 1.2 + 1000 * Number.EPSILON
      expect(Math.abs(0.5 + simpson(z, 1000) - p)).toBeLessThan(bound)
    }
  })

  it('is infinite at the ends and NaN outside', () => {
    expect(normalQuantile(0)).toBe(Number.NEGATIVE_INFINITY)
    expect(normalQuantile(1)).toBe(Number.POSITIVE_INFINITY)
    for (const p of [-0.1, 1.1, Number.NaN]) expect(normalQuantile(p)).toBeNaN()
  })
})

describe('bonferroniZ', () => {
  it('is the two-sided quantile of one check, and grows with their number', () => {
    expect(bonferroniZ(1, 0.05)).toBe(-normalQuantile(0.025))
    expect(bonferroniZ(1000, 1e-4)).toBe(-normalQuantile(5e-8))
  })
})

/** Integral of the standard normal density from 0 to z. */
function simpson(z: number, steps: number): number {
  const density = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)
  let sum = density(0) + density(z)
  for (let i = 1; i < steps; i++) sum += density((i * z) / steps) * (i % 2 ? 4 : 2)
  return (sum * z) / steps / 3
}
