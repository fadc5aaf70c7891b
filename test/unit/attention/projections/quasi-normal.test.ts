import {describe, expect, it} from 'vitest'
import {quasiNormal} from '../../../../src/attention/projections/quasi-normal.js'

describe('quasiNormal', () => {
  it('is odd about the middle and finite at both ends', () => {
    const cellsInAll = 2 ** 32
    const least = 2 ** -54
    expect(quasiNormal(0, least, cellsInAll)).toBeGreaterThan(-20)
    expect(quasiNormal(cellsInAll - 1, 1 - 2 ** -53, cellsInAll)).toBeLessThan(20)
    expect(quasiNormal(5, 0.5, cellsInAll)).toBe(-quasiNormal(cellsInAll - 6, 0.5, cellsInAll))
  })
})
