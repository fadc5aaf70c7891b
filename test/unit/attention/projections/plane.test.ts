import {describe, expect, it} from 'vitest'
import {
  drawnInPlane,
  type PlaneRequest,
  planeRows,
} from '../../../../src/attention/projections/plane.js'
import {U} from '../../../helpers/rounding.js'

const NAMES = ['iid', 'orth', 'orth-sqrt-d', 'simplex'] as const
const D = 5
const REQUEST = {name: 'orth', draws: 3, numFeatures: 2 * D + 1, headDim: D, columns: 3, seed: 4}
const draw = (changes: Partial<PlaneRequest> = {}) =>
  planeRows({...REQUEST, ...changes} as PlaneRequest)

/** Rows of a draw of three columns. */
function rowsOf(name: PlaneRequest['name'], index = 0): [number, number, number][] {
  const {numFeatures} = REQUEST
  const all = draw({name}).subarray(index * numFeatures * 3, (index + 1) * numFeatures * 3)
  return Array.from({length: numFeatures}, (_, row) => [
    all[3 * row]!,
    all[3 * row + 1]!,
    all[3 * row + 2]!,
  ])
}

describe('rows that are drawn in a plane', () => {
  const where = {orthSign: 'haar', headDim: D, columns: 3} as const

  it('are those whose law knows no direction, with uniform signs and in more dimensions than columns', () => {
    for (const name of NAMES) {
      expect(drawnInPlane(name, where)).toBe(true)
      expect(drawnInPlane(name, {...where, headDim: 3})).toBe(false)
      expect(drawnInPlane(name, {...where, headDim: 3, columns: 2})).toBe(true)
      expect(drawnInPlane(name, {...where, orthSign: 'raw'})).toBe(false)
    }
    for (const name of ['givens', 'sorf', 'sobol', 'none', 'toString']) {
      expect(drawnInPlane(name, where)).toBe(false)
    }
  })

  it.each(NAMES)('%s: are the same in a larger request, and others in another group', name => {
    const {numFeatures} = REQUEST
    const three = draw({name})
    expect(draw({name, draws: 2})).toEqual(three.subarray(0, 2 * numFeatures * 3))
    expect(draw({name, group: 1})).not.toEqual(three)
    expect(draw({name, seed: 5})).not.toEqual(three)
    const two = draw({name, columns: 2})
    two.forEach((entry, at) => {
      expect(entry).toBe(three[Math.floor(at / 2) * 3 + (at % 2)])
    })
  })

  it('of orthogonal blocks have the entries of a Haar column: whole blocks are of length 1 along each', () => {
    for (const index of [0, 2]) {
      const units = rowsOf('orth', index).map(row => row.map(e => e / Math.hypot(...row)))
      for (const first of [0, D]) {
        const block = units.slice(first, first + D)
        const sum = (of: (row: number[]) => number) => block.reduce((all, row) => all + of(row), 0)
        // each entry and each length is rounded
        const bound = 2 * D * 4 * U
        expect(Math.abs(sum(([a]) => a! * a!) - 1)).toBeLessThan(bound)
        expect(Math.abs(sum(([, b]) => b! * b!) - 1)).toBeLessThan(bound)
        expect(Math.abs(sum(([a, b]) => a! * b!))).toBeLessThan(bound)
        // across the plane are the other D - 2
        expect(Math.abs(sum(([, , c]) => c! * c!) - (D - 2))).toBeLessThan(D * bound)
      }
    }
  })

  it('are of length sqrt(D) for orth-sqrt-d, and point where those of orth do', () => {
    const orth = rowsOf('orth')
    rowsOf('orth-sqrt-d').forEach((row, at) => {
      expect(Math.abs(Math.hypot(...row) / Math.sqrt(D) - 1)).toBeLessThan(4 * U)
      const cosine = row.reduce((sum, e, d) => sum + e * orth[at]![d]!, 0)
      const lengths = Math.sqrt(D) * Math.hypot(...orth[at]!)
      expect(Math.abs(cosine / lengths - 1)).toBeLessThan(12 * U)
    })
  })

  it('of a simplex have directions that cancel, and the lengths of those of orth', () => {
    const [orth, rows] = [rowsOf('orth'), rowsOf('simplex')]
    for (const first of [0, D]) {
      const block = rows.slice(first, first + D).map(row => row.map(e => e / Math.hypot(...row)))
      for (const column of [0, 1]) {
        const sum = block.reduce((all, row) => all + row[column]!, 0)
        expect(Math.abs(sum)).toBeLessThan(D * 8 * U)
      }
    }
    rows.forEach((row, at) => {
      expect(Math.abs(Math.hypot(...row) / Math.hypot(...orth[at]!) - 1)).toBeLessThan(8 * U)
    })
  })

  it('of orth are made of the normals of iid: equal directions along the plane, block by block', () => {
    const [iid, orth] = [rowsOf('iid', 1), rowsOf('orth', 1)]
    for (const first of [0, D]) {
      const ratios = Array.from({length: D}, (_, i) => {
        const row = orth[first + i]!
        return row[0]! / Math.hypot(...row) / iid[first + i]![0]!
      })
      for (const ratio of ratios) expect(Math.abs(ratio / ratios[0]! - 1)).toBeLessThan(16 * U)
    }
  })
})
