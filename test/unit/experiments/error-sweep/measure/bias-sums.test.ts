import {describe, expect, it} from 'vitest'
import {COUNTS} from '../../../../../src/experiments/error-sweep/curve.js'
import {BiasSums} from '../../../../../src/experiments/error-sweep/measure/bias-sums.js'

/** A head of 6 queries, two of which are sampled, with one value each. */
const HEAD = {query: new Float64Array(6 * 3), headDim: 3, valueDim: 1}
const seed = (spread: number, ...bias: number[][]) => ({
  ...{spread, bias: bias.map(own => Float64Array.from(own))},
})
const add = (sums: BiasSums, ...seeds: (ReturnType<typeof seed> | undefined)[]) =>
  sums.add({head: HEAD, weight: 3, block: 1, seeds})

describe('the squared bias of all heads', () => {
  it('is the mean product of two seeds, as drawn and from there like 1 / M^2', () => {
    const sums = new BiasSums()
    add(sums, seed(0, [4, 2], [1, 3]), seed(0, [2, 6], [2, 2]))
    add(sums, seed(0, [1, 1], [1, 1]), seed(0, [1, 1], [1, 1]))
    const mean = sums.mean()
    // 12 outputs, of which each sampled one is three
    expect(mean[0]).toBe((3 * (4 * 2 + 2 * 6 + 2)) / 12)
    expect(mean[1]).toBe((3 * (1 * 2 + 3 * 2 + 2)) / 12)
    expect(mean[3]).toBe(mean[1]! / 4 ** 2)
    expect(mean).toHaveLength(COUNTS.length)
  })

  it('is unknown where the seeds have more noise than bias', () => {
    const of = (other: number[]) => {
      const sums = new BiasSums()
      add(sums, seed(0, [1, 0]), seed(0, other))
      return sums.mean()[0]
    }
    // products 1, mean squares 1.5 and 3
    expect(of([1, 1])).toBe(3 / 6)
    expect(of([1, 2])).toBeNull()
    expect(of([-1, 0])).toBeNull()
  })

  it('is unknown where denominators of any head vary by more than 30 % of their mean', () => {
    const sums = new BiasSums()
    add(sums, seed(0.09 * 16, [1, 1]), seed(0, [1, 1]))
    add(sums, seed(0, [1, 1]), seed(0, [1, 1]))
    expect(sums.mean().slice(0, 3)).toEqual([null, 1 / 4, 1 / 16])
  })

  it('is unknown beyond what was drawn of a block', () => {
    const of = (block: number) => {
      const sums = new BiasSums()
      const own = seed(0, [1, 1], [1, 1])
      sums.add({head: HEAD, weight: 3, block, seeds: [own, own]})
      return sums.mean().slice(0, 3)
    }
    expect(of(16)).toEqual([1, 1, 1 / 4])
    expect(of(17)).toEqual([1, 1, null])
  })

  it('is unknown where a head is', () => {
    const sums = new BiasSums()
    add(sums, undefined, seed(0, [1, 1]))
    add(sums, seed(0, [1, 1]), seed(0, [1, 1]))
    expect(sums.mean().every(value => value === null)).toBe(true)
  })
})
