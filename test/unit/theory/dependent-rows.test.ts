import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {ratioToIid, relativeCovariance, sharedPairs} from '../../../src/theory/dependent-rows.js'
import {type RowProduct, relativeRowVariance} from '../../../src/theory/row-product.js'
import {orthogonalVariance} from '../../helpers/orthogonal-series.js'

const SIZES = [
  {dim: 8, numFeatures: 8},
  {dim: 8, numFeatures: 5},
  {dim: 7, numFeatures: 17},
  {dim: 64, numFeatures: 200},
  {dim: 2, numFeatures: 9},
  {dim: 1, numFeatures: 3},
]

describe('orthogonal rows', () => {
  it('agree with the untransformed series, for odd and even D and truncated blocks', () => {
    for (const {dim, numFeatures} of SIZES) {
      for (const shape of ['exp', 'cosh', 'cos'] as const) {
        for (const squaredNorm of [0.01, 0.5, 2, 6]) {
          const product: RowProduct = {shape, squaredNorm}
          const single = relativeRowVariance(product, dim)
          const sign = shape === 'cos' ? -1 : 1
          const wanted = orthogonalVariance({single, squaredNorm, sign}, {dim, numFeatures})
          const size = {headDim: dim, numFeatures}
          const found = (ratioToIid('orth', product, size) * single) / numFeatures
          // the series is a difference of numbers near 1, of terms up to e^s; 40 of them, D pairs for each row
          const rounding = 40 * 2 ** -53 * Math.exp(2 * squaredNorm) * (dim / numFeatures)
          expect(Math.abs(found - wanted), `${dim} ${shape} ${squaredNorm}`).toBeLessThanOrEqual(
            rounding,
          )
        }
      }
    }
  })

  it('gain for exponentials at every norm, and nothing in the limit of large ones', () => {
    const size = {headDim: 16, numFeatures: 32}
    for (const squaredNorm of [1e-9, 0.1, 3, 40, 600]) {
      const ratio = ratioToIid('orth', {shape: 'exp', squaredNorm}, size)
      expect(ratio).toBeLessThanOrEqual(1)
      expect(ratio).toBeGreaterThan(0)
    }
    expect(ratioToIid('orth', {shape: 'exp', squaredNorm: 600}, size)).toMatchReference(1, 12)
    expect(ratioToIid('orth', {shape: 'exp', squaredNorm: 701}, size)).toBeNaN()
    expect(ratioToIid('orth', {shape: 'exp', squaredNorm: 0}, size)).toBeNaN()
  })

  it('add to the variance of cosines at large |x - y|, by the polynomial that the series ends in for even D', () => {
    // 1F1(-D/2; D/2; x) at D = 4 and 8, x = s/2, by hand
    const polynomials = {
      4: (x: number) => 1 - x + x ** 2 / 6,
      8: (x: number) => 1 - x + (3 / 10) * x ** 2 - x ** 3 / 30 + x ** 4 / 840,
    }
    for (const [dim, polynomial] of Object.entries(polynomials)) {
      const headDim = Number(dim)
      for (const s of [0.5, 4, 8, 12, 16]) {
        const covariance = Math.exp(s / 2) * polynomial(s / 2) - 1
        const single = (Math.exp(s) + Math.exp(-s)) / 2 - 1
        const wanted = 1 + ((headDim - 1) * covariance) / single
        const product = {shape: 'cos', squaredNorm: s} as const
        const found = ratioToIid('orth', product, {headDim, numFeatures: headDim})
        // terms of the polynomial and e^s are at most so many times the value, with an ulp for each of ten operations
        expect(Math.abs(found - wanted)).toBeLessThan(headDim * 40 * 2 ** -52 * Math.exp(s / 2))
      }
    }
    const at = (headDim: number) =>
      ratioToIid('orth', {shape: 'cos', squaredNorm: 12}, {headDim, numFeatures: headDim})
    expect([4, 8, 16].map(dim => (100 * (at(dim) - 1)).toFixed(2))).toEqual([
      '1.48',
      '0.49',
      '0.03',
    ])
  })

  it('leave even products 3 / (D + 2) of their variance in the limit of small norms', () => {
    for (const shape of ['cosh', 'cos'] as const) {
      for (const headDim of [2, 7, 64]) {
        const ratio = ratioToIid(
          'orth',
          {shape, squaredNorm: 1e-6},
          {headDim, numFeatures: headDim},
        )
        expect(Math.abs(ratio * (headDim + 2) - 3)).toBeLessThan(1e-4)
      }
    }
  })
})

