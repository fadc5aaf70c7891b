import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {momentsOfPairs, parametersOf} from '../../../../../src/attention/forms/exponential/forms.js'
import type {HeadMoments} from '../../../../../src/attention/forms/exponential/moments.js'
import {
  diagonalMaps,
  type HeadParameters,
  mapped,
  matrixExponent,
  matrixMaps,
  meanSum2,
  relativeLogMoment,
  scalarExponent,
} from '../../../../../src/attention/forms/exponential/parameters.js'
import {product} from '../../../../../src/attention/forms/exponential/symmetric.js'
import {normals, randomStream} from '../../../../../src/random/index.js'
import {frobenius, identity, plus, times} from '../../../../helpers/matrices.js'

const DIM = 8
const COUNT = 24
const RIDGE = 1e-6

interface Data {
  x: Float64Array[]
  y: Float64Array[]
}

/** Correlated vectors: both sides share a random mixing matrix whose directions decay like `decay^d`. */
function correlated(seed: number, decay: number, scale: number): Data {
  const stream = randomStream(seed, 'correlated')
  const mixing = Float64Array.from(normals(stream, DIM * DIM), (z, at) => z * decay ** (at % DIM))
  const draw = () =>
    Array.from({length: COUNT}, () => {
      const z = normals(stream, DIM)
      return Float64Array.from({length: DIM}, (_, i) => {
        let sum = 0
        for (let j = 0; j < DIM; j++) sum += mixing[i * DIM + j]! * z[j]!
        return (scale * sum) / Math.sqrt(DIM)
      })
    })
  return {x: draw(), y: draw()}
}

function momentsOf({x, y}: Data): HeadMoments {
  const all = x.map((row, i) => momentsOfPairs({query: [row], key: [y[i]!]}))
  const mean = (pick: (moments: HeadMoments) => Float64Array) =>
    pick(all[0]!).map((_, at) => all.reduce((sum, m) => sum + pick(m)[at]!, 0) / all.length)
  return {
    mean: {query: mean(m => m.mean.query), key: mean(m => m.mean.key)},
    squares: {query: mean(m => m.squares.query), key: mean(m => m.squares.key)},
    outer: {query: mean(m => m.outer.query), key: mean(m => m.outer.key)},
  }
}

/** Mean over all pairs of ln E[(phi(x) phi(y))^2], 2 x.y left out. */
function meanLog({x, y}: Data, parameters: HeadParameters): number {
  let sum = 0
  for (const a of x) for (const b of y) sum += relativeLogMoment(2, parameters, a, b)
  return sum / (x.length * y.length)
}

/** The same of all kinds of features. */
function comparison(data: Data) {
  const moments = momentsOf(data)
  const withMaps = (maps?: HeadParameters['maps']) =>
    meanLog(data, {maps, exponent: scalarExponent(meanSum2(moments, maps), DIM)})
  return {
    positive: meanLog(data, {exponent: 0}),
    oprf: withMaps(),
    saderf: withMaps(diagonalMaps(moments, RIDGE)),
    aderf: withMaps(matrixMaps(moments, RIDGE)),
    sderf: meanLog(data, {exponent: matrixExponent(moments)}),
  }
}

const datasets = fc.record({
  seed: fc.nat(1000),
  decay: fc.constantFrom(1, 0.7, 0.5),
  scale: fc.constantFrom(0.3, 1, 3),
})

