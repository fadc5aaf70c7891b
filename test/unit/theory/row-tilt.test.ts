import {describe, expect, it} from 'vitest'
import {panels} from '../../../src/theory/quadrature.js'
import {
  isTiltable,
  logDirectionMean,
  logProductMoments,
  mixtureWeight,
  normalTilt,
  type RowLengths,
  type RowTilt,
  turnedWeight,
} from '../../../src/theory/row-tilt.js'
import {sample} from '../../helpers/effort.js'

const D = 5

/** E of a function of w.z / |z| and |w|^2, w ~ N(0, I) or of length sqrt(D): by quadrature over the entry along z and the rest. */
function expectation(of: (along: number, squares: number) => number, sphere: boolean): number {
  let [sum, total] = [0, 0]
  const add = (density: number, along: number, squares: number) => {
    sum += density * of(along, squares)
    total += density
  }
  if (sphere) {
    for (const [angle, weight] of panels(0, Math.PI, 0.4)) {
      add(weight * Math.sin(angle) ** (D - 2), Math.sqrt(D) * Math.cos(angle), D)
    }
    return sum / total
  }
  for (const [along, weight] of panels(-14, 14, 2)) {
    for (const [rest, other] of panels(0, 10, 2)) {
      const density = rest ** (D - 2) * Math.exp(-(along ** 2 + rest ** 2) / 2)
      add(weight * other * density, along, along ** 2 + rest ** 2)
    }
  }
  return sum / total
}

const TILTS: Record<string, RowTilt> = {
  exponential: {squaredNorm: 3},
  even: {squaredNorm: 2, even: true},
  shrunk: {squaredNorm: 4, exponent: -0.3},
  stretched: {squaredNorm: 1, exponent: 0.05},
  sphere: {squaredNorm: 6, sphere: true},
}

/** The product of one row without its sign. */
function productOf({squaredNorm, exponent: a = 0}: RowTilt, along: number, squares: number) {
  return Math.exp(2 * a * squares + Math.sqrt(1 - 4 * a) * along * Math.sqrt(squaredNorm))
}

describe('the laws of a tilted row', () => {
  it.each(Object.entries(TILTS))('%s: the product has the stated moments', (_, tilt) => {
    const {mean, second} = logProductMoments(tilt, D)
    const moment = (k: number) =>
      expectation((along, squares) => productOf(tilt, along, squares) ** k, tilt.sphere ?? false)
    expect(Math.log(moment(1))).toMatchReference(mean, 9)
    expect(Math.log(moment(2)) - 2 * mean).toMatchReference(second, 8)
  })

  it.each(Object.entries(TILTS))('%s: weights are 3 over 1 and both densities', (_, tilt) => {
    // with one row, the mean of 3 / weight - 1 is that of two densities, 2
    const weight = mixtureWeight(tilt, D)
    const sum = expectation((along, squares) => {
      weight.add(along * Math.sqrt(tilt.squaredNorm), squares)
      return 3 / weight.take() - 1
    }, tilt.sphere ?? false)
    expect(sum).toMatchReference(2, 8)
  })

  it('are averaged over the rows of a matrix, and begin anew after each', () => {
    const weight = mixtureWeight(TILTS.exponential!, D)
    const of = (...products: number[]) => {
      for (const product of products) weight.add(product, D)
      return 3 / weight.take() - 1
    }
    const [first, second] = [of(0.3), of(2)]
    expect(of(0.3, 2)).toMatchReference((first + second) / 2, 12)
  })

  it('are normal with the mean and spread of the squared density', () => {
    expect(normalTilt(1, 0)).toEqual({shift: 1, spread: 1})
    expect(normalTilt(2, 0)).toEqual({shift: 2, spread: 1})
    // exp(-w^2/2 + 2 (2 a w^2 + b w)): variance 1 / (1 - 8 a), mean 2 b of that
    const {shift, spread} = normalTilt(2, -0.25)
    expect(spread ** 2).toMatchReference(1 / 3, 12)
    expect(shift).toMatchReference((2 * Math.SQRT2) / 3, 12)
  })

  it('are there where both moments are, and densities within doubles', () => {
    expect(isTiltable({squaredNorm: 300}, D)).toBe(true)
    expect(isTiltable({squaredNorm: 301}, D)).toBe(false)
    expect(isTiltable({squaredNorm: 1, exponent: 0.12}, D)).toBe(true)
    expect(isTiltable({squaredNorm: 1, exponent: 0.125}, D)).toBe(false)
  })
})

