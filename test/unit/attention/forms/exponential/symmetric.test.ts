import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {
  matrixFunction,
  product,
  symmetricEigen,
  transposed,
} from '../../../../../src/attention/forms/exponential/symmetric.js'
import {normals, randomStream} from '../../../../../src/random/index.js'
import {frobenius, identity, plus} from '../../../../helpers/matrices.js'

/** A A^T of an n x rank matrix, its columns scaled by powers of `spread`. */
function gram(n: number, rank: number, spread: number, seed: number): Float64Array {
  const draws = normals(randomStream(seed, 'gram'), n * n)
  const columns = Float64Array.from(draws, (x, at) => (at % n < rank ? x * spread ** (at % n) : 0))
  return product(columns, transposed(columns))
}

const cases = fc.record({
  n: fc.integer({min: 1, max: 12}),
  rank: fc.integer({min: 0, max: 12}),
  spread: fc.constantFrom(1, 0.3, 3),
  seed: fc.nat(1000),
})

/** Backward error of Jacobi rotations: a few units per rotation and sweep. */
const bound = (n: number) => 64 * n * Number.EPSILON

describe('symmetricEigen', () => {
  it('reconstructs the matrix from orthonormal eigenvectors, empty and repeated axes included', () => {
    fc.assert(
      fc.property(cases, ({n, rank, spread, seed}) => {
        const matrix = gram(n, rank, spread, seed)
        const eigen = symmetricEigen(matrix)
        const again = matrixFunction(eigen, value => value)
        expect(frobenius(plus(again, matrix, -1))).toBeLessThanOrEqual(bound(n) * frobenius(matrix))
        const {vectors} = eigen
        const unit = product(transposed(vectors), vectors)
        expect(frobenius(plus(unit, identity(n), -1))).toBeLessThanOrEqual(bound(n))
      }),
      {seed: 3},
    )
  })

  it('gives square roots whose squares are the matrix', () => {
    fc.assert(
      fc.property(cases, ({n, rank, spread, seed}) => {
        const matrix = gram(n, rank, spread, seed)
        const root = matrixFunction(symmetricEigen(matrix), x => Math.sqrt(Math.max(0, x)))
        const difference = frobenius(plus(product(root, root), matrix, -1))
        expect(difference).toBeLessThanOrEqual(2 * bound(n) * frobenius(matrix))
      }),
      {seed: 4},
    )
  })

  it('leaves its argument and diagonal matrices alone', () => {
    const diagonal = Float64Array.of(3, 0, 0, 1)
    const {values, vectors} = symmetricEigen(diagonal)
    expect([...values]).toEqual([3, 1])
    expect([...vectors]).toEqual([1, 0, 0, 1])
    expect([...diagonal]).toEqual([3, 0, 0, 1])
  })
})
