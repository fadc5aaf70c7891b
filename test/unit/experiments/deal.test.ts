import {describe, expect, it} from 'vitest'
import {type DealtCell, deal, dealtCosts} from '../../../src/experiments/deal.js'

const alone = (costs: readonly number[]): DealtCell[] => costs.map(cost => ({cost}))
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const last = (cells: readonly DealtCell[], count: number) =>
  Math.max(...dealtCosts(cells, deal(cells, count), count))

describe('deal', () => {
  it('gives the dearest cells first to whoever has least', () => {
    expect(deal(alone([1, 5, 4, 3, 3]), 2)).toEqual([1, 0, 1, 1, 0])
  })

  it('spreads cells of no cost, and of a cost that is not known', () => {
    expect(deal(alone([0, 0, Number.NaN, 0]), 2)).toEqual([0, 1, 0, 1])
    expect(deal(alone([0, 0, 0, 0, 0, 0]), 3).sort()).toEqual([0, 0, 1, 1, 2, 2])
  })

  it('stays within the bound of the longest first', () => {
    const cells = alone(Array.from({length: 500}, (_, cell) => 1 + ((cell * 7919) % 1000)))
    const ideal = sum(cells.map(({cost}) => cost)) / 16
    expect(last(cells, 16)).toBeLessThanOrEqual((4 / 3) * ideal)
  })

  it('does as the plain rule with every count of shards', () => {
    const costs = Array.from({length: 40}, (_, cell) => 1 + ((cell * 37) % 11))
    for (const count of [1, 2, 3, 7, 40, 64])
      expect(deal(alone(costs), count)).toEqual(plain(costs, count))
  })

  it('counts what is shared once for each shard that has any of it', () => {
    const cells = ['a', 'a', 'a', 'b'].map(id => ({cost: 1, shared: [{id, cost: 10}]}))
    expect(dealtCosts(cells, [0, 0, 1, 1], 3)).toEqual([12, 22, 0])
  })
})

/** The rule in so many words. */
function plain(costs: readonly number[], count: number): number[] {
  const order = costs.map((_, cell) => cell).sort((a, b) => costs[b]! - costs[a]! || a - b)
  const loads = Array.from({length: count}, (_, shard) => ({shard, cost: 0, cells: 0}))
  const shards = costs.map(() => 0)
  for (const cell of order) {
    const [least] = loads.sort((a, b) => a.cost - b.cost || a.cells - b.cells || a.shard - b.shard)
    shards[cell] = least!.shard
    least!.cost += costs[cell]!
    least!.cells++
  }
  return shards
}
