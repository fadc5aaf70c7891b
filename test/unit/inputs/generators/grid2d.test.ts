import {expect, test} from 'vitest'
import {squarestGrid} from '../../../../src/inputs/generators/grid2d.js'

test.each([
  [1, 1, 1],
  [2, 1, 2],
  [5, 2, 3],
  [12, 3, 4],
  [25, 5, 5],
  [26, 5, 6],
  [31, 6, 6],
  [196, 14, 14],
])('%i tokens lie on a grid of %i rows and %i columns', (cells, rows, columns) => {
  expect(squarestGrid(cells)).toEqual({rows, columns})
})

test('grids hold all tokens, have no empty row and differ by at most one row from a square', () => {
  for (let cells = 1; cells <= 1000; cells++) {
    const {rows, columns} = squarestGrid(cells)
    expect(rows * columns).toBeGreaterThanOrEqual(cells)
    expect((rows - 1) * columns).toBeLessThan(cells)
    expect(columns - rows).toBeLessThanOrEqual(1)
  }
})
