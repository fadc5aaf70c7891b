import {describe, expect, it} from 'vitest'
import {lengthLaw, matrixGiven} from '../../../../src/attention/projections/given-lengths.js'
import type {PROJECTION_NAMES} from '../../../../src/attention/projections/index.js'
import {norm, rowOf} from '../../../../src/attention/projections/rows.js'
import type {StreamOf} from '../../../../src/attention/projections/types.js'
import {randomStream} from '../../../../src/random/index.js'
import {column, eachOnce, strataOf} from '../../../helpers/strata.js'

const SHAPE = {numFeatures: 12, headDim: 5}
const stream: StreamOf = (part, block = 0) => randomStream(3, part, 0, 0, block)
const draw = (name: (typeof PROJECTION_NAMES)[number], length?: number, row = 7) =>
  matrixGiven({name, ...SHAPE, stream, given: length === undefined ? undefined : {row, length}})

/** Rows that are as long as what they follow. */
const OWN = [
  'iid',
  'orth',
  'simplex',
  'simplex-plus',
  'givens',
  'antithetic',
  'orth-coupled',
] as const
const BY_ROW = ['sobol', 'halton', 'orth-tall'] as const

describe('a given length', () => {
  it.each([...OWN, ...BY_ROW])('%s: is that of its row, and of no other', name => {
    expect(lengthLaw(name, SHAPE)).toEqual({dim: SHAPE.headDim})
    const [plain, given] = [draw(name), draw(name, 9)]
    const lengths = Float64Array.from({length: 12}, (_, row) => norm(rowOf(given.matrix, row, 5)))
    expect(lengths[7]).toMatchReference(9, 12)
    const long = Array.from(lengths, length => Math.abs(length - 9) < 1e-9)
    expect(long.filter(Boolean)).toHaveLength(name === 'antithetic' ? 2 : 1)
    for (const [row, length] of given.sources.entries())
      expect(length).toMatchReference(lengths[row]!, 12)
    if (name === 'orth-tall') return
    for (const [row, length] of plain.sources.entries()) {
      if (!long[row] && !(BY_ROW as readonly string[]).includes(name))
        expect(given.sources[row]).toBe(length)
    }
  })

  it('of sorf-chi is that of padded normals', () => {
    expect(lengthLaw('sorf-chi', SHAPE)).toEqual({dim: 8})
    const {matrix, sources} = draw('sorf-chi', 9)
    expect(sources[7]).toBe(9)
    expect(norm(rowOf(matrix, 7, 5))).not.toBeCloseTo(norm(rowOf(draw('sorf-chi').matrix, 7, 5)), 3)
  })

  it.each([undefined, 0, 7, 11])('moment, row %s given: mean and covariance stay exact', row => {
    expect(lengthLaw('moment', SHAPE)).toEqual({dim: 11, sphere: true})
    expect(lengthLaw('moment', {numFeatures: 6, headDim: 5})).toBeUndefined()
    const {matrix, sources} = draw('moment', row === undefined ? undefined : 3, row)
    if (row !== undefined) expect(sources[row]).toMatchReference(3, 12)
    for (let d = 0; d < 5; d++) {
      const one = column(matrix, d, 5)
      expect(Math.abs(one.reduce((sum, entry) => sum + entry, 0))).toBeLessThan(1e-13)
      for (let e = 0; e <= d; e++) {
        const other = column(matrix, e, 5)
        const covariance = one.reduce((sum, entry, at) => sum + entry * other[at]!, 0) / 12
        expect(Math.abs(covariance - (d === e ? 1 : 0))).toBeLessThan(1e-13)
      }
    }
  })

  it.each([undefined, 0, 7, 11])('orth-columns, row %s given: columns stay orthogonal', row => {
    expect(lengthLaw('orth-columns', SHAPE)).toEqual({dim: 12, sphere: true})
    expect(lengthLaw('orth-columns', {numFeatures: 5, headDim: 5})).toBeUndefined()
    const {matrix, sources} = draw('orth-columns', row === undefined ? undefined : 3, row)
    if (row !== undefined) expect(sources[row]).toMatchReference(3, 12)
    // rows of the factor are as long together as its D columns
    const total = sources.reduce((sum, length) => sum + length ** 2 / 12, 0)
    expect(total).toMatchReference(5, 12)
    for (let d = 0; d < 5; d++) {
      for (let e = 0; e < d; e++) {
        const [one, other] = [column(matrix, d, 5), column(matrix, e, 5)]
        const product = one.reduce((sum, entry, at) => sum + entry * other[at]!, 0)
        expect(Math.abs(product)).toBeLessThan(1e-12)
      }
    }
  })

  it('is none where rows have one length', () => {
    for (const name of ['orth-sqrt-d', 'sorf', 'householder'] as const) {
      expect(lengthLaw(name, SHAPE)).toBeUndefined()
      expect(draw(name, 9).matrix).toEqual(draw(name).matrix)
    }
  })

  it.each(['sobol', 'halton'] as const)('%s: points stay in their strata', name => {
    const base = name === 'sobol' ? 8 : 2
    const {matrix} = matrixGiven({
      ...{name, numFeatures: base, headDim: 5, stream},
      given: {row: base - 1, length: 6},
    })
    const found = strataOf(column(matrix, 0, 5), base)
    expect(found.sort((a, b) => a - b)).toEqual(eachOnce(base))
  })

  it('orth-tall: rows of a square one stay orthogonal', () => {
    const square = {numFeatures: 5, headDim: 5}
    const {matrix: own} = matrixGiven({
      name: 'orth-tall',
      ...square,
      stream,
      given: {row: 2, length: 9},
    })
    expect(norm(rowOf(own, 2, 5))).toMatchReference(9, 12)
    const product = rowOf(own, 2, 5).reduce((sum, entry, d) => sum + entry * own[d]!, 0)
    expect(Math.abs(product)).toBeLessThan(1e-12)
  })
})
