import {describe, expect, it} from 'vitest'
import {neighbour} from '../../../../../src/report/html/client/neighbours.js'

const at = (series: number, x: number) => ({series, x, y: 0})
const [a0, a5, a9] = [at(0, 0), at(0, 5), at(0, 9)]
const [c1, c6] = [at(2, 1), at(2, 6)]
const points = [a0, a5, a9, c1, c6, at(3, 5)]

describe('neighbour', () => {
  it.each([
    ['ArrowRight', a0, a5],
    ['ArrowRight', a9, undefined],
    ['ArrowLeft', a5, a0],
    ['ArrowLeft', c1, undefined],
    ['Home', a9, a0],
    ['End', c1, c6],
    ['ArrowDown', a5, c6],
    ['ArrowDown', a0, c1],
    ['ArrowUp', c6, a5],
    ['ArrowUp', a0, undefined],
    ['x', a0, undefined],
  ])('%s leads from %j to %j', (key, from, to) => {
    expect(neighbour(key, from, points)).toBe(to)
  })
})
