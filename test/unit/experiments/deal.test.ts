import {describe, expect, it} from 'vitest'
import {type DealtCell, deal, dealtCosts} from '../../../src/experiments/deal.js'

const alone = (costs: readonly number[]): DealtCell[] => costs.map(cost => ({cost}))
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const last = (cells: readonly DealtCell[], count: number) =>
  Math.max(...dealtCosts(cells, deal(cells, count), count))

/** Families of cells of 1, which share so much. */
const families = (count: number, members: number, cost: number): DealtCell[] =>
  Array.from({length: count * members}, (_, at) => ({
    cost: 1,
    shared: [{id: `family ${Math.floor(at / members)}`, cost}],
  }))

/** Families of seven sizes, the dearest 64 times the cheapest; one cell in four shares more with the next one. */
const MANY_SIZES: readonly DealtCell[] = Array.from({length: 7 * 20 * 24}, (_, at): DealtCell => {
  const family = Math.floor(at / 24)
  const size = 2 ** Math.floor(family / 20)
  const context = {id: `context ${family}`, cost: size}
  const pair = {id: `pair ${family} ${Math.floor(at / 2)}`, cost: 3}
  return {cost: size * (1 + ((at * 7) % 5) / 10), shared: at % 8 < 2 ? [context, pair] : [context]}
})

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

  it.each([1, 2, 3, 64, 5000])('gives each cell one of %d shards', count => {
    const shards = deal(MANY_SIZES, count)
    expect(shards).toHaveLength(MANY_SIZES.length)
    expect(shards.every(shard => Number.isInteger(shard) && shard >= 0 && shard < count)).toBe(true)
  })

  it('lets the costs decide, not the places in the plan', () => {
    const cells = MANY_SIZES.map((cell, at) => ({...cell, cost: cell.cost + at / 1e6}))
    const places = cells.map((_, at) => (at * 1009) % cells.length)
    const shuffled = deal(
      places.map(at => cells[at]!),
      16,
    )
    const shards = deal(cells, 16)
    expect(shuffled).toEqual(places.map(at => shards[at]))
  })

  it('keeps cells together that share something, where there are enough of them', () => {
    const cells = families(6, 5, 100)
    expect(sum(dealtCosts(cells, deal(cells, 3), 3))).toBe(6 * 105)
    expect(last(cells, 3)).toBe(2 * 105)
  })

  it('has several shards pay for it, where one alone would be the last', () => {
    const cells = families(2, 100, 10)
    expect(last(cells, 8)).toBe(10 + 25)
    expect(last(cells, 1000)).toBe(11)
  })

  it.each([
    [2, 1.01],
    [16, 1.05],
    [64, 1.1],
    [128, 1.2],
  ])('has the last of %d shards within %d of an ideal share', (count, bound) => {
    const ideal = last(MANY_SIZES, 1) / count
    expect(last(MANY_SIZES, count) / ideal).toBeLessThanOrEqual(bound)
    const spread = plain(
      MANY_SIZES.map(({cost}) => cost),
      count,
    )
    expect(Math.max(...dealtCosts(MANY_SIZES, spread, count)) / ideal).toBeGreaterThan(bound)
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
