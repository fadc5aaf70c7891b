/** Deals the cells of a plan to shards, the same way on every machine. */

import {inOrder} from '../report/groups.js'
import type {SharedCost} from './experiment.js'

export interface DealtCell {
  /** Cost of the cell; one that is not finite counts as 0. */
  cost: number
  /** What it shares with other cells: a shard that has any of them pays it once. Default: nothing. */
  shared?: readonly SharedCost[] | undefined
}

/** A shard with its cells so far. */
interface Load {
  shard: number
  cost: number
  cells: number
  /** Names of what its cells share. */
  paid: Set<string>
}

/**
 * The dearest first, each to the least loaded shard (Graham 1969, "Bounds on multiprocessing timing anomalies": at
 * most 4/3 - 1/(3 n) of the best, where nothing is shared). Ties go to the earlier cell and to the shard with fewer
 * cells, then to the lower one, so that nothing but the costs decides.
 *
 * With shared costs nearly every shard would get a cell that way, and pay. Such cells are packed (MULTIFIT:
 * Coffman, Garey and Johnson 1978, "An application of bin-packing to multiprocessor scheduling"): each goes to the
 * first shard that stays within a limit, cells that share follow each other, and bisection finds the lowest limit
 * that fits all cells, to half a percent.
 *
 * @param cells - in the order of the plan
 * @param count - of shards, 1 or more
 * @returns the shard of each cell, from 0
 */
export function deal(cells: readonly DealtCell[], count: number): number[] {
  const order = dearestFirst(cells)
  let shards = placed(cells, order, count, least)!
  if (cells.every(({shared = []}) => shared.length === 0)) return shards
  let tooLow = priceOf(cells[order[0]!]!)
  let limit = Math.max(...dealtCosts(cells, shards, count))
  while (limit > 1.005 * tooLow) {
    const lower = (tooLow + limit) / 2
    const packed = placed(cells, order, count, (loads, cell) => {
      const most = lower - nonNegative(cell.cost)
      return loads.find(({cost, paid}) => cost <= most && cost + priceOf(cell, paid) <= lower)
    })
    if (packed) [shards, limit] = [packed, lower]
    else tooLow = lower
  }
  return shards
}

/** Cost of each shard of a dealing, what cells share counted once in each. */
export function dealtCosts(
  cells: readonly DealtCell[],
  shards: readonly number[],
  count: number,
): number[] {
  const loads = emptyLoads(count)
  for (const [at, cell] of cells.entries()) add(loads[shards[at]!]!, cell)
  return loads.map(({cost}) => cost)
}

/** Numbers of cells; those that share something with a dearer one follow it. */
function dearestFirst(cells: readonly DealtCell[]): number[] {
  const order = inOrder([...cells.keys()], [], [at => -priceOf(cells[at]!)])
  const names = cells.map(({shared = []}) => shared.map(({id}) => id))
  return inOrder(order, [at => names[at]![0] ?? '', at => names[at]!.join()], [])
}

/** @returns `undefined` where there is no shard for some cell */
function placed(
  cells: readonly DealtCell[],
  order: readonly number[],
  count: number,
  choose: (loads: readonly Load[], cell: DealtCell) => Load | undefined,
): number[] | undefined {
  const loads = emptyLoads(count)
  const shards = new Array<number>(cells.length).fill(0)
  for (const at of order) {
    const load = choose(loads, cells[at]!)
    if (!load) return undefined
    add(load, cells[at]!)
    shards[at] = load.shard
  }
  return shards
}

function least(loads: readonly Load[]): Load | undefined {
  return loads.reduce((a, b) => ((b.cost - a.cost || b.cells - a.cells) < 0 ? b : a))
}

function emptyLoads(count: number): Load[] {
  return Array.from({length: count}, (_, shard) => ({shard, cost: 0, cells: 0, paid: new Set()}))
}

function add(load: Load, cell: DealtCell): void {
  load.cost += priceOf(cell, load.paid)
  load.cells++
  for (const {id} of cell.shared ?? []) load.paid.add(id)
}

/** What a cell adds to a shard. @param paid - what its cells share */
function priceOf({cost, shared = []}: DealtCell, paid?: ReadonlySet<string>): number {
  let price = nonNegative(cost)
  for (const part of shared) if (!paid?.has(part.id)) price += nonNegative(part.cost)
  return price
}

function nonNegative(cost: number): number {
  return Number.isFinite(cost) ? Math.max(0, cost) : 0
}
