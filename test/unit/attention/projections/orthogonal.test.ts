import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {drawProjection} from '../../../../src/attention/index.js'
import {
  orthogonalFactor,
  orthonormalizeRows,
} from '../../../../src/attention/projections/orthogonal.js'
import {bringHostLoops} from '../../../../src/host-loops.js'
import {normals, randomStream} from '../../../../src/random/index.js'

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0)
}

/** Gram-Schmidt with a second pass: inner products of unit rows of D terms, in double precision. */
const orthogonality = (headDim: number) => headDim * 2 ** -50

describe('orthonormalizeRows', () => {
  it('gives unit rows, orthogonal to each other, each along its input row', () => {
    const sizes = fc.integer({min: 1, max: 23}).chain(columns =>
      fc.record({
        columns: fc.constant(columns),
        rows: fc.integer({min: 1, max: columns}),
        seed: fc.nat(),
      }),
    )
    fc.assert(
      fc.property(sizes, ({columns, rows, seed}) => {
        const input = normals(randomStream(seed, 'gauss'), rows * columns)
        const out = orthonormalizeRows(Float64Array.from(input), columns)
        const row = (matrix: Float64Array, i: number) =>
          matrix.subarray(i * columns, (i + 1) * columns)
        for (let i = 0; i < rows; i++) {
          expect(Math.abs(dot(row(out, i), row(out, i)) - 1)).toBeLessThanOrEqual(
            orthogonality(columns),
          )
          expect(dot(row(out, i), row(input, i))).toBeGreaterThan(0)
          for (let j = 0; j < i; j++) {
            expect(Math.abs(dot(row(out, i), row(out, j)))).toBeLessThanOrEqual(
              orthogonality(columns),
            )
          }
        }
      }),
      {numRuns: 60, seed: 8},
    )
  })

  it('stays orthogonal where rows are nearly parallel', () => {
    const nearly = Float64Array.from([1, 1e-9, 0, 1, 0, 1e-9, 1, 1e-9, 1e-9])
    const out = orthonormalizeRows(nearly, 3)
    const rows = [0, 1, 2].map(i => out.subarray(3 * i, 3 * i + 3))
    expect(Math.abs(dot(rows[0]!, rows[1]!))).toBeLessThanOrEqual(orthogonality(3))
    expect(Math.abs(dot(rows[0]!, rows[2]!))).toBeLessThanOrEqual(orthogonality(3))
    expect(Math.abs(dot(rows[1]!, rows[2]!))).toBeLessThanOrEqual(orthogonality(3))
  })
})

describe('the loop of the backend in use', () => {
  it('orthonormalizes in place of the definition', () => {
    const matrix = Float64Array.of(1, 2, 3, 4)
    const calls: unknown[][] = []
    bringHostLoops({orthonormalizeRows: (...call) => calls.push(call)})
    try {
      expect(orthonormalizeRows(matrix, 2)).toBe(matrix)
    } finally {
      bringHostLoops({})
    }
    expect(calls).toEqual([[matrix, 2]])
    expect([...matrix]).toEqual([1, 2, 3, 4])
  })
})

describe('orthogonal rows', () => {
  it('are made of the Gaussians of independent rows, in every block', () => {
    const shape = {heads: 1, numFeatures: 13, headDim: 5, seed: 3}
    const plain = drawProjection({name: 'iid', ...shape})
    const orthogonal = drawProjection({name: 'orth', ...shape})
    for (let first = 0; first < 65; first += 25) {
      const block = plain.slice(first, Math.min(65, first + 25))
      const directions = orthonormalizeRows(block, 5)
      for (let at = 0; at < directions.length; at += 5) {
        const row = orthogonal.subarray(first + at, first + at + 5)
        const along = dot(row, directions.subarray(at, at + 5)) / Math.hypot(...row)
        expect(Math.abs(along - 1)).toBeLessThanOrEqual(orthogonality(5))
      }
    }
  })
})

describe('orthogonalFactor', () => {
  it('raw signs are those of Householder reflections: a column with one entry left keeps its sign', () => {
    // columns (3, 4) and (1, 2): LAPACK gives Q = [[-0.6, -0.8], [-0.8, 0.6]], R = [[-5, -2.2], [0, 0.4]]
    const out = orthogonalFactor(Float64Array.of(3, 4, 1, 2), 2, 'raw')
    ;[-0.6, -0.8, -0.8, 0.6].forEach((x, at) => {
      expect(Math.abs(out[at]! - x)).toBeLessThanOrEqual(orthogonality(2))
    })
  })

  it('raw and Haar factors are the same rows up to sign, the first raw entry negative', () => {
    for (const columns of [1, 2, 7, 16]) {
      const gauss = () => normals(randomStream(4, `gauss${columns}`), columns * columns)
      const haar = orthogonalFactor(gauss(), columns, 'haar')
      const raw = orthogonalFactor(gauss(), columns, 'raw')
      expect(raw.map(Math.abs)).toEqual(haar.map(Math.abs))
      // reflection 1 alone touches the first entry of the first column: -|a_11| / |a_1|
      if (columns > 1) expect(raw[0]).toBeLessThan(0)
    }
  })
})

describe('drawProjection', () => {
  const shapes = [
    {numFeatures: 3, headDim: 7},
    {numFeatures: 7, headDim: 7},
    {numFeatures: 17, headDim: 5},
    {numFeatures: 1, headDim: 1},
  ]

  it.each(shapes)(
    'orth, M $numFeatures D $headDim: rows of a block are orthogonal',
    ({numFeatures, headDim}) => {
      const rows = drawProjection({name: 'orth', heads: 2, numFeatures, headDim, seed: 1})
      const row = (i: number) => rows.subarray(i * headDim, (i + 1) * headDim)
      for (let head = 0; head < 2; head++) {
        for (let i = 0; i < numFeatures; i++) {
          const first = i - (i % headDim)
          for (let j = first; j < i; j++) {
            const [a, b] = [row(head * numFeatures + i), row(head * numFeatures + j)]
            const size = Math.sqrt(dot(a, a) * dot(b, b))
            expect(Math.abs(dot(a, b))).toBeLessThanOrEqual(orthogonality(headDim) * size)
          }
        }
      }
    },
  )

  it.each(shapes)(
    'orth-sqrt-d, M $numFeatures D $headDim: every length is sqrt(D)',
    ({numFeatures, headDim}) => {
      const rows = drawProjection({name: 'orth-sqrt-d', heads: 1, numFeatures, headDim, seed: 1})
      for (let i = 0; i < numFeatures; i++) {
        const row = rows.subarray(i * headDim, (i + 1) * headDim)
        expect(Math.abs(dot(row, row) - headDim)).toBeLessThanOrEqual(
          headDim * orthogonality(headDim),
        )
      }
    },
  )
})
