import {describe, expect, it} from 'vitest'
import {drawProjection, type ProjectionName} from '../../src/attention/index.js'
import {walshHadamard} from '../../src/attention/projections/hadamard.js'
import {adapted, simplexDirections} from '../../src/attention/projections/simplex.js'
import {normals, randomStream} from '../../src/random/index.js'

/** Sums of D terms, a handful of them in a row, in double precision. */
const close = (dim: number) => dim * 2 ** -48

function rowsOf(matrix: Float64Array, width: number): Float64Array[] {
  return Array.from({length: matrix.length / width}, (_, i) =>
    matrix.subarray(i * width, (i + 1) * width),
  )
}

function columnsOf(matrix: Float64Array, width: number): Float64Array[] {
  return Array.from({length: width}, (_, d) => matrix.filter((_x, at) => at % width === d))
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0)
}

const cosine = (a: Float64Array, b: Float64Array) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))

function draw(name: ProjectionName, numFeatures: number, headDim: number): Float64Array {
  return drawProjection({name, heads: 1, numFeatures, headDim, seed: 7})
}

/** Pairs of rows within the same block. */
function pairs(rows: Float64Array[], size: number): [Float64Array, Float64Array][] {
  return rows.flatMap((row, i) =>
    rows.slice(i - (i % size), i).map((other): [Float64Array, Float64Array] => [row, other]),
  )
}

describe('rows of a block', () => {
  it.each(['givens', 'householder', 'orth-coupled', 'simplex', 'sorf', 'sorf-chi'] as const)(
    '%s: have the cosine they should',
    name => {
      const headDim = 8
      const expected = name === 'simplex' ? -1 / (headDim - 1) : 0
      for (const [a, b] of pairs(rowsOf(draw(name, 19, headDim), headDim), headDim)) {
        expect(Math.abs(cosine(a, b) - expected)).toBeLessThanOrEqual(close(headDim))
      }
    },
  )

  it.each([
    ['sorf', 8],
    ['householder', 8],
    ['householder', 5],
  ] as const)('%s, D %i: have length sqrt(D)', (name, headDim) => {
    for (const row of rowsOf(draw(name, 11, headDim), headDim)) {
      expect(Math.abs(dot(row, row) - headDim)).toBeLessThanOrEqual(headDim * close(headDim))
    }
  })

  it('sorf with D no power of two: the first columns of the padded matrix', () => {
    const padded = draw('sorf', 20, 8)
    const expected = padded.filter((_, at) => at % 8 < 5)
    expect(draw('sorf', 20, 5)).toEqual(expected)
  })

  it('a simplex in one dimension is a sign', () => {
    for (const x of draw('simplex', 9, 1)) expect(x).not.toBe(0)
  })
})

describe('simplex-plus', () => {
  it('sweeps towards rows that cancel: each direction against the sum of the others', () => {
    const headDim = 6
    const lengths = normals(randomStream(1, 'lengths'), headDim).map(x => 2 + Math.abs(x))
    const resultant = (directions: Float64Array) => {
      const sum = new Float64Array(headDim)
      rowsOf(directions, headDim).forEach((row, i) => {
        row.forEach((x, d) => {
          sum[d]! += lengths[i]! * x
        })
      })
      return Math.sqrt(dot(sum, sum))
    }
    const before = resultant(simplexDirections(headDim))
    const directions = adapted(simplexDirections(headDim), lengths)
    expect(resultant(directions)).toBeLessThan(before)
    for (const row of rowsOf(directions, headDim)) {
      expect(Math.abs(dot(row, row) - 1)).toBeLessThanOrEqual(close(headDim))
    }
  })

  it('equal lengths leave the simplex as it is', () => {
    const headDim = 5
    const before = simplexDirections(headDim)
    const after = adapted(simplexDirections(headDim), new Float64Array(headDim).fill(3))
    after.forEach((x, at) => {
      expect(Math.abs(x - before[at]!)).toBeLessThanOrEqual(close(headDim))
    })
  })
})

describe('released forms', () => {
  it('orth-tall: columns of equal-length rows would be orthonormal, rows are not', () => {
    const rows = rowsOf(draw('orth-tall', 16, 8), 8)
    const largest = Math.max(...pairs(rows, 16).map(([a, b]) => Math.abs(cosine(a, b))))
    expect(largest).toBeGreaterThan(0.1)
  })

  it('orth-tall: orthogonal rows at M = D', () => {
    for (const [a, b] of pairs(rowsOf(draw('orth-tall', 8, 8), 8), 8)) {
      expect(Math.abs(cosine(a, b))).toBeLessThanOrEqual(close(8))
    }
  })

  it('orth-columns: columns are orthogonal in blocks of M', () => {
    for (const [numFeatures, headDim] of [
      [16, 8],
      [4, 8],
      [3, 8],
    ] as const) {
      const columns = columnsOf(draw('orth-columns', numFeatures, headDim), headDim)
      for (const [a, b] of pairs(columns, numFeatures)) {
        expect(Math.abs(cosine(a, b))).toBeLessThanOrEqual(close(numFeatures))
      }
    }
  })
})

describe('other forms', () => {
  it('antithetic: the second of each pair is minus the first, an odd one is left', () => {
    const rows = rowsOf(draw('antithetic', 7, 3), 3)
    for (const i of [0, 2, 4]) expect(rows[i + 1]).toEqual(rows[i]!.map(x => -x))
  })

  it('moment: mean zero and second moment I, exactly', () => {
    const [numFeatures, headDim] = [96, 6] // so many that the covariance has condition below 4
    const columns = columnsOf(draw('moment', numFeatures, headDim), headDim)
    columns.forEach((a, i) => {
      const slack = numFeatures * close(numFeatures) // sums of M terms of size M or less
      expect(Math.abs(a.reduce((sum, x) => sum + x, 0))).toBeLessThanOrEqual(slack)
      columns.forEach((b, j) => {
        const expected = i === j ? numFeatures : 0
        expect(Math.abs(dot(a, b) - expected)).toBeLessThanOrEqual(slack)
      })
    })
  })

  it('walshHadamard is its own inverse and keeps lengths', () => {
    const row = normals(randomStream(2, 'row'), 16)
    const once = Float64Array.from(row)
    walshHadamard(once)
    expect(Math.abs(dot(once, once) - dot(row, row))).toBeLessThanOrEqual(16 * close(16))
    walshHadamard(once)
    once.forEach((x, at) => {
      expect(Math.abs(x - row[at]!)).toBeLessThanOrEqual(16 * close(16))
    })
  })
})
