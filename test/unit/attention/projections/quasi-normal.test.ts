import {describe, expect, it} from 'vitest'
import {
  normalCell,
  normalTail,
  quasiNormal,
} from '../../../../src/attention/projections/quasi-normal.js'

describe('quasiNormal', () => {
  it('is odd about the middle and finite at both ends', () => {
    const cellsInAll = 2 ** 32
    const least = 2 ** -54
    expect(quasiNormal(0, least, cellsInAll)).toBeGreaterThan(-20)
    expect(quasiNormal(cellsInAll - 1, 1 - 2 ** -53, cellsInAll)).toBeLessThan(20)
    expect(quasiNormal(5, 0.5, cellsInAll)).toBe(-quasiNormal(cellsInAll - 6, 0.5, cellsInAll))
  })
})

describe('normalCell', () => {
  it('is the cell that a number was made of, in both tails', () => {
    for (const cells of [2 ** 32, 3 ** 21]) {
      for (const cell of [0, 1, 12345, Math.floor(cells / 2) - 1, cells - 2, cells - 1]) {
        expect(normalCell(quasiNormal(cell, 0.5, cells), cells)).toBe(cell)
      }
    }
    expect(normalCell(-40, 2 ** 32)).toBe(0)
    expect(normalCell(40, 2 ** 32)).toBe(2 ** 32 - 1)
  })
})

describe('normalTail', () => {
  it('has the published values, and one where series and continued fraction meet', () => {
    // Abramowitz & Stegun 1964, table 26.1
    expect(normalTail(0)).toBe(0.5)
    expect(normalTail(1)).toMatchReference(0.158655253931457, 13)
    expect(normalTail(2)).toMatchReference(0.0227501319481792, 13)
    expect(normalTail(3)).toMatchReference(0.00134989803163009, 13)
    expect(normalTail(2.5 - 2 ** -51) / normalTail(2.5)).toMatchReference(1, 12)
  })
})
