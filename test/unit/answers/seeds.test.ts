import {describe, expect, it} from 'vitest'
import {worseThanFirst} from '../../../src/answers/index.js'

describe('scores over seeds', () => {
  it('says of each but the first whether it is worse; nothing of a single run', () => {
    const runs = [
      [0.7, 0.8, 0.9],
      [0.6, 0.701, 0.799],
      [0.9, 0.6, 0.8],
    ]
    const differences = (a: readonly number[], b: readonly number[]) =>
      a.map((score, run) => score - b[run]!)
    expect(worseThanFirst(runs, differences)).toEqual([true, false])
    expect(worseThanFirst([[1], [2]], differences)).toEqual([null])
    expect(worseThanFirst([], differences)).toEqual([])
  })
})
