/** The largest set of layers that keeps a budget. */
import {isWithin} from '../../../answers/index.js'
import type {Effect, SwapResult} from '../schema.js'

/** A set of layers that was run, with what it loses. */
type TriedSet = SwapResult['tried_sets'][number]

interface Search {
  /** In the order of layers; empty where no layer keeps the budget. */
  chosen: number[]
  /** In the order in which they ran. */
  tried: TriedSet[]
}

/**
 * Searches greedily. All layers run as a set first: where that set keeps the budget, no other is needed. Else each layer runs by
 * itself, and layers that keep the budget join in the order of their losses, each as long as the new set, run as a set, keeps it.
 * Losses of layers do not add up: bias compounds and noise averages out.
 *
 * @param layers - candidates, at least one
 * @param budget - most loss, which the upper end of an interval keeps, or with a single text its mean
 * @param measure - runs a set, given in the order of layers, and returns its loss
 */
export async function largestSet(
  layers: readonly number[],
  budget: number,
  measure: (set: number[]) => Promise<Effect>,
): Promise<Search> {
  const tried: TriedSet[] = []
  const run = async (layers: readonly number[]): Promise<TriedSet> => {
    const set = layers.toSorted((a, b) => a - b)
    const known = tried.find(one => one.set.join() === set.join())
    if (known) return known
    const loss = await measure(set)
    const most = loss.high ?? loss.mean
    const own = {set, loss, within: most !== null && isWithin({high: most}, budget)}
    tried.push(own)
    return own
  }
  const all = await run(layers)
  if (all.within) return {chosen: all.set, tried}
  const singles = []
  for (const layer of layers) singles.push(await run([layer]))
  const order = singles
    .filter(({within}) => within)
    .toSorted((a, b) => a.loss.mean! - b.loss.mean!)
    .flatMap(({set}) => set)
  if (order.length === 0) return {chosen: [], tried}
  const joined = await run(order)
  if (joined.within) return {chosen: joined.set, tried}
  let chosen: number[] = []
  for (const layer of order) {
    const next = await run([...chosen, layer])
    if (next.within) chosen = next.set
  }
  return {chosen, tried}
}
