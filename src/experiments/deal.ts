/** Deals the cells of a plan to shards, the same way on every machine. */

import type {SharedCost} from './experiment.js'

/** A cell as far as dealing goes. */
export interface DealtCell {
  /** Its own cost; one that is not finite counts as 0. */
  cost: number
  /** What it shares with other cells: a shard that has any of them pays it once. Default: nothing. */
  shared?: readonly SharedCost[] | undefined
}

/**
 * The dearest first, each to the shard with the least so far (Graham 1969, "Bounds on multiprocessing timing anomalies":
 * at most 4/3 - 1/(3 n) of the best, what cells share left out). Ties go to the earlier cell and to the shard with fewer
 * cells, then to the lower one, so that nothing but the costs decides.
 *
 * @param cells - in the order of the plan
 * @param count - of shards, 1 or more
 * @returns the shard of each cell, from 0
 */
export function deal(cells: readonly DealtCell[], count: number): number[] {
  const loads = Array.from({length: count}, (_, shard) => ({shard, cost: 0, cells: 0}))
  const costs = cells.map(({cost}) => nonNegative(cost))
  const shards = new Array<number>(cells.length).fill(0)
  const order = costs.map((_, at) => at).sort((a, b) => costs[b]! - costs[a]! || a - b)
  for (const at of order) {
    let least = loads[0]!
    for (const load of loads) {
      if ((load.cost - least.cost || load.cells - least.cells) < 0) least = load
    }
    shards[at] = least.shard
    least.cost += costs[at]!
    least.cells++
  }
  return shards
}

/** Cost of each shard of a dealing, what cells share counted once in each. */
export function dealtCosts(
  cells: readonly DealtCell[],
  shards: readonly number[],
  count: number,
): number[] {
  const costs = new Array<number>(count).fill(0)
  const paid = new Set<string>()
  for (const [at, {cost, shared = []}] of cells.entries()) {
    const shard = shards[at]!
    costs[shard]! += nonNegative(cost)
    for (const part of shared) {
      const bill = `${shard} ${part.id}`
      if (!paid.has(bill)) costs[shard]! += nonNegative(part.cost)
      paid.add(bill)
    }
  }
  return costs
}

function nonNegative(cost: number): number {
  return Number.isFinite(cost) ? Math.max(0, cost) : 0
}