describe('weights of whole matrices', () => {
  it('are those of rows of N(0, I) where a row follows its own length', () => {
    for (const tilt of [
      {squaredNorm: 3},
      {squaredNorm: 2, even: true},
      {squaredNorm: 4, exponent: -0.3},
    ]) {
      const [own, whole] = [
        mixtureWeight(tilt, D),
        turnedWeight(tilt, {headDim: D, lengths: {dim: D}}),
      ]
      for (const [product, length] of [
        [1, 2],
        [-3, 2.5],
        [4, 3],
      ] as const) {
        own.add(product, length * length)
        whole.add(product, length, length)
      }
      expect(whole.take()).toMatchReference(own.take(), 12)
    }
  })

  it('are 3 over 1 and both densities: of a length of P normals and a direction in D dimensions', () => {
    const matrices = [
      [{dim: 8}, 0.6],
      [{dim: 3}, 1.5],
      [{dim: 9, sphere: true}, 1.2],
      [{dim: 6, sphere: true}, 1],
      [undefined, 2],
    ] as const
    for (const [at, [lengths, ratio]] of matrices.entries()) {
      // a quick run has every tilt and every length, but not every pair
      for (const tilt of sample(Object.values(TILTS), 2, at)) {
        if (tilt.sphere && lengths !== undefined) continue
        const weight = turnedWeight(tilt, {headDim: D, lengths})
        const mean = meanOverLengths(lengths, length =>
          meanOverCosines(cosine => {
            const own = lengths === undefined ? ratio : ratio * length
            weight.add(own * cosine * Math.sqrt(tilt.squaredNorm), own, length)
            return 3 / weight.take() - 1
          }),
        )
        expect(mean, `${JSON.stringify(lengths)} ${JSON.stringify(tilt)}`).toMatchReference(2, 8)
      }
    }
  })

  it('rest on means of exponentials over directions', () => {
    for (const reach of [0, 0.5, 6]) {
      const mean = meanOverCosines(cosine => Math.exp(reach * cosine))
      expect(Math.exp(logDirectionMean(D, reach))).toMatchReference(mean, 10)
    }
    // on a line there are two directions
    expect(logDirectionMean(1, 2)).toMatchReference(Math.log(Math.cosh(2)), 12)
  })
})

/** Over the entry of a uniform direction in D dimensions. */
function meanOverCosines(of: (cosine: number) => number): number {
  let [sum, total] = [0, 0]
  for (const [angle, weight] of panels(0, Math.PI, 0.4)) {
    const density = weight * Math.sin(angle) ** (D - 2)
    sum += density * of(Math.cos(angle))
    total += density
  }
  return sum / total
}

/** Over the length of so many normals, or of D coordinates on a sphere; of `undefined`, at 1. */
function meanOverLengths(lengths: RowLengths['lengths'], of: (length: number) => number): number {
  if (!lengths) return of(1)
  const {dim, sphere} = lengths
  let [sum, total] = [0, 0]
  if (sphere) {
    // the length is sqrt(P) times the sine of an angle
    for (const [angle, weight] of panels(0, Math.PI / 2, 0.4)) {
      const density = weight * Math.sin(angle) ** (D - 1) * Math.cos(angle) ** (dim - D - 1)
      sum += density * of(Math.sqrt(dim) * Math.sin(angle))
      total += density
    }
    return sum / total
  }
  for (const [length, weight] of panels(0, 20, 2)) {
    const density = weight * length ** (dim - 1) * Math.exp((-length * length) / 2)
    sum += density * of(length)
    total += density
  }
  return sum / total
}
