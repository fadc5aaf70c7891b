import {describe, expect, it} from 'vitest'
import {layoutOf} from '../../../../../src/backends/native/kernels/binary.js'

describe('the layout of a broadcast', () => {
  it.each([
    {title: 'equal shapes are one axis', a: [3, 5, 7], b: [3, 5, 7], layout: [[105], [1], [1]]},
    {title: 'a number repeats', a: [3, 5], b: [], layout: [[15], [1], [0]]},
    {
      title: 'a row repeats over rows',
      a: [3, 5],
      b: [5],
      layout: [
        [3, 5],
        [5, 1],
        [0, 1],
      ],
    },
    {
      title: 'a column repeats over columns',
      a: [3, 5],
      b: [3, 1],
      layout: [
        [3, 5],
        [5, 1],
        [1, 0],
      ],
    },
    {
      title: 'both repeat',
      a: [3, 1],
      b: [1, 5],
      layout: [
        [3, 5],
        [1, 0],
        [0, 1],
      ],
    },
    {title: 'axes of 1 vanish', a: [1, 3, 1, 5], b: [1, 3, 1, 5], layout: [[15], [1], [1]]},
    {title: 'two numbers have no axis', a: [1, 1], b: [], layout: [[], [], []]},
    {
      title: 'outer axes merge where both run on',
      a: [2, 3, 5],
      b: [2, 3, 1],
      layout: [
        [6, 5],
        [5, 1],
        [1, 0],
      ],
    },
  ])('$title', ({a, b, layout}) => {
    const rank = Math.max(a.length, b.length)
    const axis = (shape: number[], i: number) => shape[shape.length - rank + i] ?? 1
    const shape = Array.from({length: rank}, (_, i) => Math.max(axis(a, i), axis(b, i)))
    expect([...layoutOf({shape: a}, {shape: b}, shape)]).toEqual(layout.flat())
  })
})
