import {describe, expect, it} from 'vitest'
import {byCount} from '../../../src/experiments/process-memory.js'

describe('byCount', () => {
  const bytesOf = (count: number | null) => 10 * (count ?? 0)

  it('counts every number of features where there are few', () => {
    expect(byCount([5, 3, 4], 1, bytesOf)).toEqual([50, 30, 40])
    expect(byCount([null], 1e6, bytesOf)).toEqual([0])
  })

  it('takes the larger of the neighbours for those that it does not count', () => {
    const counts = [9, 1, 2, 3, 4, 5, 6, 7, 8]
    let asked = 0
    const bytes = byCount(counts, 800, count => {
      asked++
      return bytesOf(count)
    })
    expect(asked).toBe(5)
    expect(bytes).toEqual([90, 10, 30, 30, 50, 50, 70, 70, 90])
  })

  it('never asks for less than the ends', () => {
    const counts = Array.from({length: 1000}, (_, at) => at + 1)
    const bytes = byCount(counts, 1e9, bytesOf)
    expect([bytes[0], bytes[1], bytes[998], bytes[999]]).toEqual([10, 10_000, 10_000, 10_000])
  })
})
