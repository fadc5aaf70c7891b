import {describe, expect, it} from 'vitest'
import {
  drawProjectionFloats,
  PROJECTION_NAMES,
} from '../../../../src/attention/projections/index.js'
import {
  drawnTurned,
  type TurnedRequest,
  turnedRows,
} from '../../../../src/attention/projections/turned.js'
import {U} from '../../../helpers/rounding.js'

const [D, M, DRAWS] = [5, 7, 3]
const REQUEST: TurnedRequest = {
  ...{name: 'sobol', draws: DRAWS, numFeatures: M, headDim: D, columns: D, seed: 4},
}
const draw = (changes: Partial<TurnedRequest> = {}) => turnedRows({...REQUEST, ...changes})

/** Rows of the draw of an index. */
function rowsOf(all: Float32Array, columns: number, index: number): number[][] {
  return Array.from({length: M}, (_, row) => {
    const first = (index * M + row) * columns
    return [...all.subarray(first, first + columns)]
  })
}

const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, e, d) => sum + e * b[d]!, 0)

describe('turned rows', () => {
  it('are those that treat directions differently, raw signs aside', () => {
    expect(PROJECTION_NAMES.filter(name => drawnTurned(name, 'haar'))).toEqual([
      ...['givens', 'sorf', 'sorf-chi', 'sobol', 'halton'],
      ...['orth-columns', 'orth-coupled', 'householder'],
    ])
    expect(drawnTurned('orth', 'raw')).toBe(false)
    expect(drawnTurned('orth-coupled', 'raw')).toBe(false)
    expect(drawnTurned('givens', 'raw')).toBe(true)
  })

  it('have the products of the rows drawn, and none of their directions', () => {
    const drawn = drawProjectionFloats({
      ...{name: 'sobol', heads: DRAWS, numFeatures: M, headDim: D, seed: 4, replicate: 0},
    })
    const turned = draw()
    for (let index = 0; index < DRAWS; index++) {
      const [before, after] = [rowsOf(drawn, D, index), rowsOf(turned, D, index)]
      for (const [i, j] of [
        [0, 0],
        [0, 1],
        [2, M - 1],
      ] as const) {
        const size = Math.hypot(...before[i]!) * Math.hypot(...before[j]!)
        // entries of both are rounded to float32
        expect(Math.abs(dot(after[i]!, after[j]!) - dot(before[i]!, before[j]!))).toBeLessThan(
          4 * U * size,
        )
      }
      expect(after[0]).not.toEqual(before[0])
    }
  })

  it.each([2, 3])('are seen along two directions, in %i columns', columns => {
    const [whole, seen] = [draw(), draw({columns})]
    const [before, after] = [rowsOf(whole, D, 1), rowsOf(seen, columns, 1)]
    before.forEach((row, at) => {
      const length = Math.hypot(...row)
      expect(Math.hypot(...after[at]!)).toBeLessThanOrEqual(length * (1 + 8 * U))
      if (columns === 3)
        expect(Math.abs(Math.hypot(...after[at]!) / length - 1)).toBeLessThan(8 * U)
    })
  })

  it('are the same in a larger request, and others in another group, draw or seed', () => {
    const three = draw({columns: 2})
    expect(draw({columns: 2, draws: 2})).toEqual(three.subarray(0, 2 * M * 2))
    expect(draw({columns: 2, group: 1})).not.toEqual(three)
    expect(draw({columns: 2, seed: 5})).not.toEqual(three)
    expect(three.subarray(0, M * 2)).not.toEqual(three.subarray(M * 2, 2 * M * 2))
  })

  it('have signs alone to be turned by in one dimension', () => {
    const request = {...REQUEST, headDim: 1, columns: 1}
    const drawn = drawProjectionFloats({...request, heads: DRAWS})
    expect(turnedRows(request).map(Math.abs)).toEqual(drawn.map(Math.abs))
  })
})
