import {describe, expect, it} from 'vitest'
import {operationsOf} from '../../../../src/check/checks/work.js'

const counted = (name: string, inputShapes: number[][], outputShapes: number[][]) =>
  operationsOf({name, inputShapes, outputShapes})

describe('operations of one kernel', () => {
  it.each([
    [
      'a product, two for each multiply-add',
      'BatchMatMul',
      [
        [6, 5, 7],
        [6, 7, 3],
      ],
      [[6, 5, 3]],
      2 * 6 * 5 * 7 * 3,
    ],
    [
      'a product with a transposed side',
      'BatchMatMul',
      [
        [6, 7, 5],
        [6, 7, 3],
      ],
      [[6, 5, 3]],
      2 * 6 * 5 * 7 * 3,
    ],
    ['an exponential, ten for each number', 'Exp', [[4, 5]], [[4, 5]], 200],
    ['a sum, one for each number that is read', 'Sum', [[4, 5]], [[4]], 20],
    ['a sum of two, one for each number that is given', 'Add', [[4, 5], [1]], [[4, 5]], 20],
    ['a copy, none', 'Tile', [[4, 5]], [[8, 5]], 0],
  ] as const)('%s', (_what, name, inputs, outputs, expected) => {
    const shapes = (all: readonly (readonly number[])[]) => all.map(shape => [...shape])
    expect(counted(name, shapes(inputs), shapes(outputs))).toBe(expected)
  })
})
