/** Deals the cells of a plan to shards, the same way on every machine. */

/**
 * The dearest cell first, each to the shard with the least so far (Graham 1969, "Bounds on multiprocessing timing
 * anomalies": at most 4/3 - 1/(3 n) of the best). Ties go to the earlier cell and to the lower shard, so that nothing but
 * the costs decides.
 *
 * @param costs - of the cells in the order of the plan; one that is not finite counts as 0
 * @param count - of shards, 1 or more
 * @returns the shard of each cell, from 0
 */
export function deal(costs: readonly number[], count: number): number[] {
  const known = costs.map(cost => (Number.isFinite(cost) ? Math.max(0, cost) : 0))
  const order = known.map((_, cell) => cell).sort((a, b) => known[b]! - known[a]! || a - b)
  const loads = Array.from({length: count}, () => ({cost: 0, cells: 0}))
  const shards = new Array<number>(costs.length).fill(0)
  for (const cell of order) {
    let least = 0
    for (let shard = 1; shard < count; shard++) {
      const [here, best] = [loads[shard]!, loads[least]!]
      if (here.cost < best.cost || (here.cost === best.cost && here.cells < best.cells))
        least = shard
    }
    shards[cell] = least
    loads[least]!.cost += known[cell]!
    loads[least]!.cells++
  }
  return shards
}
