import {describe, expect, it} from 'vitest'
import {deal} from '../../../src/experiments/deal.js'

describe('deal', () => {
  it('gives the dearest cells first to whoever has least', () => {
    expect(deal([1, 5, 4, 3, 3], 2)).toEqual([1, 0, 1, 1, 0])
  })

  it('spreads cells of no cost, and of a cost that is not known', () => {
    expect(deal([0, 0, Number.NaN, 0], 2)).toEqual([0, 1, 0, 1])
  })

  it('stays within the bound of the longest first', () => {
    const costs = Array.from({length: 500}, (_, cell) => 1 + ((cell * 7919) % 1000))
    const loads = new Array<number>(16).fill(0)
    for (const [cell, shard] of deal(costs, 16).entries()) loads[shard]! += costs[cell]!
    const ideal = costs.reduce((sum, cost) => sum + cost, 0) / 16
    expect(Math.max(...loads)).toBeLessThanOrEqual((4 / 3) * ideal)
  })
})