describe('parameters of exponential features', () => {
  it('order by mean log second moment as they generalise each other', () => {
    fc.assert(
      fc.property(datasets, ({seed, decay, scale}) => {
        const {positive, oprf, saderf, aderf, sderf} = comparison(correlated(seed, decay, scale))
        // the ridge moves squared lengths by its own size, rounding by far less
        const slack = 1 + DIM * RIDGE + 1e-9
        expect(oprf).toBeLessThanOrEqual(positive * slack)
        expect(saderf).toBeLessThanOrEqual(oprf * slack)
        expect(aderf).toBeLessThanOrEqual(saderf * slack)
        expect(sderf).toBeLessThanOrEqual(oprf * slack)
      }),
      {seed: 2},
    )
  })

  it('gain most from an exponent per direction where x and y share a few long ones', () => {
    const {positive, oprf, aderf, sderf} = comparison(correlated(1, 0.5, 3))
    expect(oprf).toBeLessThan(0.6 * positive)
    expect(aderf).toBeGreaterThan(0.9 * oprf)
    expect(sderf).toBeLessThan(0.8 * oprf)
  })

  it('gain most from maps where x and y differ in scale per dimension', () => {
    const {x, y} = correlated(1, 1, 0.5)
    const scale = (d: number) => 4 ** ((2 * d) / (DIM - 1) - 1)
    const stretched = {
      x: x.map(row => row.map((value, d) => value * scale(d))),
      y: y.map(row => row.map((value, d) => value / scale(d))),
    }
    const {oprf, saderf} = comparison(stretched)
    expect(saderf).toBeLessThan(0.5 * oprf)
  })

  it('map x and y to equal second moments without changing their products', () => {
    fc.assert(
      fc.property(datasets, ({seed, decay, scale}) => {
        const data = correlated(seed, decay, scale)
        const moments = momentsOf(data)
        const {query, key} = matrixMaps(moments, RIDGE)
        const condition = frobenius(query) * frobenius(key)
        const rounding = 1e3 * Number.EPSILON * condition ** 2
        expect(frobenius(plus(product(query, key), identity(DIM), -1))).toBeLessThan(rounding)
        const diagonal = diagonalMaps(moments, RIDGE)
        for (let d = 0; d < DIM; d++)
          expect(diagonal.query[d]! * diagonal.key[d]!).toMatchReference(1, 14)
        const [a, b] = [data.x[0]!, data.y[0]!]
        const dot = (u: Float64Array, v: Float64Array) => u.reduce((s, w, d) => s + w * v[d]!, 0)
        expect(Math.abs(dot(mapped(a, query), mapped(b, key)) - dot(a, b))).toBeLessThan(5e-7)
      }),
      {seed: 8},
    )
  })

  it('solve the Riccati equation of the geometric mean: P^2 M_x P^2 = M_y', () => {
    const moments = momentsOf(correlated(3, 1, 1))
    const {query} = matrixMaps(moments, RIDGE)
    const square = times(query, query)
    const ridged = (matrix: Float64Array) => {
      const mean = matrix.reduce((sum, x, at) => sum + (at % (DIM + 1) === 0 ? x : 0), 0) / DIM
      return plus(matrix, identity(DIM), RIDGE * mean)
    }
    const y = ridged(moments.outer.key)
    const again = times(times(square, ridged(moments.outer.query)), square)
    expect(frobenius(plus(again, y, -1))).toBeLessThan(1e-9 * frobenius(y))
  })

  it('stay finite for vectors that are zero, equal or of one direction', () => {
    const zero = new Float64Array(3)
    const one = Float64Array.of(1, 0, 0)
    for (const [x, y] of [
      [zero, zero],
      [one, zero],
      [zero, one],
      [one, one],
    ] as const) {
      const moments = momentsOfPairs({query: [x], key: [y]})
      const maps = [diagonalMaps(moments, 1e-3), matrixMaps(moments, 1e-3)]
      for (const {query, key} of maps) {
        expect([...query, ...key].every(Number.isFinite)).toBe(true)
      }
      expect([...matrixExponent(moments).values].every(a => Number.isFinite(a) && a <= 0)).toBe(
        true,
      )
    }
  })

  it('are worked out once for neighbouring heads of the same moments', () => {
    const first = momentsOfPairs({query: [Float64Array.of(1, 2)], key: [Float64Array.of(3, 4)]})
    const other = momentsOfPairs({query: [Float64Array.of(1, 2)], key: [Float64Array.of(3, 5)]})
    let calls = 0
    const rule = () => ({exponent: calls++})
    const found = parametersOf([first, first, other, first], rule).map(of => of.exponent)
    expect(found).toEqual([0, 0, 1, 2])
  })
})
