import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {softmaxKernel} from '../../../src/theory/kernels.js'
import {logSphereMean, smregKernel, smregVariance} from '../../../src/theory/sphere.js'

const vec = (...x: number[]) => Float64Array.from(x)

/** Relative distance between two double-precision routes of a few hundred operations. */
const CLOSE = 2 ** -42

/** E exp(r cos t) over the circle, by the trapezoidal rule: exact to rounding for periodic functions. */
function circleMean(r: number, points: number): number {
  let sum = 0
  for (let i = 0; i < points; i++) sum += Math.exp(r * Math.cos((2 * Math.PI * i) / points))
  return sum / points
}

describe('logSphereMean', () => {
  it.each([0, 0.1, 1, 7, 40, 300])('D = 1 is log cosh, at |z| = %d', z => {
    const expected = z + Math.log1p(Math.exp(-2 * z)) - Math.LN2
    expect(Math.abs(logSphereMean(1, z * z) - expected)).toBeLessThanOrEqual(CLOSE * (1 + z))
  })

  it.each([0.1, 1, 5, 30])('D = 2 is the mean over the circle, at |z| = %d', z => {
    const r = Math.SQRT2 * z
    const expected = Math.log(circleMean(r, 512))
    expect(Math.abs(logSphereMean(2, z * z) - expected)).toBeLessThanOrEqual(CLOSE * (1 + r))
  })

  it.each([0.3, 2, 20, 600])('D = 3 is log sinh(r)/r, at |z| = %d', z => {
    const r = Math.sqrt(3) * z
    const expected = r + Math.log(-Math.expm1(-2 * r) / (2 * r))
    expect(Math.abs(logSphereMean(3, z * z) - expected)).toBeLessThanOrEqual(CLOSE * (1 + r))
  })

  it('stays finite where the mean itself is far beyond doubles', () => {
    const value = logSphereMean(64, 100 ** 2)
    expect(value).toBeGreaterThan(600) // at most r = 800, less by about D/2 log r
    expect(value).toBeLessThan(800)
  })

  it('tends to the Gaussian mean as D grows', () => {
    const gap = (dim: number) => 0.5 - logSphereMean(dim, 1) // E exp(w.z) = exp(|z|^2/2) for normal w
    expect(gap(10)).toBeGreaterThan(gap(100))
    // the next term of the expansion is |z|^4 / (4 (D + 2))
    expect(Math.abs(gap(1000) * 4 * 1002 - 1)).toBeLessThan(0.01)
  })
})

describe('smregKernel', () => {
  /** Reference values printed with six decimals: half a unit of the last is 5e-7. */
  it.each([
    [vec(0.5, 0), vec(0, 0.5), 0.986013],
    [vec(0.5, 0), vec(0.5, 0), 1.219667],
    [vec(0.5, 0), vec(-0.5, 0), 0.778801],
    [vec(0.6, 0.2, -0.1, 0.3), vec(0.1, 0.4, 0.2, -0.2), 1.032895],
    [vec(1, 0, 0, 0), vec(0, 1, 0, 0), 0.88101],
  ])('has the reference value, case %#', (x, y, expected) => {
    expect(Math.abs(smregKernel(x, y) - expected)).toBeLessThanOrEqual(5e-7)
  })

  it('is never above the softmax kernel, and equal to it at opposite vectors', () => {
    const entry = fc.double({min: -2, max: 2, noNaN: true})
    const pair = fc
      .integer({min: 1, max: 9})
      .chain(dim =>
        fc.tuple(
          fc.array(entry, {minLength: dim, maxLength: dim}),
          fc.array(entry, {minLength: dim, maxLength: dim}),
        ),
      )
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const [x, y] = [vec(...a), vec(...b)]
        const ratio = smregKernel(x, y) / softmaxKernel(x, y)
        expect(ratio).toBeLessThanOrEqual(1 + CLOSE)
        const opposite = x.map(value => -value)
        const equal = smregKernel(x, opposite) / softmaxKernel(x, opposite)
        expect(Math.abs(equal - 1)).toBeLessThanOrEqual(CLOSE)
        expect(smregVariance(x, opposite, 3)).toBe(0)
      }),
      {numRuns: 200, seed: 4},
    )
  })
})
