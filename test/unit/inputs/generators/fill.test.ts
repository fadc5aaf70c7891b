import {describe, expect, it} from 'vitest'
import {withNormals} from '../../../../src/inputs/generators/fill.js'
import {normals, randomStream} from '../../../../src/random/index.js'

describe('withNormals', () => {
  // one row, many at a time, rows longer than what is drawn at a time
  it.each([
    {length: 1, width: 3},
    {length: 2000, width: 7},
    {length: 3, width: 9001},
  ])('$length x $width: every row in turn, one stream for all', ({length, width}) => {
    const rows: number[] = []
    const got: number[] = []
    withNormals(length, width, randomStream(1, 'rows'), (drawn, start, row) => {
      rows.push(row)
      got.push(...drawn.subarray(start, start + width))
    })
    expect(rows).toEqual(Array.from({length}, (_, row) => row))
    expect(got).toEqual([...normals(randomStream(1, 'rows'), length * width)])
  })
})