/** Simpson's rule over chi lengths, the trapezoidal one over directions: D = 2, where rows of a block are opposite. */
function planarCovariance(shape: 'exp' | 'cosh' | 'cos', s: number): number {
  const f = {exp: Math.exp, cosh: Math.cosh, cos: Math.cos}[shape]
  const steps = 2000
  const width = 10 / steps
  const turns = 48
  let [product, single] = [0, 0]
  for (let turn = 0; turn < turns; turn++) {
    const along = Math.sqrt(s) * Math.cos((2 * Math.PI * turn) / turns)
    let [one, other] = [0, 0]
    for (let at = 0; at <= steps; at++) {
      const r = at * width
      const simpson = at === 0 || at === steps ? 1 : at % 2 === 1 ? 4 : 2
      const density = (simpson * width * r * Math.exp((-r * r) / 2)) / 3
      one += density * f(r * along)
      other += density * f(-r * along)
    }
    product += (one * other) / turns
    single += one / turns
  }
  return product / single ** 2 - 1
}

describe('rows of a simplex', () => {
  it.each(['exp', 'cosh', 'cos'] as const)('%s: agree with an integral in the plane', shape => {
    for (const squaredNorm of [0.3, 1.5]) {
      const found = relativeCovariance('simplex', {shape, squaredNorm}, 2)
      const wanted = planarCovariance(shape, squaredNorm)
      // Simpson's rule of width h errs by 10 h^4 / 180 times fourth derivatives, which stay below 200
      expect(Math.abs(found - wanted)).toBeLessThan(11 * (10 / 2000) ** 4)
    }
  })

  it('tend to orthogonal ones as D grows', () => {
    const product: RowProduct = {shape: 'cosh', squaredNorm: 1}
    const gap = (headDim: number) =>
      relativeCovariance('simplex', product, headDim) - relativeCovariance('orth', product, headDim)
    expect(Math.abs(gap(400))).toBeLessThan(Math.abs(gap(20)) / 20)
  })

  it('leave exponentials less variance than orthogonal ones', () => {
    fc.assert(
      fc.property(
        fc.double({min: 0.01, max: 30, noNaN: true}),
        fc.integer({min: 2, max: 80}),
        fc.integer({min: 2, max: 200}),
        (squaredNorm, headDim, numFeatures) => {
          const product: RowProduct = {shape: 'exp', squaredNorm}
          const size = {headDim, numFeatures}
          const simplex = ratioToIid('simplex', product, size)
          expect(simplex).toBeGreaterThan(-1e-12)
          expect(simplex).toBeLessThanOrEqual(ratioToIid('orth', product, size) + 1e-12)
        },
      ),
      {numRuns: 60, seed: 3},
    )
  })
})

describe('pairs w, -w', () => {
  it('double the variance of even products, a single last row aside', () => {
    const product: RowProduct = {shape: 'cos', squaredNorm: 2}
    expect(ratioToIid('antithetic', product, {headDim: 9, numFeatures: 12})).toBe(2)
    expect(ratioToIid('antithetic', product, {headDim: 9, numFeatures: 3})).toMatchReference(
      5 / 3,
      14,
    )
  })

  it('make of exponentials hyperbolic estimates of half as many rows', () => {
    const single = relativeRowVariance({shape: 'cosh', squaredNorm: 2}, 9)
    const ratio = ratioToIid(
      'antithetic',
      {shape: 'exp', squaredNorm: 2},
      {headDim: 9, numFeatures: 8},
    )
    expect(ratio).toMatchReference((2 * single) / Math.expm1(2), 13)
  })
})

describe('sharedPairs', () => {
  it('counts ordered pairs of blocks, the last one with fewer rows', () => {
    expect(sharedPairs('orth', {headDim: 5, numFeatures: 13})).toBe(2 * 20 + 6)
    expect(sharedPairs('simplex', {headDim: 5, numFeatures: 3})).toBe(6)
    expect(sharedPairs('orth', {headDim: 1, numFeatures: 3})).toBe(0)
    expect(sharedPairs('antithetic', {headDim: 5, numFeatures: 13})).toBe(12)
  })
})

describe('rows on the sphere', () => {
  it('in one dimension vary by their sign alone, and pairs of it cancel', () => {
    // w = -1 or 1: exp(w z), relative variance tanh^2 z
    const product: RowProduct = {shape: 'exp', squaredNorm: 0.7, sphere: true}
    const tanh = Math.tanh(Math.sqrt(0.7)) ** 2
    expect(relativeRowVariance(product, 1)).toMatchReference(tanh, 13)
    expect(relativeCovariance('antithetic', product, 1)).toMatchReference(-tanh, 13)
  })

  it('of a simplex cancel wholly in the plane, where two rows are opposite', () => {
    const product: RowProduct = {shape: 'exp', squaredNorm: 0.7, sphere: true}
    expect(relativeCovariance('simplex', product, 2)).toBe(
      relativeCovariance('antithetic', product, 2),
    )
  })
})
